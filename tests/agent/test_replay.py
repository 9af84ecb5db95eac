from __future__ import annotations

import pytest

from agent.budget import Budget
from agent.replay import efficiency_gain, replay
from agent.steps import Candidate, Event, FinishReason, Submitted
from tests.agent.driving import failed, passed, started


def history(*times: float | None) -> tuple[Event, ...]:
    events: list[Event] = [started()]
    for number, time_s in enumerate(times, start=1):
        result = failed(number) if time_s is None else passed(number, time_s)
        events += [Submitted(number, Candidate(f"text {number}", None, "", "")), result]
    return tuple(events)


def test_it_tells_where_another_policy_would_have_stopped_and_what_that_costs() -> None:
    finished = history(12e-3, 4e-3, None, 4e-3, 4e-3, 3e-3, 2e-3)
    (judged,) = replay(finished, [Budget(7, 0.25, 3)])
    assert (judged.stopped_at, judged.reason) == (5, FinishReason.NO_PROGRESS)
    assert (judged.best_s, judged.final_best_s) == (4e-3, 2e-3)
    assert judged.retention == 0.5
    assert judged.attempts_saved == 2
    assert judged.saving == pytest.approx(2 / 7)
    assert judged.efficiency_gain == pytest.approx(0.7)


def test_the_same_policy_gives_the_same_end() -> None:
    (judged,) = replay(history(12e-3, 4e-3, 2e-3), [Budget(3, None, None)])
    assert (judged.stopped_at, judged.reason, judged.retention) == (3, FinishReason.ATTEMPTS_SPENT, 1.0)


def test_a_policy_that_would_go_on_is_judged_up_to_the_last_attempt() -> None:
    (judged,) = replay(history(12e-3, 4e-3), [Budget(40, None, None)])
    assert (judged.stopped_at, judged.reason, judged.attempts_saved) == (2, None, 0)


def test_retention_is_nothing_where_the_stop_came_before_anything_passed() -> None:
    early, late = replay(history(None, None, 4e-3), [Budget(2, None, None), Budget(3, None, None)])
    assert (early.retention, late.retention) == (0.0, 1.0)


def test_retention_is_unknown_where_nothing_ever_passed() -> None:
    (judged,) = replay(history(None, None), [Budget(1, None, None)])
    assert judged.retention is None
    assert judged.efficiency_gain is None


def test_the_named_point_of_the_formula() -> None:
    assert efficiency_gain(0.96, 0.43) == pytest.approx(1.68, abs=0.005)


def test_a_policy_that_pays_nothing_has_no_efficiency() -> None:
    with pytest.raises(ValueError, match="saving"):
        efficiency_gain(1.0, 1.0)
