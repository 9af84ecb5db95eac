from __future__ import annotations

import pytest

from agent.errors import HistoryNotStarted
from agent.history import State, standings
from agent.steps import Answered, Ask, Asked, Candidate, Event, Measured, Submitted
from kernels.harness.evaluation import Outcome
from tests.agent.driving import failed, passed, settings, started


def attempts(*results: Measured) -> tuple[Event, ...]:
    events: list[Event] = [started()]
    for result in results:
        events += [Submitted(result.number, Candidate(f"text {result.number}", None, "", "")), result]
    return tuple(events)


def state(*results: Measured) -> State:
    return State.of(settings(), attempts(*results))


def test_it_refuses_a_history_that_does_not_begin_with_started() -> None:
    with pytest.raises(HistoryNotStarted, match="begins with nothing"):
        State.of(settings(), ())
    with pytest.raises(HistoryNotStarted, match="'measured'"):
        State.of(settings(), (passed(1, 1.0),))


def test_the_best_is_the_fastest_that_passed_and_is_not_flagged() -> None:
    seen = state(passed(1, 5e-3), passed(2, 1e-3, flagged=True), failed(3), passed(4, 4e-3), passed(5, 4e-3))
    assert seen.best is not None
    assert (seen.best.number, seen.standing.best_s, seen.standing.gap) == (4, 4e-3, 4.0)


def test_there_is_no_best_and_no_gap_before_anything_passed() -> None:
    seen = state(failed(1), failed(2, Outcome.NOT_MEASURED))
    assert seen.best is None
    assert seen.standing.gap is None
    assert not seen.standing.ahead
    assert seen.standing.since_improvement == 2


def test_a_gap_needs_a_bound() -> None:
    history = (started(sol_s=0.0), *attempts(passed(1, 1e-3))[1:])
    assert State.of(settings(), history).standing.gap is None


def test_the_baseline_is_the_median_of_those_measured() -> None:
    seen = state(passed(1, 5e-3, 4e-3), passed(2, 4.5e-3, 6e-3), failed(3), passed(4, 4.6e-3, 40e-3))
    assert seen.standing.baseline_s == 6e-3
    assert seen.standing.ahead


def test_half_a_percent_is_no_improvement() -> None:
    assert state(passed(1, 1.0), passed(2, 0.9951)).standing.since_improvement == 1
    assert state(passed(1, 1.0), passed(2, 0.9949)).standing.since_improvement == 0


def test_a_flagged_attempt_is_no_improvement() -> None:
    assert state(passed(1, 1.0), passed(2, 0.1, flagged=True)).standing.since_improvement == 1


def test_a_later_result_of_the_same_attempt_stands() -> None:
    history = (*attempts(passed(1, 1.0), passed(2, 0.5, flagged=True)), passed(2, 0.5))
    assert State.of(settings(), history).standing.best == 2


def test_answered_candidates_wait_in_order_and_repeats_are_dropped() -> None:
    candidates = tuple(Candidate(text, 1, "", "") for text in ("a", "text 1", "b", "a", "c"))
    ask = Ask(1, "expand", 1, 5)
    history = (*attempts(passed(1, 1.0)), Asked(ask), Answered(1, candidates))
    assert [candidate.text for candidate in State.of(settings(), history).pending] == ["a", "b", "c"]
    history = (*history, Submitted(2, candidates[0]), failed(2))
    seen = State.of(settings(), history)
    assert [candidate.text for candidate in seen.pending] == ["b", "c"]
    assert (seen.next_number, seen.next_ask, seen.attempts_left) == (3, 2, 10)


def test_it_names_what_is_under_way() -> None:
    history = attempts(passed(1, 1.0))
    assert State.of(settings(), history).open_step is None
    assert State.of(settings(), (*history, Asked(Ask(1, "expand", 1, 1)))).open_step == "ask 1"
    assert State.of(settings(), (*history, Submitted(2, Candidate("a", 1, "", "")))).open_step == "attempt 2"


def test_standings_tell_every_point_of_the_history() -> None:
    passed_through = standings(attempts(failed(1), passed(2, 5e-3), passed(3, 2e-3)))
    assert [(point.attempts, point.best, point.since_improvement) for point in passed_through] == [
        (0, None, 0),
        (1, None, 1),
        (2, 2, 0),
        (3, 3, 0),
    ]


def test_a_time_taken_on_a_disturbed_machine_is_scaled_for_comparison_only() -> None:
    seen = state(passed(1, 8e-3, 10e-3), passed(2, 12e-3, 20e-3), passed(3, 7e-3, 10.5e-3), failed(4))
    assert seen.standing.baseline_s == 10.5e-3
    assert [seen.steady_s(attempt) for attempt in seen.attempts] == [8e-3, pytest.approx(6.3e-3), 7e-3, None]
    assert seen.best is not None
    assert seen.best.number == 3


def test_without_a_baseline_times_are_compared_as_they_are() -> None:
    assert [each.steady_s(None) for each in state(passed(1, 8e-3, None), passed(2, 9e-3, 1.0)).attempts] == [
        8e-3,
        9e-3,
    ]
