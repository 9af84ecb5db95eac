"""What only a browser can tell: scripts under the content policy, live swaps, keys, and axe's findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from django.test import Client

from kernels.harness.evaluation import Outcome
from kernels.toolchain import Cache
from kernels.toolchain.listings import Listing
from runs.listings import unit_of
from tests.browsing import CHROMIUM, NO_CHROMIUM, is_complaint
from tests.web import gallery

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
]


@pytest.fixture
def owner(transactional_db: None) -> User:
    return gallery.person("alice")


class Visit:
    """A signed-in tab that remembers what its console said."""

    def __init__(self, context: Any, base: str) -> None:
        self.page, self.base = context.new_page(), base
        self.said: list[str] = []
        self.page.on("console", lambda m: self.said.append(m.text) if is_complaint(m) else None)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))

    def go(self, address: str) -> Any:
        self.page.goto(self.base + address)
        return self.page


def visit(chromium: Any, live_server: Any, owner: User, scheme: str = "light", **options: Any) -> Visit:
    client = Client()
    client.force_login(owner)
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme, **options)
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}
    context.add_cookies([cookie])
    return Visit(context, live_server.url)


def test_the_chart_s_points_are_reached_by_key(chromium: Any, live_server: Any, owner: User) -> None:
    run = gallery.mid_flight(owner)
    tab = visit(chromium, live_server, owner)
    page = tab.go(f"/runs/{run.pk}/")
    page.wait_for_selector("#chart .point[tabindex]", state="attached")
    points = page.query_selector_all("#chart .point[tabindex]")
    assert len(points) == 6
    points[0].focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{run.pk}/own/*/*/")
    assert tab.said == []


def test_the_chart_s_numbers_come_when_asked_for_and_its_picture_can_be_kept(
    chromium: Any, live_server: Any, owner: User
) -> None:
    run = gallery.near_sol(owner)
    tab = visit(chromium, live_server, owner)
    page = tab.go(f"/runs/{run.pk}/")
    page.wait_for_selector("#chart .point[tabindex]", state="attached")
    page.click("summary:has-text('Numbers as a table')")
    page.wait_for_selector("#numbers td")
    assert page.locator("#numbers td").count() == 13
    with page.expect_download() as download:
        page.click("[data-png]")
    assert download.value.suggested_filename == f"{run}-best-over-sol.png"
    assert tab.said == []


def test_a_live_page_takes_what_is_new_and_holds_it_under_the_pointer(
    chromium: Any, live_server: Any, owner: User
) -> None:
    run = gallery.mid_flight(owner)
    trajectory = run.trajectories.get(problem__slug="own/6")
    tab = visit(chromium, live_server, owner)
    page = tab.go(f"/runs/{run.pk}/")
    page.focus(f"#a-{trajectory.pk}")
    gallery.attempt(trajectory, 7, Outcome.PASSED, 0.0005, parent=trajectory.best)
    page.wait_for_selector("#stream li.new")
    assert "own/6 #7" in page.inner_text("#stream li:first-child")
    assert page.evaluate("document.activeElement.id") == f"a-{trajectory.pk}"
    page.hover("#stream li:nth-child(2)")
    gallery.attempt(trajectory, 8, Outcome.PASSED, 0.0004, parent=trajectory.best)
    page.wait_for_selector("#held:not([hidden])")
    assert page.inner_text("#held") == "1 newer held"
    assert "own/6 #7" in page.inner_text("#stream li:first-child")
    page.mouse.move(300, 300)
    page.wait_for_selector("#stream li:first-child:has-text('own/6 #8')")
    assert tab.said == []


def test_a_live_page_s_chart_takes_what_is_new(chromium: Any, live_server: Any, owner: User) -> None:
    run = gallery.mid_flight(owner)
    trajectory = run.trajectories.get(problem__slug="own/6")
    tab = visit(chromium, live_server, owner)
    page = tab.go(f"/runs/{run.pk}/")
    page.wait_for_selector("figure.frame[data-drawn]")
    for number, seconds in ((7, 0.0005), (8, 0.0004)):
        # Once more: what comes with a poll must know the data's version too.
        with page.expect_response(lambda answer: "/chart.json" in answer.url) as asked:
            gallery.attempt(trajectory, number, Outcome.PASSED, seconds, parent=trajectory.best)
        assert asked.value.ok
    assert tab.said == []


def test_a_lost_connection_is_said_and_taken_back(chromium: Any, live_server: Any, owner: User) -> None:
    run = gallery.mid_flight(owner)
    page = visit(chromium, live_server, owner).go(f"/runs/{run.pk}/")
    page.context.set_offline(True)
    page.wait_for_selector("#not-live:has-text('not live since')")
    page.context.set_offline(False)
    page.wait_for_selector("#not-live", state="detached")


def test_pointing_at_a_line_marks_its_partners(chromium: Any, live_server: Any, owner: User) -> None:
    best = gallery.near_sol(owner).trajectories.get().best
    assert best is not None
    tab = visit(chromium, live_server, owner)
    page = tab.go(f"/runs/{best.trajectory.run_id}/own/2/{best.number}/")
    page.hover("#M4 code")
    assert page.eval_on_selector_all(".l.on", "lines => lines.map(line => line.id)") == ["M4", "L6", "L7", "L8"]
    page.select_option("select[name=unit]", "x0")
    page.wait_for_selector(".gen h2:has-text('CUDA')")
    assert tab.said == []


def test_a_page_that_waits_for_ptx_shows_it_when_it_comes(
    chromium: Any, live_server: Any, owner: User, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BUILD_CACHE_DIR = tmp_path
    monkeypatch.setattr("runs.listings.missing_tool", lambda kind, target: None)
    best = gallery.near_sol(owner).trajectories.get().best
    assert best is not None
    tab = visit(chromium, live_server, owner)
    page = tab.go(f"/runs/{best.trajectory.run_id}/own/2/{best.number}/?unit=x0")
    page.focus("#as-ptx")
    page.keyboard.press("Enter")
    page.wait_for_selector("#as-ptx[aria-current]")
    assert page.evaluate("document.activeElement.id") == "as-ptx"
    page.click("button:has-text('Make PTX')")
    page.wait_for_selector(".gen:has-text('this page follows it')")
    built = unit_of(best, "x0")
    assert built is not None
    Cache(tmp_path).put_listing(built.key, Listing.PTX, f".target sm_90a\n// {'wide ' * 200}\n")
    page.wait_for_selector("#listing:has-text('.target sm_90a')")
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate("document.getElementById('listing').scrollWidth > innerWidth")
    assert tab.said == []


def test_single_keys_work_and_stay_out_of_fields(chromium: Any, live_server: Any, owner: User) -> None:
    gallery.near_sol(owner)
    tab = visit(chromium, live_server, owner)
    page = tab.go("/runs/")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.closest('tr').querySelector('a').getAttribute('href')").startswith(
        "/runs/"
    )
    page.keyboard.press("?")
    assert page.evaluate("document.getElementById('keys').open")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("p")
    page.wait_for_url("**/problems/")
    page.keyboard.press("/")
    page.keyboard.type("gr?n")
    assert page.input_value("#find") == "gr?n"
    assert page.url.endswith("/problems/")
    assert tab.said == []


def test_the_summary_follows_the_form(chromium: Any, live_server: Any, owner: User) -> None:
    gallery.problems(4)
    tab = visit(chromium, live_server, owner)
    page = tab.go("/runs/new/")
    page.check(".pick tbody tr:nth-child(1) input")
    page.check(".pick tbody tr:nth-child(2) input")
    page.fill("#id_attempts", "30")
    page.wait_for_selector("#summary:has-text('60 attempts, 2 × 30')")
    assert page.inner_text("#count") == "2 of 4 chosen"
    assert tab.said == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_page(
    chromium: Any, live_server: Any, owner: User, scheme: str, width: int
) -> None:
    live, done, failed = gallery.mid_flight(owner), gallery.near_sol(owner), gallery.none_passed(owner)
    number = done.trajectories.get().best.number  # type: ignore[union-attr]
    tab = visit(chromium, live_server, owner, scheme, bypass_csp=True)  # axe itself is an inline script
    tab.page.set_viewport_size({"width": width, "height": 900})
    # What is not among the pages of test_every_page as it is here.
    for address in (
        "/runs/", f"/runs/{live.pk}/", f"/runs/{done.pk}/own/2/{number}/",
        f"/runs/{done.pk}/own/2/{number}/?unit=x0&view=ptx", f"/runs/{failed.pk}/own/2/2/",
        f"/runs/{failed.pk}/attempts/", "/problems/own/2/sol/?size=gpu",
    ):  # fmt: skip
        page = tab.go(address)
        found = Axe().run(page)
        assert found.violations_count == 0, f"{address}: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, address
