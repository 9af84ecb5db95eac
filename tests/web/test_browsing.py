"""Tabs of one test ask nothing during the next."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browsing import CHROMIUM, NO_CHROMIUM, answering

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
]

# Asks, and asks again as soon as it is answered, like a page that follows a run.
ASKING = (
    "const ask = () => fetch('/static/css/base.css?' + performance.now()).finally(() => setTimeout(ask, 5)); ask()"
)


@pytest.mark.parametrize("turn", ["first", "second"])
def test_no_tab_of_the_test_before_is_open_or_still_answered(
    chromium: Browser, live_server: Any, turn: str
) -> None:
    assert chromium.contexts == []
    assert answering() == []
    page = chromium.new_context().new_page()
    page.goto(f"{live_server.url}/sign-in/")
    with page.expect_response("**/base.css?*"):
        page.evaluate(ASKING)
    assert answering()
