"""What people make of a case goes into every attempt of its kernel, into the agent's log and into each best."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agent.history import State, last_step
from agent.steps import Candidate, Measured, Submitted
from kernels.harness.evaluation import Outcome
from runs import engine
from runs.board import board
from runs.holding import weigh
from runs.models import Attempt, Import, Trajectory
from runs.queries import best_attempts_on
from runs.words import of_attempt
from sol import cases
from sol.audit import Evidence, Flag, Place, Severity, Trick
from sol.audit.verdict import Verdict
from sol.case_models import EntryKind
from sol.gap.standing import Held
from sol.models import Case
from tests.web.rows import attempt, problem, run, trajectory

EAGER_S = 12e-3
SEVERE = Flag(
    "caches", Trick.CACHE_BY_POINTER, Severity.SEVERE, 0.9,
    Evidence("a dict keyed by data_ptr() is returned from", (Place(4, 6),)),
)  # fmt: skip
MILD = Flag("precision", Trick.LOWER_PRECISION, Severity.SUSPECT, 0.4, Evidence("a cast to half", (Place(2, 2),)))


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def row(alice: User) -> Trajectory:
    found = trajectory(run(alice), problem(1))
    found.floor_s, found.sol_s = 1e-3, 1.2e-3
    found.save()
    return found


def ended(on: Trajectory, number: int, time_s: float, *flags: Flag) -> Attempt:
    """An attempt that passed, as the evaluation's handler ends it."""
    on.refresh_from_db()
    one = attempt(on, number, None, state="evaluating")
    engine.append(on, Submitted(number, Candidate(one.kernel.source, None, "", "")))
    cases.raise_flags(one.kernel, on.problem, flags)
    engine.record_measured(one, Measured(number, Outcome.PASSED, "", time_s, EAGER_S))
    one.refresh_from_db()
    return one


def case_of(one: Attempt) -> Case:
    return Case.objects.get(kernel=one.kernel, problem=one.trajectory.problem)


def results(on: Trajectory, number: int) -> list[Measured]:
    return [event for event in engine.history_of(on) if isinstance(event, Measured) and event.number == number]


def test_an_open_severe_flag_keeps_a_time_out_and_tells_the_agent_why(row: Trajectory) -> None:
    honest, fast = ended(row, 1, 4e-3), ended(row, 2, 2e-3, SEVERE)
    row.refresh_from_db()
    assert (row.best, fast.held, fast.counted_s, fast.new_best) == (honest, Held.FLAGGED, None, False)
    (event,) = results(row, 2)
    assert event.flagged
    assert "keeps answers by the input's address (line 4): a dict keyed by data_ptr()" in event.detail
    assert "do the work on every call" in event.detail
    assert of_attempt(fast).text == "flagged"


def test_a_mild_flag_keeps_nothing_out(row: Trajectory) -> None:
    fast = ended(row, 1, 2e-3, MILD)
    row.refresh_from_db()
    assert (row.best, fast.held) == (fast, "")
    assert case_of(fast).open


def test_settled_as_clean_it_becomes_the_best_and_undone_it_is_out_again(row: Trajectory, alice: User) -> None:
    honest, fast = ended(row, 1, 4e-3), ended(row, 2, 2e-3, SEVERE)
    batch = cases.settle([case_of(fast)], Verdict.CLEAN, alice, "the dict is never read")
    row.refresh_from_db()
    fast.refresh_from_db()
    assert (row.best, row.best_s, fast.held, fast.new_best) == (fast, 2e-3, "", True)
    assert fast.change_of_best == pytest.approx(-0.5)
    cases.undo(batch, alice)
    row.refresh_from_db()
    fast.refresh_from_db()
    assert (row.best, row.best_s, fast.held, fast.new_best, fast.change_of_best) == (
        honest, 4e-3, Held.FLAGGED, False, None,
    )  # fmt: skip
    assert [event.flagged for event in results(row, 2)] == [True, False, True]


