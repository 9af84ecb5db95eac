"""A reviewer's way: from the leaderboard to a kernel, a remark on a line by key, the link to it, the mark of review."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Mention, Person, Remark, Reviewed
from runs.roles import Role
from tests.browsing import CHROMIUM, NO_CHROMIUM
from tests.web import gallery
from tests.web.test_in_browser import owner, visit

__all__ = ["owner"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
]


def test_a_reviewer_remarks_on_a_line_and_marks_the_kernel(chromium: Any, live_server: Any, owner: User) -> None:
    run = gallery.near_sol(owner)
    carol = gallery.person("carol")
    Person.objects.update_or_create(user=carol, defaults={"role": Role.REVIEWER})
    tab = visit(chromium, live_server, carol)
    page = tab.go("/kernels/best/")
    page.click("main table a >> nth=0")
    page.wait_for_load_state("networkidle")

    best = run.trajectories.get().best
    assert best is not None
    page = tab.go(f"/runs/{run.pk}/own/2/{best.number}/")
    page.hover("#M4 code")
    page.keyboard.press("c")
    assert page.input_value("#say-line") == "4"
    assert page.evaluate("document.activeElement.id") == "say-text"
    page.keyboard.type("@alice why this tile? j k 1 2 [ ]")
    page.click("#say button:has-text('Remark')")
    page.wait_for_url("**#r*")
    remark = Remark.objects.get()
    assert (remark.line, remark.text) == (4, "@alice why this tile? j k 1 2 [ ]")
    assert Mention.objects.get().user == owner
    assert page.locator("#M4").get_attribute("class").split()[-1] == "said"

    page.click("text=Mark as reviewed")
    page.wait_for_load_state("networkidle")
    assert Reviewed.objects.get().user == carol
    page.evaluate("window.scrollTo(0, 0)")
    before = page.evaluate("scrollY")
    page.keyboard.press("]")
    page.wait_for_function("before => scrollY > before", arg=before)

    theirs = visit(chromium, live_server, owner)
    seen = theirs.go("/account/mentions/")
    seen.click("ol.talk a")
    seen.wait_for_url("**/own/2/*/#r*")
    assert seen.locator(f"#r{remark.pk}").is_visible()
    assert tab.said == theirs.said == []


def test_a_viewer_sees_no_mark_to_set(chromium: Any, live_server: Any, owner: User) -> None:
    run = gallery.near_sol(owner)
    dora = gallery.person("dora")
    Person.objects.update_or_create(user=dora, defaults={"role": Role.VIEWER})
    best = run.trajectories.get().best
    assert best is not None
    page = visit(chromium, live_server, dora).go(f"/runs/{run.pk}/own/2/{best.number}/")
    assert page.locator("text=Mark as reviewed").count() == 0
    assert page.locator("#say").is_visible()
