"""The gap page in a browser: a point under the pointer and the key, r moved by key, downloads, axe's findings."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User

from kernels.harness.evaluation import Outcome
from tests.browsing import CHROMIUM, NO_CHROMIUM
from tests.web import gallery
from tests.web.test_in_browser import Visit, owner, visit

__all__ = ["owner"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
]


def opened(tab: Visit, address: str) -> Any:
    """The page with every chart drawn."""
    page = tab.go(address)
    page.wait_for_selector("figure.frame[data-drawn]", state="attached")
    page.wait_for_selector("figure.frame:not([data-drawn])", state="detached")
    return page


def test_points_are_hovered_clicked_and_walked_and_r_moves_by_key(
    chromium: Any, live_server: Any, owner: User
) -> None:
    run = gallery.huge(owner, 6, 5)
    first = run.trajectories.get(problem__slug="own/1")
    gallery.attempt(first, 6, Outcome.PASSED, 0.3 * (first.sol_s or 0.0))
    tab = visit(chromium, live_server, owner)
    page = opened(tab, f"/runs/{run.pk}/gap/")

    point = page.locator("#chart-gap .point[tabindex='0']")
    says = point.get_attribute("aria-label")
    point.hover(force=True)  # what takes the pointer is Plotly's layer over the points
    page.wait_for_selector("#chart-gap .hoverlayer text")
    assert says[:12] in page.text_content("#chart-gap .hoverlayer")
    assert "below the floor" in page.locator("#chart-gap .point").last.get_attribute("aria-label")

    point.focus()
    page.keyboard.press("ArrowDown")
    other = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert other != says
    assert page.locator("#chart-gap .point[tabindex='0']").count() == 1
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == says

    page.focus("#r")
    before = page.inner_text("#r-said")
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    after = page.inner_text("#r-said")
    assert before.startswith("Fast_p(1.00×)")
    assert after.startswith("Fast_p(2.38×)")
    assert page.get_attribute("#r", "aria-valuetext") == after
    page.wait_for_selector("#chart-fast-p .annotation-text:has-text('Fast_p(2.38×)')")
    page.wait_for_selector("#chart-attempt-fast-p .annotation-text:has-text('reached 2.38×')")

    with page.expect_download() as download:
        page.click("#chart-roofline + details summary")
        page.click("[data-png=chart-roofline]")
    assert download.value.suggested_filename == f"{run}-roofline.png"

    page.locator("#chart-speedup .point").last.click(force=True)
    page.wait_for_url(f"**/runs/{run.pk}/own/*/*/")
    page = opened(tab, f"/runs/{run.pk}/gap/")
    page.locator("#chart-gap .point[tabindex='0']").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{run.pk}/own/*/*/")
    assert tab.said == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing_with_two_runs_side_by_side(
    chromium: Any, live_server: Any, owner: User, scheme: str, width: int
) -> None:
    before, after = gallery.near_sol(owner), gallery.huge(owner, 4, 4)
    tab = visit(chromium, live_server, owner, scheme, bypass_csp=True)  # axe itself is an inline script
    tab.page.set_viewport_size({"width": width, "height": 900})
    page = opened(tab, f"/runs/{after.pk}/gap/?with={before.pk}")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
