"""Triage by keyboard in a browser, without scripts, and in how long; and what axe says of it."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser

from runs.models import Run
from sol.audit import Severity
from sol.models import Case
from tests.browsing import CHROMIUM, NO_CHROMIUM, SIGHTS, is_complaint
from tests.web import rows, triage_rows

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
]


@pytest.fixture
def rita(transactional_db: None) -> User:
    return triage_rows.reviewer("rita")


@pytest.fixture
def twelve(rita: User) -> Run:
    """A run with an honest kernel and twelve that keep answers: eleven severe, and one that counts so far."""
    run, _ = triage_rows.run_with_cases(rows.person("alice"), 11, alike=False)
    on = run.trajectories.get()
    source = triage_rows.cached_source()
    triage_rows.flagged(triage_rows.tried(on, 20, source, 0.001), triage_rows.cache_flags(Severity.SUSPECT))
    return run


class Tab:
    """A signed-in tab that remembers what its console said."""

    def __init__(self, chromium: Browser, base: str, user: User, **options: Any) -> None:
        client = Client()
        client.force_login(user)
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": base}])
        self.page, self.base = context.new_page(), base
        self.said: list[str] = []
        self.page.on("console", lambda m: self.said.append(m.text) if is_complaint(m) else None)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))

    def go(self, address: str) -> Any:
        self.page.goto(self.base + address)
        return self.page

    def key(self, key: str) -> float:
        """Press it and wait until another case is shown; how long that took, in ms."""
        shown = self.page.inner_text("#case .who .mono")
        began = self.page.evaluate("performance.now()")
        self.page.keyboard.press(key)
        self.page.wait_for_function(
            "(was) => document.querySelector('#case .who .mono')?.textContent !== was", arg=shown, polling=5
        )
        return float(self.page.evaluate("performance.now()") - began)


def test_ten_flags_are_cleared_one_undone_and_one_given_away_by_keys(
    chromium: Browser, live_server: Any, rita: User, twelve: Run
) -> None:
    tab = Tab(chromium, live_server.url, rita)
    page = tab.go("/triage/")
    assert "now 11" in page.inner_text("#effect")
    order = []
    for _ in range(10):
        order.append(page.inner_text("#case .who .mono"))
        tab.key("1")
        assert page.evaluate("document.activeElement.id") == "case-h"
    assert Case.objects.filter(verdict="clean").count() == 10
    assert page.inner_text("#triage-head b") == "2"
    cleared = page.inner_text("#effect")
    assert "now 44.0×" in cleared

    tab.key("u")
    assert page.inner_text("#case .who .mono") == order[-1]
    assert Case.objects.filter(verdict="clean").count() == 9
    assert page.inner_text("#triage-head b") == "3"

    page.keyboard.press("a")
    assert page.evaluate("document.activeElement.id") == "give"
    page.keyboard.type("rita")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=assigned to you")
    assert Case.objects.get(assigned=rita).kernel.short in order[-1]

    best = twelve.trajectories.get().best
    assert best is not None
    page = tab.go(f"/runs/{twelve.pk}/")
    assert f"{best.speedup:.1f}×" in page.inner_text("main")
    assert tab.said == []


def test_the_run_s_geomean_goes_down_with_a_hack_and_back_with_undo(
    chromium: Browser, live_server: Any, rita: User, twelve: Run
) -> None:
    case = Case.objects.get(severity="suspect")
    tab = Tab(chromium, live_server.url, rita)
    page = tab.go(f"/triage/{case.pk}/?severity=suspect")
    assert "now 11.0×; reward hack, rubric leak or bug: 2.75×; clean or problem flaw: 11.0×" in page.inner_text(
        "#effect"
    )
    page.keyboard.press("4")
    page.wait_for_selector("text=Nothing left here")
    assert "2.75×" in tab.go(f"/runs/{twelve.pk}/").inner_text("main")
    tab.go("/triage/?severity=suspect")
    page.keyboard.press("u")
    page.wait_for_selector("#effect >> text=now 11.0×")
    assert "11.0×" in tab.go(f"/runs/{twelve.pk}/").inner_text("main")
    assert tab.said == []


def test_shift_and_a_digit_settle_the_whole_group_that_was_named(
    chromium: Browser, live_server: Any, rita: User
) -> None:
    triage_rows.run_with_cases(rows.person("alice"), 5)
    tab = Tab(chromium, live_server.url, rita)
    page = tab.go("/triage/")
    page.keyboard.down("Shift")
    assert page.inner_text("[data-verdict='4'] .grp") == "5"
    page.keyboard.press("Digit4")
    page.keyboard.up("Shift")
    page.wait_for_selector("text=Reward hack on 5.")
    assert Case.objects.filter(verdict="reward_hack").count() == 5
    page.keyboard.press("u")
    page.wait_for_selector("#case-h")
    assert Case.objects.filter(verdict="").count() == 5


def test_j_and_k_walk_the_list_and_keys_are_off_in_fields(
    chromium: Browser, live_server: Any, rita: User, twelve: Run
) -> None:
    tab = Tab(chromium, live_server.url, rita)
    page = tab.go("/triage/?trick=cache_by_pointer")
    first = page.inner_text("#case .who .mono")
    tab.key("j")
    assert page.url.endswith("?trick=cache_by_pointer")
    assert page.locator("#inbox [aria-current=true]").count() == 1
    tab.key("k")
    assert page.inner_text("#case .who .mono") == first
    page.keyboard.press("c")
    page.keyboard.type("1 4 u j")
    assert page.input_value("#say") == "1 4 u j"
    assert not Case.objects.exclude(verdict="").exists()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "case-h"
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_url("**/runs/")
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/triage/")
    assert tab.said == []


def test_pointing_at_evidence_marks_its_lines_and_back(
    chromium: Browser, live_server: Any, rita: User, twelve: Run
) -> None:
    case = Case.objects.get(severity="suspect")
    page = Tab(chromium, live_server.url, rita).go(f"/triage/{case.pk}/")
    page.hover("#e1 p >> nth=1")
    assert page.eval_on_selector_all(".l.on", "lines => lines.map(line => line.id)") == [
        "L13",
        "L14",
        "L15",
        "L16",
        "L18",
    ]
    page.hover("#L13 code")
    assert page.eval_on_selector_all(".ev li.on", "items => items.map(item => item.id)") == ["e1"]


def test_everything_works_without_scripts(chromium: Browser, live_server: Any, rita: User) -> None:
    triage_rows.run_with_cases(rows.person("alice"), 3)
    page = Tab(chromium, live_server.url, rita, java_script_enabled=False).go("/triage/")
    page.click("text=all 3 texts alike")
    page.fill("[name=why]", "kept answers")
    page.click("[data-verdict='4']")
    assert Case.objects.filter(verdict="reward_hack").count() == 3
    page.click("[data-undo]")
    assert Case.objects.filter(verdict="").count() == 3
    page.click("text=Filters")
    page.select_option("#f-severity", "severe")
    page.click(".facets button")
    assert "severity=severe" in page.url
    page.fill("#say", "looked at")
    page.click(".say button")
    assert "rita said: looked at" in page.inner_text("#history").replace("\n", " ")


@pytest.mark.parametrize(("scheme", "width"), SIGHTS)
def test_axe_finds_nothing(
    chromium: Browser, live_server: Any, rita: User, twelve: Run, scheme: str, width: int
) -> None:
    tab = Tab(chromium, live_server.url, rita, color_scheme=scheme, viewport={"width": width, "height": 844})
    page = tab.go("/triage/?panel=1")
    found = Axe().run(page)
    assert [
        (one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found.response["violations"]
    ] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.said == []


def test_at_390_the_verdicts_are_a_pad_at_the_bottom_edge(
    chromium: Browser, live_server: Any, rita: User, twelve: Run
) -> None:
    page = Tab(chromium, live_server.url, rita, viewport={"width": 390, "height": 844}).go("/triage/")
    boxes = [one.bounding_box() for one in page.query_selector_all("[data-verdict]")]
    assert {round(box["height"]) for box in boxes} == {40}
    assert len({round(box["y"]) for box in boxes}) == 2
    assert max(box["y"] + box["height"] for box in boxes) <= 844
    assert page.locator("#inbox li:visible").count() == 1