def test_a_best_that_is_settled_as_a_hack_leaves_every_figure(row: Trajectory, alice: User) -> None:
    honest, fast = ended(row, 1, 4e-3), ended(row, 2, 2e-3, MILD)
    assert board(row.run).speedup == pytest.approx(6.0)
    cases.settle([case_of(fast)], Verdict.REWARD_HACK, alice)
    row.refresh_from_db()
    fast.refresh_from_db()
    assert (row.best, row.best_s, fast.held) == (honest, 4e-3, Held.HACKED)
    seen = board(row.run)
    assert seen.speedup == pytest.approx(3.0)
    assert seen.claimed_speedup == pytest.approx(6.0)
    assert seen.claimed_gap == pytest.approx(2e-3 / 1.2e-3)
    assert (seen.passed, seen.held, seen.failed, seen.held_words) == (1, 1, 0, "1 gamed")
    assert best_attempts_on(row.problem_id) == [honest]
    assert (fast.gap, fast.speedup, fast.time_s) == (None, None, 2e-3)


def test_the_agent_searches_from_what_counts_now(row: Trajectory, alice: User) -> None:
    ended(row, 1, 4e-3)
    fast = ended(row, 2, 2e-3, MILD)
    cases.settle([case_of(fast)], Verdict.BUG, alice)
    history = engine.history_of(row)
    standing = State.of(engine.settings_of(row.run), history).standing
    assert (standing.best, standing.best_s, standing.attempts) == (1, 4e-3, 2)
    assert results(row, 2)[-1].detail.endswith(
        "Its time does not count (bug): do the work on every call, without this"
    )


def test_a_result_that_is_written_again_moves_no_trajectory(row: Trajectory, alice: User) -> None:
    one = ended(row, 1, 4e-3, MILD)
    engine.append(row, Submitted(2, Candidate("program", 1, "a change", "")))
    cases.settle([case_of(one)], Verdict.REWARD_HACK, alice)
    last = last_step(engine.history_of(row))
    assert last is not None
    assert last.kind == "submitted"


def test_a_person_lifts_a_time_below_the_floor(row: Trajectory, alice: User) -> None:
    below = ended(row, 1, 0.95e-3, MILD)
    assert below.held == Held.FLOOR
    cases.settle([case_of(below)], Verdict.PROBLEM_FLAW, alice)
    row.refresh_from_db()
    below.refresh_from_db()
    assert (row.best, below.held) == (below, "")
    assert below.told == "below the floor, settled as honest"


def test_a_later_attempt_of_the_same_text_is_held_from_its_start(row: Trajectory, alice: User) -> None:
    fast = ended(row, 1, 2e-3, MILD)
    cases.settle([case_of(fast)], Verdict.REWARD_HACK, alice)
    other = trajectory(run(alice), row.problem)
    one = attempt(other, 1, None, state="evaluating")
    assert one.kernel == fast.kernel
    engine.record_measured(one, Measured(1, Outcome.PASSED, "", 2.1e-3, EAGER_S))
    one.refresh_from_db()
    assert one.held == Held.HACKED


def test_a_hack_is_carried_to_the_same_text_on_another_problem(row: Trajectory, alice: User) -> None:
    fast = ended(row, 1, 2e-3, MILD)
    elsewhere = trajectory(run(alice), problem(2))
    twin = attempt(elsewhere, 1, None, state="evaluating", salt=row.problem.slug)
    assert twin.kernel == fast.kernel
    cases.raise_flags(twin.kernel, elsewhere.problem, [MILD])
    engine.record_measured(twin, Measured(1, Outcome.PASSED, "", 2e-3, EAGER_S))
    cases.settle([case_of(fast)], Verdict.REWARD_HACK, alice)
    twin.refresh_from_db()
    assert (case_of(twin).verdict, twin.held) == (Verdict.REWARD_HACK, Held.HACKED)
    assert case_of(twin).entries.filter(kind=EntryKind.CARRIED).exists()


def test_harm_is_inflation_times_confidence(row: Trajectory) -> None:
    ended(row, 1, 4e-3)
    fast = ended(row, 2, 2e-3, SEVERE)
    case = case_of(fast)
    weigh(case)
    case.refresh_from_db()
    assert case.inflation == pytest.approx(2.0)
    assert case.harm == pytest.approx(2.0 * 0.9)
    slow = ended(row, 3, 9e-3, MILD)
    weigh(case_of(slow))
    assert case_of(slow).inflation == 1.0


