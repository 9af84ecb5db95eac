"""Choosing by key on a list, the choice kept over pages and over a refusal, the charts drawn, axe's findings."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User

from tests.browsing import CHROMIUM, NO_CHROMIUM
from tests.compare import scenes
from tests.web import gallery
from tests.web.test_in_browser import owner, visit

__all__ = ["owner"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
]


def drawn(page: Any) -> None:
    """Wait until every chart is there."""
    page.wait_for_selector("figure.frame[data-drawn]", state="attached")
    page.wait_for_selector("figure.frame:not([data-drawn])", state="detached")


def test_rows_are_chosen_and_compared_by_key(chromium: Any, live_server: Any, owner: User) -> None:
    before, after = scenes.two_runs(owner)
    tab = visit(chromium, live_server, owner)
    page = tab.go("/runs/")
    assert page.is_disabled("[data-compare] .btn.pri")
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("Space")
    assert page.inner_text("[data-compare] .btn.pri").startswith("Compare 2")
    assert f"{after}, {before}" in page.inner_text(".cmp-said")

    # The choice outlives another page, and Enter on a box opens its row.
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{before.pk}/")
    page = tab.go("/runs/?state=done")
    assert page.locator("input[name=r]:checked").count() == 2
    page.keyboard.press("x")
    page.wait_for_url(f"**/compare/?r={after.pk}&r={before.pk}")
    drawn(page)
    page.click("#chart-fast-p + details summary")
    page.wait_for_selector("#numbers-fast-p td")
    with page.expect_download() as download:
        page.click("[data-png=chart-fast-p]")
    assert download.value.suggested_filename == "compare-fast-p.png"
    page.click("text=make it the baseline")
    page.wait_for_url(f"**base={before.pk}*")
    assert page.inner_text("thead th a") == str(before)
    assert tab.said == []


def test_points_of_a_chart_lead_to_their_candidates(chromium: Any, live_server: Any, owner: User) -> None:
    found = scenes.three_candidates(owner)
    tab = visit(chromium, live_server, owner)
    page = tab.go(scenes.address("c", found))
    drawn(page)
    page.locator("#chart-bounds .point[tabindex='0']").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{found[0].trajectory.run_id}/own/1/*/")
    assert tab.said == []


def test_what_was_named_is_still_chosen_on_the_lists_after_a_refusal(
    chromium: Any, live_server: Any, owner: User
) -> None:
    one = scenes.three_candidates(owner)[0]
    tab = visit(chromium, live_server, owner)
    page = tab.go(f"/compare/?c={one.pk}")
    assert page.is_checked(f"input[value='{one.pk}']")
    page = tab.go(f"/runs/{one.trajectory.run_id}/attempts/")
    assert page.is_checked(f"input[value='{one.pk}']")
    page.keyboard.press("x")
    assert page.inner_text(".cmp-said") == "Choose one more to compare"


@pytest.mark.thorough  # test_every_page looks at these pages too, with fewer rows
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing(chromium: Any, live_server: Any, owner: User, scheme: str, width: int) -> None:
    cards, runs = scenes.on_cards(owner), [gallery.huge(owner, 4, 4), *scenes.two_runs(owner)]
    tab = visit(chromium, live_server, owner, scheme, bypass_csp=True)  # axe itself is an inline script
    tab.page.set_viewport_size({"width": width, "height": 900})
    for address in (scenes.address("c", cards, "&all=1"), scenes.address("r", runs), "/compare/", "/runs/",
                    f"/runs/{runs[0].pk}/attempts/", f"/compare/?r={runs[0].pk}"):  # fmt: skip
        page = tab.go(address)
        if "&" in address:
            drawn(page)
        found = Axe().run(page)
        assert found.violations_count == 0, f"{address}: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, address
