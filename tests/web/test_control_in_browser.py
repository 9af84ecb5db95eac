"""One journey in a browser: launch, pause, other limits, resume, the end; and what the pages of control look like."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from playwright.sync_api import expect

from runs import changing, grids, presets
from runs.execution import run_job
from runs.forms import DEFAULTS, LaunchForm
from runs.headroom import here, problem_rows
from runs.models import Grid, Run
from runs.states import RunState
from runs.views.launch import as_data
from tests.browsing import CHROMIUM, NO_CHROMIUM, SIGHTS
from tests.runs.worlds import Script, drain, install, make_problem, next_job
from tests.web import control_rows, gallery
from tests.web.test_in_browser import visit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
]


@pytest.fixture
def owner(transactional_db: None) -> User:
    return gallery.person("alice")


def test_launch_pause_raise_resume_and_the_end(
    chromium: Any, live_server: Any, owner: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any
) -> None:
    script = Script()
    install(script, monkeypatch, tmp_path, settings)
    settings.LIVE_FRESH_S = 0
    make_problem(1)
    page = visit(chromium, live_server, owner).go("/runs/new/")
    page.locator("tr", has_text="1_gemm").locator("input[type=checkbox]").check()
    page.get_by_label("Attempts a problem").fill("2")
    page.locator("#go").click()
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    run = Run.objects.get()
    while Run.objects.filter(trajectories__attempts_done=0).exists():
        job = next_job()
        assert job is not None
        drain_one(job.pk)

    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#run-state")).to_contain_text("paused")
    assert next_job() is None
    page.get_by_role("link", name="Budget").click()
    page.get_by_label("Attempts a problem").fill("0")
    page.get_by_role("button", name="Change the limits").click()
    expect(page.locator("#e-attempts")).to_contain_text("too small")
    page.get_by_label("Attempts a problem").fill("3")
    page.get_by_role("button", name="Change the limits").click()
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    page.get_by_text("2 changes since its launch").click()
    expect(page.locator("#run-changes")).to_contain_text("changed attempts a problem 2 → 3")

    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#run-state")).to_contain_text("running")
    page.get_by_text("Cancel run").click()
    drain()
    expect(page.locator("#run-state")).to_contain_text("done", timeout=10_000)
    expect(page.locator("#figures")).to_contain_text("3 of 3")
    expect(page.locator("#run-acts")).not_to_contain_text("Pause")
    assert script.evaluations == 3
    assert Run.objects.get(pk=run.pk).state == RunState.DONE


def drain_one(key: int) -> None:
    """One job, as a worker would do it."""
    run_job(key, "test worker")


@pytest.mark.parametrize(("scheme", "width"), SIGHTS)
def test_pages_of_control_are_sound(chromium: Any, live_server: Any, owner: User, scheme: str, width: int) -> None:
    run, partly = gallery.mid_flight(owner), control_rows.failed(owner)
    changing.pause(run, owner)
    grid = _grid(owner, run)
    tab = visit(chromium, live_server, owner, scheme)
    tab.page.set_viewport_size({"width": width, "height": 900})
    for name, address in (
        ("run", f"/runs/{run.pk}/"), ("partly", f"/runs/{partly.pk}/"), ("budget", f"/runs/{run.pk}/budget/"),
        ("stop", f"/runs/{run.pk}/stop/"), ("grid", f"/grids/{grid.pk}/"), ("grids", "/grids/"),
        ("launch", f"/runs/new/?from={run.pk}"),
    ):  # fmt: skip
        page = tab.go(address)
        if name == "launch":
            page.locator(".gridding summary").click()
            page.locator("[name=grid_controllers]").first.check()
            page.locator("[name=grid_seeds]").fill("1-3")
            page.wait_for_selector(".grid-plan")
        found = Axe().run(page).response["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == [], name
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        _keep(page, f"{name}-{width}-{scheme}")
    assert tab.said == []


def _grid(owner: User, run: Run) -> Grid:
    """Eight runs of two controllers, two seeds, with and without steering; and the form as a preset."""
    keys = [trajectory.problem_id for trajectory in run.trajectories.all()]
    data = as_data({**DEFAULTS, "problems": keys, "baselines": ["best"]})
    form = LaunchForm(data)
    assert form.is_valid()
    presets.save(owner, "nightly", data, shared=True, overwrite=False)
    axes = grids.Axes(controllers=("tree", "flat"), seeds=(1, 2), both_steerings=True)
    plan = grids.plan_of(axes, form.cleaned_data, len(keys))
    return grids.launch_grid(owner, form.launch_order(problem_rows("strict", here())), plan)


def _keep(page: Any, name: str) -> None:
    """A picture for who wants to look: where MUCUTLASS_SHOTS names a folder."""
    folder = os.environ.get("MUCUTLASS_SHOTS")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)