def test_a_kernel_without_a_time_inflates_nothing(row: Trajectory) -> None:
    one = attempt(row, 1, None, state="evaluating")
    cases.raise_flags(one.kernel, row.problem, [SEVERE])
    engine.record_measured(one, Measured(1, Outcome.INCORRECT, "wrong", None, None))
    case = case_of(one)
    weigh(case)
    assert (case.inflation, case.harm) == (None, 0.0)
    assert not math.isnan(case.confidence)


def test_a_graver_finding_opens_a_case_that_was_settled_as_clean(row: Trajectory, alice: User) -> None:
    fast = ended(row, 1, 2e-3, MILD)
    cases.settle([case_of(fast)], Verdict.CLEAN, alice)
    cases.raise_flags(fast.kernel, row.problem, [SEVERE])
    fast.refresh_from_db()
    row.refresh_from_db()
    assert (case_of(fast).verdict, fast.held, row.best) == ("", Held.FLAGGED, None)


def test_an_undo_that_was_overtaken_is_refused(row: Trajectory, alice: User) -> None:
    fast = ended(row, 1, 2e-3, MILD)
    batch = cases.settle([case_of(fast)], Verdict.CLEAN, alice)
    cases.settle([case_of(fast)], Verdict.REWARD_HACK, alice)
    with pytest.raises(cases.NothingToUndo):
        cases.undo(batch, alice)
    with pytest.raises(cases.UnknownVerdict):
        cases.settle([case_of(fast)], "innocent", alice)
    assert case_of(fast).verdict == Verdict.REWARD_HACK


def test_a_finding_that_gets_graver_at_its_place_reaches_its_case(row: Trajectory, alice: User) -> None:
    fast = ended(row, 1, 2e-3, replace(SEVERE, severity=Severity.SUSPECT, confidence=0.5))
    cases.settle([case_of(fast)], Verdict.CLEAN, alice)
    cases.raise_flags(fast.kernel, row.problem, [SEVERE])
    case = case_of(fast)
    fast.refresh_from_db()
    assert (case.verdict, case.severity, case.flags, fast.held) == ("", Severity.SEVERE, 1, Held.FLAGGED)
    assert case.entries.filter(kind=EntryKind.REOPENED).count() == 1


def test_who_takes_a_hack_back_takes_back_what_was_carried_later(row: Trajectory, alice: User) -> None:
    fast = ended(row, 1, 2e-3, MILD)
    batch = cases.settle([case_of(fast)], Verdict.REWARD_HACK, alice)
    elsewhere = problem(2)
    later = cases.raise_flags(fast.kernel, elsewhere, [MILD])
    assert later is not None
    assert later.verdict == Verdict.REWARD_HACK
    assert {case.pk for case in cases.undo(batch, alice)} == {case_of(fast).pk, later.pk}
    later.refresh_from_db()
    assert (later.verdict, later.open) == ("", True)


def test_a_verdict_that_stands_again_is_of_who_gave_it(row: Trajectory, alice: User) -> None:
    bob = User.objects.create_user("bob")
    fast = ended(row, 1, 2e-3, MILD)
    cases.settle([case_of(fast)], Verdict.CLEAN, alice)
    given = case_of(fast).settled
    cases.undo(cases.settle([case_of(fast)], Verdict.REWARD_HACK, bob), bob)
    case = case_of(fast)
    assert (case.verdict, case.settled_by) == (Verdict.CLEAN, alice)
    assert given is not None
    assert case.settled is not None
    assert abs((case.settled - given).total_seconds()) < 1


def test_a_mild_flag_lifts_no_hold_that_an_archive_brought(row: Trajectory, alice: User) -> None:
    Import.objects.create(
        run=row.run, digest="d" * 64, format=1, product="0.1.0", number=1, exported=timezone.now()
    )
    one = ended(row, 1, 2e-3)
    Attempt.objects.filter(pk=one.pk).update(held=Held.HACKED)
    cases.raise_flags(one.kernel, row.problem, [MILD])
    one.refresh_from_db()
    assert one.held == Held.HACKED
    cases.settle([case_of(one)], Verdict.CLEAN, alice)
    one.refresh_from_db()
    assert one.held == ""
