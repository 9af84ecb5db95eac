"""What the browser tests share: which browser, how it is started, and which console lines are complaints."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, ConsoleMessage, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NO_CHROMIUM = "no Chromium on PATH (Debian: apt install chromium)"

SIGHTS = (
    ("light", 1280),
    ("dark", 390),
    pytest.param("light", 390, marks=pytest.mark.thorough),
    pytest.param("dark", 1280, marks=pytest.mark.thorough),
)
"""Theme and width of a page; the second pair is looked at by ``make test-thorough`` alone."""

# What htmx says when a newer request takes the place of one that is under way (hx-sync): nothing is wrong then.
_SUPERSEDED = ("htmx:afterRequest", "htmx:sendAbort")


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless Chromium. Playwright runs an event loop in this thread, which Django takes for an async view."""
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    try:
        with sync_playwright() as playwright:
            started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
            yield started
            started.close()
    finally:
        if before is None:
            del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
        else:
            os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before


def close_tabs(browser: Browser, patience_s: float = 20) -> None:
    """Close all tabs and wait until the live server has answered what they asked.

    A page that asks again every two seconds would otherwise do so while the settings and rows of one test are put
    away for the next one's, and what a request keeps at that moment, as Django does the store of static files, stays.
    """
    for context in browser.contexts:
        context.close()
    until = time.monotonic() + patience_s
    while busy := answering():
        assert time.monotonic() < until, f"the live server still answers in {busy}"
        time.sleep(0.01)


def answering() -> list[str]:
    """Threads of the live server, one for each connection that is open."""
    return [one.name for one in threading.enumerate() if "process_request_thread" in one.name]


def is_complaint(message: ConsoleMessage) -> bool:
    """Whether a console line says that something is wrong."""
    return message.type in ("error", "warning") and not message.text.startswith(_SUPERSEDED)
