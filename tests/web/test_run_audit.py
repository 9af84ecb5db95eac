"""A run's audit report: figures by hand, counts, who settled what, files, rights, queries, and text that is text."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.harness.evaluation import Outcome
from runs import looks
from runs.access import get_run_for
from runs.models import Attempt, Run
from runs.run_audit import SHOWN, RunAudit, inflation_of
from runs.run_audit_files import report_form
from sol import cases
from sol.audit import DETECTORS
from sol.audit.version import audit_version
from sol.models import Case
from tests.web import gallery
from tests.web.audit_rows import CACHED, CAST, REMARK, flagged, three_problems
from tests.web.reading import html, links, text_of


class Made:
    """A run on three problems with bounds of 1, 2 and 1 ms and eager at 8, 8 and 4 ms.

    Problem 1: 4 ms honest, 0.5 ms with an open severe flag. Problem 2: 4 ms honest, 2.5 ms settled as a hack, and
    one incorrect. Problem 3: nothing honest, 1 ms with an open severe flag; a suspect one at 2 ms counts.
    """

    def __init__(self, owner: User, reviewer: User) -> None:
        self.run = gallery.run(owner, "Three problems")
        one, two, three = three_problems(self.run)
        self.honest = gallery.attempt(one, 1, Outcome.PASSED, 4e-3, eager_s=8e-3, salt="a")
        self.fast = gallery.attempt(one, 2, Outcome.PASSED, 5e-4, eager_s=8e-3, salt="b")
        self.second = gallery.attempt(two, 1, Outcome.PASSED, 4e-3, eager_s=8e-3, salt="c")
        self.hack = gallery.attempt(two, 2, Outcome.PASSED, 2.5e-3, eager_s=8e-3, salt="d")
        self.wrong = gallery.attempt(two, 3, Outcome.INCORRECT, detail="wrong", salt="e")
        self.claim = gallery.attempt(three, 1, Outcome.PASSED, 1e-3, eager_s=4e-3, salt="f")
        self.cast = gallery.attempt(three, 2, Outcome.PASSED, 2e-3, eager_s=4e-3, salt="g")
        for attempt in (self.honest, self.fast, self.second, self.hack, self.claim, self.cast):
            looks.note(attempt, measured=True)
        self.open = flagged(self.fast, CACHED, CAST)
        self.settled = flagged(self.hack, CACHED)
        flagged(self.claim, CACHED)
        flagged(self.cast, CAST)
        flagged(self.second, REMARK)
        cases.settle([self.settled], "reward_hack", reviewer, "=1+1 <b>why</b>")
        self.attempts = [self.honest, self.fast, self.second, self.hack, self.wrong, self.claim, self.cast]


@pytest.fixture
def made(alice: User, maya: User) -> Made:
    return Made(alice, maya)


def report_of(made: Made, *, whole: bool = False) -> RunAudit:
    return RunAudit(get_run_for(made.run.owner, made.run.pk), whole)


def test_figures_with_and_without_by_hand(made: Made) -> None:
    seen = report_of(made)
    # Over eager as it counts: 8/4, 8/4, 4/2; if every held time counted: 8/0.5, 8/2.5, 4/1.
    assert seen.board.speedup == pytest.approx(2.0)
    assert seen.claimed_speedup == pytest.approx((16 * 3.2 * 4) ** (1 / 3))
    assert seen.inflation == pytest.approx((16 * 3.2 * 4) ** (1 / 3) / 2)
    # Over SOL as it counts: 4, 2, 2; if every held time counted: 0.5, 1.25, 1.
    assert seen.board.gap == pytest.approx(16 ** (1 / 3))
    assert seen.claimed_gap == pytest.approx((0.5 * 1.25 * 1) ** (1 / 3))
    assert seen.gap_inflation == pytest.approx((16 / 0.625) ** (1 / 3))
    by_problem = {row.trajectory.problem.slug: inflation_of(row) for row in seen.inflated}
    assert by_problem == pytest.approx({"own/1": 8.0, "own/2": 1.6, "own/3": 2.0})
    assert list(by_problem) == ["own/1", "own/3", "own/2"]
    shares = {one.r: (one.honest, one.claimed) for one in seen.fast_p}
    assert shares[2.0] == (1.0, 1.0)
    assert shares[3.0] == pytest.approx((0.0, 1.0))
    assert shares[4.0] == pytest.approx((0.0, 2 / 3))
    assert shares[16.0] == pytest.approx((0.0, 1 / 3))
    assert max(shares) == 16.0


def test_a_run_without_held_times_has_one_figure(alice: User) -> None:
    run = gallery.run(alice)
    (one, *_) = three_problems(run)
    gallery.attempt(one, 1, Outcome.PASSED, 4e-3, eager_s=8e-3)
    seen = RunAudit(run)
    assert seen.claimed_speedup == seen.board.speedup
    assert seen.inflation == 1.0
    assert (seen.flagged, seen.tricks, seen.open_cases, seen.decisions) == (0, [], [], [])


def test_counts_by_trick_severity_and_verdict(made: Made) -> None:
    seen = report_of(made)
    assert (seen.board.ended, seen.audited, seen.unaudited, seen.flagged) == (7, 6, 1, 4)
    assert seen.by_severity == {"severe": 3, "suspect": 1, "info": 1}
    assert [(row.trick.number, row.severity.value, row.by_verdict) for row in seen.tricks] == [
        (5, "severe", {"": 2, "reward_hack": 1}),
        (29, "suspect", {"": 1}),
        (14, "info", {"": 1}),
    ]
    assert (seen.cases, seen.totals, seen.open_count, seen.settled_count) == (5, [4, 0, 0, 0, 1, 0, 0], 3, 1)
    assert [(held.value, count) for held, count in seen.held] == [("flagged", 2), ("hacked", 1)]


def test_the_page_says_all_of_it(as_alice: Client, made: Made) -> None:
    response = as_alice.get(f"/runs/{made.run.pk}/audit/")
    text = text_of(response)
    assert "Over eager, geomean 2.00× 5.89× if every held time counted" in text
    assert "Inflation kept out 2.95× 3 times held: 2 flagged, 1 gamed" in text
    assert "Candidates 7 6 looked at by an audit" in text
    assert "Flagged 4 3 severe, 1 suspect, 1 info" in text
    assert "5 It keeps answers by the input's address severe 2 0 0 0 1 0 0 3" in text
    assert "Gap to SOL 2.52× 0.85× 2.95×" in text
    assert "Fast_p(3.00×) 0 % 100 % +100 %" in text
    assert "maya reward hack cache_by_pointer own/2 #2 =1+1 <b>why</b>" in text
    assert f"6 candidates by {len(DETECTORS)} of version {audit_version()}" in text
    assert "strict, tolerance strict" in text
    assert gallery.MACHINE in text
    assert "<b>why</b>" not in html(response)
    addresses = links(html(response))
    assert f"/triage/{made.open.pk}/" in addresses
    assert f"/triage/?run={made.run.pk}" in addresses
    assert f"/runs/{made.run.pk}/own/1/2/#flags" in addresses
    assert f"/runs/{made.run.pk}/audit/" in links(html(as_alice.get(f"/runs/{made.run.pk}/")))


def test_open_ones_the_gravest_first_and_decisions_the_newest_first(made: Made, maya: User, bob: User) -> None:
    batch = cases.settle([made.open], "clean", bob, "cleared each call")
    cases.undo(batch, maya)
    seen = report_of(made)
    assert [(case.severity, [one.number for one in tried]) for case, tried in seen.open_cases] == [
        ("severe", [2]), ("severe", [1]), ("suspect", [2]),
    ]  # fmt: skip
    told = [(one.words, one.entry.user.get_username(), one.entry.words) for one in seen.decisions if one.entry.user]
    assert told == [
        ("undone, open again", "maya", "clean undone"),
        ("clean", "bob", "cleared each call"),
        ("reward hack", "maya", "=1+1 <b>why</b>"),
    ]


def test_the_json_holds_the_same_figures(as_alice: Client, made: Made) -> None:
    response = as_alice.get(f"/runs/{made.run.pk}/audit.json")
    form = json.loads(response.content)
    assert form["figures"]["speedup"] == pytest.approx(2.0)
    assert form["figures"]["claimed_speedup"] == pytest.approx((16 * 3.2 * 4) ** (1 / 3))
    assert form["figures"]["claimed_gap"] == pytest.approx(0.625 ** (1 / 3))
    assert form["candidates"] == {
        "attempts": 7, "audited": 6, "flagged": 4, "by_severity": {"severe": 3, "suspect": 1, "info": 1},
        "held": {"flagged": 2, "hacked": 1},
    }  # fmt: skip
    first = form["problems"][0]
    assert (first["problem"], first["best_s"], first["claimed_s"], first["inflation"]) == ("own/1", 4e-3, 5e-4, 8.0)
    assert form["cases"][0]["verdicts"] == {"open": 2, "reward_hack": 1}
    (decision,) = form["decisions"]
    assert (decision["by"], decision["verdict"], decision["why"]) == ("maya", "reward_hack", "=1+1 <b>why</b>")
    assert [one["attempts"] for one in form["open"]] == [[2], [1], [2]]
    assert form["conditions"]["version"] == audit_version()
    assert len(form["conditions"]["detectors"]) == len(DETECTORS)
    assert form["conditions"]["looks"] == [
        {"version": audit_version(), "detectors": len(DETECTORS), "evaluations_too": True, "attempts": 6}
    ]
    assert f'filename="{made.run}-audit.json"' in response["Content-Disposition"]


def test_the_csv_has_a_row_an_attempt_with_a_case_and_no_formula(as_alice: Client, made: Made) -> None:
    response = as_alice.get(f"/runs/{made.run.pk}/audit.csv")
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert [(row["problem"], row["attempt"], row["severity"], row["held"]) for row in rows] == [
        ("own/1", "2", "severe", "flagged"),
        ("own/2", "1", "info", ""),
        ("own/2", "2", "severe", "hacked"),
        ("own/3", "1", "severe", "flagged"),
        ("own/3", "2", "suspect", ""),
    ]
    hack = rows[2]
    assert (hack["time_s"], hack["eager_s"], hack["trick_number"]) == ("0.0025", "0.008", "5")
    assert (hack["verdict"], hack["settled_by"], hack["why"]) == ("reward_hack", "maya", "'=1+1 <b>why</b>")
    assert rows[0]["why"] == rows[0]["verdict"] == ""
    assert float(rows[0]["inflation"]) == pytest.approx(8.0)


def test_every_member_may_look_and_nobody_else(as_bob: Client, client: Client, made: Made) -> None:
    for ending in ("audit/", "audit.json", "audit.csv"):
        assert as_bob.get(f"/runs/{made.run.pk}/{ending}").status_code == 200
        assert as_bob.post(f"/runs/{made.run.pk}/{ending}").status_code == 405
        assert client.get(f"/runs/{made.run.pk}/{ending}").status_code == 302
        assert as_bob.get(f"/runs/{made.run.pk + 1}/{ending}").status_code == 404


def test_an_empty_run_says_what_is_not_known(as_alice: Client, alice: User) -> None:
    run = gallery.run(alice)
    text = text_of(as_alice.get(f"/runs/{run.pk}/audit/"))
    assert "no audit looked at any of them" in text
    assert "The run has no problems." in text
    assert "Nobody settled anything yet." in text
    form = report_form(RunAudit(run, True))
    assert form["figures"]["speedup"] is None
    assert (form["problems"], form["fast_p"], form["open"]) == ([], [], [])


def more(run: Run, count: int) -> list[Case]:
    """More flagged attempts on the run's first problem."""
    on = run.trajectories.order_by("pk")[0]
    made = []
    for number in range(10, 10 + count):
        one: Attempt = gallery.attempt(on, number, Outcome.PASSED, 6e-3, salt=f"more {number}")
        made.append(flagged(one, CACHED))
    return made


def test_lists_are_cut_and_whole_on_demand_in_as_many_queries(
    as_alice: Client, made: Made, maya: User, django_assert_max_num_queries: Any
) -> None:
    address = f"/runs/{made.run.pk}/audit/"
    with django_assert_max_num_queries(QUERIES):
        as_alice.get(address)
    every = more(made.run, SHOWN + 5)
    cases.settle(every[:3], "bug", maya, "")
    with django_assert_max_num_queries(QUERIES):
        cut = html(as_alice.get(address))
    assert cut.count('<td><a class="mono" href="/triage/') == SHOWN
    assert f'href="?whole=1#open">All {SHOWN + 5}' in cut
    whole = html(as_alice.get(f"{address}?whole=1"))
    assert whole.count('<td><a class="mono" href="/triage/') == SHOWN + 5


QUERIES = 11
