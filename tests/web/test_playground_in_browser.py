"""The playground under a reader's hands: errors while typing, the way to their place, keys, and axe's findings."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User

from runs.models import Run
from tests.browsing import CHROMIUM, NO_CHROMIUM
from tests.web import gallery
from tests.web.test_in_browser import owner, visit

__all__ = ["owner"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
]

HEAD = "program p(x: f32[512, 512], gemm.weight: f32[512, 512]) -> f32[512, 512]\n"
WRONG = HEAD + "  y = gemm(x, gemm.weight.T) >> rellu()\n  return y\n"
TWO = HEAD + "  a = gemm(x, gemm.weight.T) >> relu()\n  y = map(exp(a))\n  return y\n"
CARET = "source.value.slice(0, source.selectionStart).split('\\n').map((l) => l.length)"


def test_errors_come_while_typing_and_lead_to_their_place(chromium: Any, live_server: Any, owner: User) -> None:
    gallery.problems(2)
    tab = visit(chromium, live_server, owner)
    page = tab.go("/playground/?problem=own/2")
    page.fill("#source", WRONG)
    page.wait_for_selector(".errs")
    assert page.locator("#go").is_disabled()
    assert page.locator("#said").inner_text() == "1 error"
    assert page.locator("#gutter .chg").all_inner_texts() == ["2"]
    page.click("[data-goto]")
    assert page.evaluate(CARET)[1:] == [WRONG.split("\n")[1].index(">> rellu")]
    assert page.evaluate("document.activeElement.id") == "source"
    assert tab.said == []


def test_a_generated_line_leads_to_its_own_and_a_stage_is_chosen(
    chromium: Any,
    live_server: Any,
    owner: User,
) -> None:
    gallery.problems(2)
    tab = visit(chromium, live_server, owner)
    page = tab.go("/playground/?problem=own/2")
    page.fill("#source", TWO)
    page.wait_for_selector("#unit")
    page.select_option("#unit", "y")
    page.wait_for_selector("#cpp .l[data-to='M3']")
    page.locator("#cpp .l[data-to='M3']").first.click()
    assert len(page.evaluate(CARET)) == 3
    page.keyboard.press("Tab")
    assert page.input_value("#source").split("\n")[2] == "    y = map(exp(a))"
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") != "source"
    assert tab.said == []


def test_the_key_evaluates(chromium: Any, live_server: Any, owner: User) -> None:
    gallery.problems(2)
    tab = visit(chromium, live_server, owner)
    page = tab.go("/playground/?problem=own/2")
    page.focus("#source")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/runs/*/")
    assert Run.objects.get().title == "playground: own/2 Gemm_Bias_ReLU"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("source", [WRONG, TWO])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_page(
    chromium: Any, live_server: Any, owner: User, scheme: str, source: str
) -> None:
    gallery.problems(2)
    tab = visit(chromium, live_server, owner, scheme, bypass_csp=True)  # axe itself is an inline script
    page = tab.go("/playground/?problem=own/2")
    page.fill("#source", source)
    page.wait_for_selector(".errs" if source == WRONG else "#unit")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
