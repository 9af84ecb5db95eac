"""Chromium through the whole stack: sign in, launch, watch, open the best candidate, cancel a second run."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from tests.browsing import CHROMIUM, NO_CHROMIUM, is_complaint
from tests.stack.stack import Stack

pytestmark = [
    pytest.mark.browser,
    pytest.mark.stack,
    pytest.mark.timeout(600),
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
]


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if is_complaint(message):
            complaints.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_default_timeout(60_000)
    yield page
    context.close()
    # A used link answers 410, and Chromium reports any such answer as an error.
    assert [line for line in complaints if "410 (Gone)" not in line] == []


def launch(page: Page, stack: Stack, slug: str, attempts: int) -> None:
    page.goto(stack.address + "/runs/new/")
    page.locator("tr", has_text=slug).first.locator("input[type=checkbox]").check()
    page.get_by_label("Attempts a problem").fill(str(attempts))
    page.get_by_label("Stop near SOL").fill("")
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(re.compile(r"/runs/\d+/$"))


def test_from_sign_in_to_the_best_candidate_and_a_cancelled_run(stack: Stack, page: Page) -> None:
    page.goto(stack.address + "/runs/")
    expect(page).to_have_url(f"{stack.address}/sign-in/?next=/runs/")
    page.goto(stack.link)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/runs/")

    launch(page, stack, "gemm_bias_relu", 2)
    expect(page.get_by_text("running").or_(page.get_by_text("queued")).first).to_be_visible()
    stream = page.get_by_role("complementary", name="Attempts")
    expect(stream.get_by_text("new best").first).to_be_visible(timeout=180_000)
    expect(page.locator("#chart .plotly")).to_be_visible()
    expect(page.locator("h1")).to_contain_text("done", timeout=180_000)

    page.locator("#rows a").first.click()
    page.wait_for_url("**/runs/*/own/*/*/")
    expect(page.locator("h1")).to_contain_text("passed")
    program = page.get_by_label("μCUTLASS source")
    expect(program).to_contain_text("gemm(")
    expect(page.get_by_label("Generated C++")).to_contain_text('extern "C"')
    expect(page.get_by_text("Over torch eager").first).to_be_visible()
    expect(page.locator("main")).to_contain_text(" ms")

    launch(page, stack, "gemm_bias_gelu", 50)
    page.get_by_text("Cancel run").click()
    page.get_by_role("button", name="Cancel this run").click()
    expect(page.locator("h1")).to_contain_text("cancelled", timeout=60_000)


def test_a_link_signs_in_once(stack: Stack, page: Page) -> None:
    link = stack.ask(
        "from mucutlass_web.signin import make_link\nanswer = make_link(User.objects.get(is_superuser=True))"
    )
    page.goto(stack.address + link)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/runs/")
    page.context.clear_cookies()
    page.goto(stack.address + link)
    expect(page.locator("main")).to_contain_text("sign_in_link")
