"""The inbox: its order, its gatherings, its filters with their counts, its pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from runs.triage.facets import facets
from runs.triage.filters import CaseFilters
from runs.triage.inbox import PAGE, Inbox
from sol.audit import Evidence, Flag, Severity, Trick
from sol.audit.record import Place
from sol.cases import assign, raise_flags, settle
from sol.models import Case
from tests.web import rows, triage_rows
from tests.web.reading import html, part, text_of, words


def weighed(number: int, severity: Severity, trick: Trick, confidence: float, inflation: float, on: Any) -> Case:
    """A case without attempts, of a given harm."""
    flag = Flag("caches", trick, severity, confidence, Evidence("it was seen", (Place(1, 1),)))
    kernel = rows.kernel(number, f"{trick} {severity}")
    case = raise_flags(kernel, on, (flag,))
    assert case is not None
    Case.objects.filter(pk=case.pk).update(inflation=inflation, harm=inflation * confidence)
    case.refresh_from_db()
    return case


@pytest.fixture
def mixed(db: None) -> list[Case]:
    """In the order in which the inbox must show them, with two of one trick and problem."""
    one, two = rows.problem(1), rows.problem(2)
    return [
        weighed(1, Severity.SEVERE, Trick.CACHE_BY_POINTER, 0.9, 20.0, one),
        weighed(2, Severity.SEVERE, Trick.CACHE_BY_POINTER, 0.9, 2.0, one),
        weighed(3, Severity.SEVERE, Trick.FALLBACK, 0.5, 9.0, two),
        weighed(4, Severity.SUSPECT, Trick.LIBRARY_ONLY, 0.9, 90.0, two),
        weighed(5, Severity.INFO, Trick.FIG_LEAF, 0.9, 99.0, two),
    ]


def test_the_gravest_first_then_the_most_harmful_and_like_ones_together(mixed: list[Case], rita: User) -> None:
    inbox = Inbox(CaseFilters(), rita)
    assert inbox.order == [case.pk for case in mixed[:4]]
    assert [len(one.members) for one in inbox.gatherings] == [2, 1, 1]


def test_a_note_waits_for_nobody(mixed: list[Case], rita: User) -> None:
    assert mixed[4].pk not in Inbox(CaseFilters(), rita).order


def test_the_next_case_passes_over_those_that_went_with_it(mixed: list[Case], rita: User) -> None:
    inbox = Inbox(CaseFilters(), rita)
    assert inbox.after(mixed[0].pk, {mixed[1].pk}) == mixed[2].pk
    assert inbox.after(mixed[3].pk) is None
    assert inbox.before(mixed[1].pk) == mixed[0].pk
    assert inbox.before(mixed[0].pk) is None


def test_what_is_left_is_what_would_be_read_anew(mixed: list[Case], rita: User) -> None:
    inbox = Inbox(CaseFilters(), rita, current=mixed[0].pk)
    settle([mixed[0]], "bug", rita)
    left, anew = inbox.without({mixed[0].pk}, mixed[2].pk), Inbox(CaseFilters(), rita, current=mixed[2].pk)
    assert left.order == anew.order == [mixed[2].pk, mixed[1].pk, mixed[3].pk]
    assert (left.total, left.place, left.page) == (anew.total, anew.place, anew.page)
    assert [row.case.pk for row in left.rows] == [row.case.pk for row in anew.rows]


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ({"severity": "suspect"}, [3]),
        ({"trick": "cache_by_pointer"}, [0, 1]),
        ({"problem": "own/2"}, [2, 3]),
        ({"detector": "caches"}, [0, 1, 2, 3]),
        ({"detector": "nobody"}, []),
        ({"language": "py"}, []),
        ({"assigned": "me"}, [2]),
        ({"assigned": "nobody"}, [0, 1, 3]),
        ({"run": "r-77"}, []),
        ({"q": "own/1"}, [0, 1]),
        ({"severity": "no such", "state": "'; drop table", "run": "x"}, [0, 1, 2, 3]),
    ],
)
def test_filters_of_the_address(mixed: list[Case], rita: User, query: dict[str, str], left: list[int]) -> None:
    assign([mixed[2]], rita, rita)
    assert Inbox(CaseFilters.of(query), rita).order == [mixed[at].pk for at in left]


def test_a_kernel_is_found_by_its_name(mixed: list[Case], rita: User) -> None:
    assert Inbox(CaseFilters(q=str(mixed[2].kernel)), rita).order == [mixed[2].pk]


def test_settled_cases_are_found_by_their_verdict(mixed: list[Case], rita: User) -> None:
    settle([mixed[0]], "reward_hack", rita)
    settle([mixed[1]], "clean", rita)
    assert Inbox(CaseFilters(state="settled"), rita).order == [mixed[0].pk, mixed[1].pk]
    assert Inbox(CaseFilters(state="clean"), rita).order == [mixed[1].pk]
    assert Inbox(CaseFilters(), rita).order == [mixed[2].pk, mixed[3].pk]


def test_counts_beside_filters_are_what_each_would_leave(mixed: list[Case], rita: User) -> None:
    found = {
        facet.name: {o.value: o.count for o in facet.options}
        for facet in facets(CaseFilters(problem="own/2"), rita)
    }
    assert found["severity"] == {"severe": 1, "suspect": 1}
    assert found["trick"] == {"fallback": 1, "library_only": 1}
    assert found["problem"] == {"own/1": 2, "own/2": 2}
    assert found["detector"] == {"caches": 2}
    assert found["assigned"] == {"me": 0, "nobody": 2}
    assert found["state"][""] == 2


def test_runs_are_counted_once_a_case(owner: User, rita: User) -> None:
    run, cases = triage_rows.run_with_cases(owner, 3)
    again, _ = triage_rows.run_with_cases(owner, 0, title="again")
    on = again.trajectories.get()
    triage_rows.tried(on, 2, cases[0].kernel.source, 0.001)
    triage_rows.tried(on, 3, cases[0].kernel.source, 0.001)
    found = next(facet for facet in facets(CaseFilters(), rita) if facet.name == "run")
    assert {option.label: option.count for option in found.options} == {str(run): 3, str(again): 1}


def test_filters_stay_in_every_link(as_rita: Client, mixed: list[Case]) -> None:
    source = html(as_rita.get("/triage/?trick=cache_by_pointer&severity=severe"))
    assert f"/triage/{mixed[1].pk}/?severity=severe&amp;trick=cache_by_pointer" in source
    assert f'action="/triage/{mixed[0].pk}/settle/?severity=severe&amp;trick=cache_by_pointer"' in source
    assert "Fallback" not in text_of(as_rita.get("/triage/?trick=cache_by_pointer"))


def test_the_panel_offers_every_filter(as_rita: Client, mixed: list[Case]) -> None:
    source = html(as_rita.get("/triage/?panel=1&severity=severe"))
    for name in ("severity", "trick", "detector", "problem", "run", "language", "assigned", "state"):
        assert f'<select id="f-{name}" name="{name}"' in source
    assert "severe (3)" in source
    assert "suspect (1)" in source
    assert html(as_rita.get("/triage/filters/")).startswith('<div id="filters">')


def test_nothing_found_says_by_which_filters(as_rita: Client, mixed: list[Case]) -> None:
    text = text_of(as_rita.get("/triage/?trick=sabotage&severity=severe"))
    assert "No case has severity severe, and trick sabotage." in text


def test_an_empty_inbox_says_what_would_stand_there(as_rita: Client) -> None:
    text = text_of(as_rita.get("/triage/"))
    assert "Nothing waits" in text
    assert "Its evidence, its code and the six verdicts then stand here." in text


def test_pages_hold_fifty_and_neither_repeat_nor_lose_a_case(db: None, rita: User, as_rita: Client) -> None:
    on = rows.problem(1)
    tricks = list(Trick)
    problems = [on, *(rows.problem(number) for number in range(2, 4))]
    for number in range(2 * PAGE + 7):
        weighed(number, Severity.SEVERE, tricks[number % 40], 0.9, 3.0, problems[number // 40])
    seen = []
    for page in ("1", "2", "3", "99"):
        inbox = Inbox(CaseFilters(), rita, number=page)
        seen.append([row.case.pk for row in inbox.rows])
    assert [len(page) for page in seen] == [50, 50, 7, 7]
    assert len({pk for page in seen for pk in page}) == 107
    assert "page 2 of 3" in text_of(as_rita.get("/triage/?page=2"))


def test_a_case_is_shown_with_the_page_that_it_is_on(db: None, rita: User) -> None:
    problems = [rows.problem(number) for number in range(1, 4)]
    cases = [weighed(n, Severity.SEVERE, list(Trick)[n % 40], 0.9, 3.0, problems[n // 40]) for n in range(60)]
    inbox = Inbox(CaseFilters(), rita, current=cases[55].pk)
    assert inbox.page == 2
    assert [row.case.pk for row in inbox.rows if row.current] == [cases[55].pk]


def test_the_navigation_counts_open_severe_cases(as_rita: Client, mixed: list[Case], rita: User) -> None:
    cache.delete("triage-open-severe")
    count = part(html(as_rita.get("/runs/")), "triage-count", "span")
    assert words(count).split()[:2] == ["3", "severe"]
    settle([mixed[0]], "clean", rita)
    assert words(part(html(as_rita.get("/runs/")), "triage-count", "span")).split()[0] == "2"


@pytest.mark.parametrize("count", [1, 12])
def test_the_inbox_takes_as_many_queries_however_many_cases(
    as_rita: Client, owner: User, count: int, django_assert_max_num_queries: Any
) -> None:
    triage_rows.run_with_cases(owner, count)
    with django_assert_max_num_queries(34):
        assert as_rita.get("/triage/").status_code == 200
