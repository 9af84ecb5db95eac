"""What only a browser can tell of the audit pages: axe's findings, the content policy, and their width on a phone."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from playwright.sync_api import Browser

from kernels.models import Kernel
from runs.flags_pane import audit_now
from tests.browsing import CHROMIUM, NO_CHROMIUM
from tests.web import gallery
from tests.web.test_audit_files import CHEAT
from tests.web.test_in_browser import visit
from tests.web.test_run_audit import Made

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
]


@pytest.fixture
def owner(transactional_db: None) -> User:
    return gallery.person("alice")


def test_a_file_is_chosen_audited_and_its_evidence_leads_into_the_code(
    chromium: Browser, live_server: Any, owner: User
) -> None:
    tab = visit(chromium, live_server, owner)
    page = tab.go("/triage/")
    page.click("text=Audit a file")
    page.set_input_files("#files", [{"name": "<b>.py", "mimeType": "text/x-python", "buffer": CHEAT.read_bytes()}])
    page.click("button:has-text('Audit')")
    page.wait_for_selector(".ev")
    assert page.inner_text("h2.aud-name") == "<b>.py"
    page.click(".ev a[href^='#L']")
    assert page.evaluate("document.querySelector('.code .l:target').classList.contains('m-severe')")
    page.click(".code .pin.severe")
    assert page.evaluate("document.querySelector('.ev li:target').id") == "e1"
    assert tab.said == []


def test_pages_pass_axe_and_fit_a_phone(chromium: Browser, live_server: Any, owner: User) -> None:
    made = Made(owner, gallery.person("maya", staff=True))
    made.fast.kernel = Kernel.objects.of_source("py", CHEAT.read_text())
    made.fast.save()
    audit_now(made.fast, owner)
    tab = visit(chromium, live_server, owner)
    page = tab.go("/audit/")
    page.fill("#text", CHEAT.read_text())
    page.click("button:has-text('Audit')")
    report = page.url.removeprefix(live_server.url)
    run = f"/runs/{made.run.pk}/"
    for address in ("/audit/", report, f"{run}audit/", f"{run}own/1/2/"):
        page = tab.go(address)
        page.set_viewport_size({"width": 1280, "height": 900})
        assert Axe().run(page).response["violations"] == [], address
        page.set_viewport_size({"width": 390, "height": 900})
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, address
    assert tab.said == []
