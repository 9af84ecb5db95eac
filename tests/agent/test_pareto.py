"""A grid of stop policies says what each policy alone says, and its front is the best of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.budget import Budget
from agent.pareto import GRID, NAMED, Outlook, Policy, Track, front, judge, outlook_of, unit_of
from agent.replay import replay
from agent.steps import Answered, Candidate, Event, History, Submitted, Usage
from tests.agent.driving import failed, passed, started

TIMES = st.lists(st.one_of(st.none(), st.floats(1e-3, 20e-3)), min_size=1, max_size=30)


def history(*times: float | None, tokens: int | None = None) -> History:
    """Attempts with these times; each one's answer took so many tokens, a fifth of them written."""
    events: list[Event] = [started()]
    for number, time_s in enumerate(times, start=1):
        if tokens is not None:
            usage = Usage(1, tokens - tokens // 5, tokens // 5, None, 1.0)
            events.append(Answered(number, (), usage=usage))
        result = failed(number) if time_s is None else passed(number, time_s)
        events += [Submitted(number, Candidate(f"text {number}", None, "", "")), result]
    return tuple(events)


@given(TIMES)
def test_the_grid_stops_where_each_policy_alone_would(times: list[float | None]) -> None:
    events = history(*times)
    alone = replay(events, [Budget(len(times), policy.epsilon, policy.patience) for policy in GRID])
    for outlook, judged in zip(judge([Track.of(events)]), alone, strict=True):
        assert outlook.paid == judged.stopped_at
        assert outlook.retention == pytest.approx(judged.retention)
        assert outlook.saving == pytest.approx(judged.saving)
        if judged.retention is not None:
            assert outlook.efficiency_gain == pytest.approx(judged.efficiency_gain)


def test_the_named_points_are_on_the_grid() -> None:
    assert {(policy.epsilon, policy.patience) for policy in NAMED} == {(0.25, 16), (2.5, 12)}
    assert set(NAMED) <= set(GRID)
    assert len(GRID) >= 200
    assert len(set(GRID)) == len(GRID)


def test_the_originals_numbers_come_out_of_its_formula() -> None:
    outlook = Outlook(NAMED[0], "tokens", (), 57, 100, 0.96)
    assert outlook.saving == pytest.approx(0.43)
    assert outlook.efficiency_gain == pytest.approx(1.68, abs=0.005)


def test_problems_are_summed_up_by_geomean_and_by_what_was_paid() -> None:
    tracks = [Track.of(history(8e-3, 4e-3, 2e-3, 2e-3)), Track.of(history(8e-3, 8e-3, 8e-3, 8e-3))]
    (outlook,) = judge(tracks, [Policy(1.5, None)])
    assert outlook.stops == (3, 4)
    assert (outlook.paid, outlook.whole, outlook.retention) == (7, 8, 1.0)
    (early,) = judge(tracks, [Policy(None, 2)])
    assert early.stops == (4, 3)
    (near,) = judge(tracks, [Policy(3.0, None)])
    assert near.stops == (2, 4)
    assert near.retention == pytest.approx(0.5**0.5)


def test_a_problem_without_a_passing_kernel_counts_as_its_baseline() -> None:
    tracks = [Track.of(history(8e-3, 4e-3, 2e-3)), Track.of(history(None, None, None))]
    (outlook,) = judge(tracks, [Policy(3.0, None)])
    assert outlook.retention == pytest.approx(0.5**0.5)
    (nothing,) = judge(tracks[1:], [Policy(3.0, None)])
    assert (nothing.retention, nothing.efficiency_gain) == (None, None)


def test_tokens_are_the_cost_where_every_answer_told_them() -> None:
    told, silent = Track.of(history(8e-3, 4e-3, 2e-3, tokens=100)), Track.of(history(8e-3, 2e-3))
    assert told.tokens == (0, 100, 200, 300)
    assert unit_of([told]) == "tokens"
    assert unit_of([told, silent]) == "attempts"
    (outlook,) = judge([told], [Policy(3.0, None)])
    assert (outlook.unit, outlook.paid, outlook.whole) == ("tokens", 200, 300)


def test_an_answer_without_its_tokens_leaves_attempts() -> None:
    usage = Usage(1, None, 5, None, 1.0)
    events = (*history(8e-3, tokens=100), Answered(2, (), usage=usage))
    assert Track.of(events).tokens is None


def test_a_result_written_again_keeps_its_place() -> None:
    events = (*history(8e-3, 4e-3, tokens=100), passed(1, 7e-3))
    track = Track.of(events)
    assert track.tokens == (0, 100, 200)
    assert [standing.best_s for standing in track.passed] == [None, 7e-3, 4e-3]


def test_the_front_is_what_no_other_beats() -> None:
    def outlook(epsilon: float, paid: int, kept: float | None) -> Outlook:
        return Outlook(Policy(epsilon, None), "attempts", (), paid, 100, kept)

    seen = [outlook(0.1, 90, 1.0), outlook(0.2, 60, 0.9), outlook(0.3, 70, 0.9), outlook(0.4, 20, 0.5),
            outlook(0.5, 30, 0.4), outlook(0.6, 10, None)]  # fmt: skip
    assert front(seen) == {Policy(0.1, None), Policy(0.2, None), Policy(0.4, None)}
    assert outlook_of(seen, Policy(0.2, None)) == seen[1]
    assert outlook_of(seen, Policy(9.0, None)) is None
