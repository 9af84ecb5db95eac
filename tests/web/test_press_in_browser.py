"""What is pressed while htmx brings something in: the press counts, by mouse and by keyboard."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Locator, Page, Response, expect

from runs.models import Grid, Run
from tests.browsing import CHROMIUM, NO_CHROMIUM
from tests.web import gallery
from tests.web.rows import problems
from tests.web.test_in_browser import visit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
]


@pytest.fixture
def page(chromium: Any, live_server: Any, transactional_db: None) -> Page:
    """The launch form with a problem chosen and a summary that is up to date."""
    owner: User = gallery.person("alice")
    problems(1)
    made: Page = visit(chromium, live_server, owner).go("/runs/new/")
    with made.expect_response(_is_summary):
        made.locator(".pick tbody input").first.check()
    expect(made.locator("#summary")).to_contain_text("1 problem")
    return made


def _is_summary(response: Response) -> bool:
    return "/runs/new/summary/" in response.url


def _patient(page: Page) -> None:
    """Have a press last however long it does: on a busy machine it may be longer than the page waits for."""
    page.evaluate("""() => {
        const timer = window.setTimeout;
        window.setTimeout = (work, ms, ...rest) => (ms >= 3000 ? 0 : timer(work, ms, ...rest));
    }""")


def _held(page: Page, button: Locator) -> None:
    """Press a button, let the summary that its press asked for come, and only then release it."""
    _patient(page)
    expect(button).to_be_visible()
    box = button.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    with page.expect_response(_is_summary):
        page.mouse.down()
    page.wait_for_timeout(200)
    page.mouse.up()


def test_a_press_that_outlasts_the_summary_launches(page: Page) -> None:
    page.get_by_label("Attempts a problem").fill("7")
    expect(page.locator("#summary")).to_contain_text("1 × 7")
    _held(page, page.locator("#go"))
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    assert Run.objects.get().attempts == 7


def test_so_does_one_on_a_grid(page: Page) -> None:
    page.locator("details", has=page.locator("#id_grid_seeds")).locator("summary").first.click()
    page.locator("#id_grid_seeds").fill("1-2")
    expect(page.locator("#summary")).to_contain_text("2 runs, ")
    _held(page, page.get_by_role("button", name="Launch 2 runs"))
    page.wait_for_url(re.compile(r"/grids/\d+/$"))
    assert Grid.objects.get().runs.count() == 2


def test_the_space_bar_held_down_launches(page: Page) -> None:
    _patient(page)
    page.locator("#go").focus()
    page.keyboard.down(" ")
    with page.expect_response(_is_summary):
        # Whatever changes the form meanwhile.
        page.evaluate("document.getElementById('launch').dispatchEvent(new Event('change', {bubbles: true}))")
    page.wait_for_timeout(200)
    page.keyboard.up(" ")
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    assert Run.objects.count() == 1


def _asks_for_nine(page: Page) -> None:
    """Have the summary asked for anew, and its answer come."""
    with page.expect_response(_is_summary):
        page.get_by_label("Attempts a problem").fill("9")
        page.get_by_label("Attempts a problem").blur()
    page.wait_for_timeout(200)


def test_what_was_held_back_comes_with_the_release(page: Page) -> None:
    _patient(page)
    page.get_by_text("chosen only").hover()
    page.mouse.down()
    _asks_for_nine(page)
    expect(page.locator("#summary")).not_to_contain_text("1 × 9")
    page.mouse.up()
    expect(page.locator("#summary")).to_contain_text("1 × 9")


def test_a_release_that_got_lost_holds_nothing_back_for_long(page: Page) -> None:
    page.get_by_text("chosen only").hover()
    page.mouse.down()
    _asks_for_nine(page)
    expect(page.locator("#summary")).to_contain_text("1 × 9")
    page.mouse.up()


def test_a_press_on_what_is_no_button_holds_nothing_back(page: Page) -> None:
    _patient(page)
    page.locator("h1").hover()
    page.mouse.down()
    _asks_for_nine(page)
    expect(page.locator("#summary")).to_contain_text("1 × 9")
    page.mouse.up()
