"""The kernel browser under keys: rows are chosen, kept while pages change, compared and opened."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User

from tests.browsing import CHROMIUM, NO_CHROMIUM
from tests.web import kernel_rows
from tests.web.test_in_browser import owner, visit

__all__ = ["owner"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
]


def test_rows_are_chosen_compared_and_opened_by_key(chromium: Any, live_server: Any, owner: User) -> None:
    run = kernel_rows.several(owner, 60)
    tab = visit(chromium, live_server, owner)
    page = tab.go("/kernels/?sort=-when")
    assert page.locator(".cmp .btn.pri").is_disabled()
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("Space")
    assert page.locator("input[name=c]:checked").count() == 2
    assert page.inner_text(".cmp-said").startswith("2 chosen: own/1 k-")

    page.click("a[rel=next]")
    page.wait_for_url("**after=**")
    assert page.inner_text(".cmp-said").startswith("2 chosen"), "kept while pages change"
    page.locator("input[name=c]").first.check()
    page.keyboard.press("x")
    page.wait_for_url("**/compare/?c=**")
    assert page.url.count("c=") == 3

    page = tab.go("/kernels/")
    page.click("[data-compare-clear]")
    assert page.locator("input[name=c]:checked").count() == 0
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{run.pk}/own/1/*/")

    page = tab.go("/runs/")
    page.keyboard.press("g")
    page.keyboard.press("k")
    page.wait_for_url("**/kernels/")


def test_no_more_than_six_are_chosen(chromium: Any, live_server: Any, owner: User) -> None:
    kernel_rows.several(owner, 10)
    page = visit(chromium, live_server, owner).go("/kernels/")
    boxes = page.locator("input[name=c]")
    for index in range(7):
        boxes.nth(index).click()
    assert page.locator("input[name=c]:checked").count() == 6
    assert "6 are the most" in page.inner_text(".cmp-said")


@pytest.mark.thorough  # test_every_page looks at these pages too, with fewer rows
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_and_nothing_overflows(
    chromium: Any, live_server: Any, owner: User, theme: str
) -> None:
    run = kernel_rows.several(owner, 8)
    attempt = run.trajectories.get().attempts.order_by("-number")[0]
    kernel_rows.case(attempt)
    tab = visit(chromium, live_server, owner)
    for address in ("", "best/", "record/own/1/", f"k-{attempt.kernel.digest[:12]}/"):
        for width in (1280, 390):
            page = tab.go(f"/kernels/{address}")
            page.emulate_media(color_scheme=theme)
            page.set_viewport_size({"width": width, "height": 900})
            page.reload()
            if address.startswith("record"):
                page.wait_for_selector("figure.frame[data-drawn]", state="attached")
            found = Axe().run(page).response["violations"]
            assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == [], (address, width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (address, width)
