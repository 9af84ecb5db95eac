"""The whole gap: the product holds whatever is known, a worked call from bound to time, the words."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sol.gap import break_down, gap_words
from sol.gap.assessment import assess
from sol.gap.record import Factor, FactorName, Gap, ImpossibleGap
from sol.gap.standing import TimeStanding
from sol.gap.words import remainder_words
from tests.sol.gap.cases import CARD, HOST, activity, bounds, clocks, evidence, kernel, profile, stages

TIMES = st.floats(1e-6, 1.0)
SHARES = st.floats(1.0, 100.0)


@given(
    time_s=TIMES,
    compute_s=TIMES,
    memory_s=TIMES,
    clock=st.none() | st.floats(100, 3000),
    busy=st.none() | st.tuples(TIMES, TIMES),
    launches=st.lists(st.tuples(TIMES, st.integers(1, 5000), SHARES, SHARES, st.floats(0, 1e12)), max_size=3),
    on_card=st.booleans(),
)
def test_known_factors_times_the_remainder_are_the_gap(
    time_s: float, compute_s: float, memory_s: float, clock: float | None, busy: tuple[float, float] | None,
    launches: list[tuple[float, int, float, float, float]], on_card: bool,
) -> None:  # fmt: skip
    seen = profile(
        *(kernel(took, count, compute=c, dram=d, read=moved, written=0.0) for took, count, c, d, moved in launches)
    ) if launches else None  # fmt: skip
    found = break_down(
        evidence(
            time_s,
            device=CARD if on_card else HOST,
            of=bounds(compute_s, memory_s),
            conditions=clocks(clock, clock) if clock else None,
            activity=activity(*busy) if busy and on_card else None,
            stages=stages(a=busy[0]) if busy else (),
            profile=seen,
        )
    )
    assert found is not None
    assert found.gap == pytest.approx(time_s / max(compute_s, memory_s))
    product = math.prod(factor.value for factor in found.known if factor.value is not None) * found.remainder
    assert product == pytest.approx(found.gap, rel=1e-12)
    assert {factor.name for factor in found.factors} == set(FactorName)
    assert all(factor.value is None or factor.seen_in for factor in found.factors)
    assert all(factor.value >= 1 for factor in found.known if factor.value and factor.name is not FactorName.CLOCK)


def test_a_call_whose_every_part_is_known_leaves_nothing() -> None:
    """1 ms at 1.8 GHz; at 1.5 GHz 1.2 ms; three quarters of the card busy 1.6 ms; at 80 % of the roof 2 ms in kernels;
    0.5 ms outside of them make 2.5 ms."""
    seen = profile(kernel(2e-3, 75, compute=60.0, read=8e8, written=0.0))
    found = break_down(evidence(2.5e-3, conditions=clocks(1500, 1500), activity=activity(2e-3, 2e-3), profile=seen))
    assert found is not None
    values = {factor.name: factor.value for factor in found.factors}
    assert values == {
        FactorName.CLOCK: pytest.approx(1.2),
        FactorName.LAUNCHES: pytest.approx(1.25),
        FactorName.IDLE: pytest.approx(4 / 3),
        FactorName.TRAFFIC: 1.0,
        FactorName.INSIDE: pytest.approx(1.25),
    }
    assert found.remainder == pytest.approx(1.0)


def test_nothing_known_is_all_remainder() -> None:
    found = break_down(evidence(3e-3))
    assert found is not None
    assert not found.known
    assert found.remainder == pytest.approx(3.0)
    assert len(found.unknown) == len(FactorName)


def test_without_a_time_or_a_bound_there_is_no_gap() -> None:
    assert break_down(None) is None
    with pytest.raises(ImpossibleGap):
        Gap.of(0.0, ())


def test_the_words_hold_every_figure_and_every_reason() -> None:
    found = break_down(evidence(2.4e-3, conditions=clocks(1500, 1500), activity=activity(2e-3, 2e-3)))
    text = gap_words(found)
    assert text.startswith("The measured time is 2.4× the steering bound, made of:\n")
    assert "- Clock under load: 1.2× (multiprocessor clock 1,500 MHz under load;" in text
    assert "- Outside of kernels: 1.2× (2 ms of 2.4 ms in 2 kernels" in text
    assert "- Not told apart: 1.67× (holds what is not known: units without work, " in text
    assert "- Units without work: not known: the grids are not known: no profile was taken" in text
    assert gap_words(None).startswith("What the gap is made of is not known")


def test_a_remainder_below_one_is_said_to_overlap() -> None:
    found = Gap.of(1.5, [Factor(FactorName.IDLE, 2.0, "words", "profile")])
    assert found.remainder == 0.75
    assert remainder_words(found).startswith("below 1")


class TestAssessment:
    def test_a_time_above_the_bound_has_a_score_and_factors(self) -> None:
        found = assess(evidence(2e-3, eager_s=3e-3))
        assert found is not None
        assert (found.standing, found.words) == (TimeStanding.NORMAL, "")
        assert found.score == pytest.approx(1 / (1 + 1e-3 / 2e-3))
        assert found.breakdown is not None

    def test_below_the_bound_there_is_a_gap_and_no_score(self) -> None:
        found = assess(evidence(8e-4, eager_s=3e-3))
        assert found is not None
        assert (found.standing, found.score) == (TimeStanding.BELOW_BOUND, None)
        assert found.score_withheld == "below the bound: counts, without a score"
        assert found.gap == pytest.approx(0.8)

    def test_below_the_floor_there_is_neither(self) -> None:
        found = assess(evidence(4.9e-4, eager_s=3e-3))
        assert found is not None
        assert found.standing is TimeStanding.BELOW_FLOOR
        assert (found.score, found.gap, found.factors, found.breakdown) == (None, None, (), None)
        assert "under review, not counted" in found.score_withheld

    def test_a_baseline_at_the_bound_or_none_leaves_no_score(self) -> None:
        headroom, none = assess(evidence(2e-3, eager_s=1e-3)), assess(evidence(2e-3))
        assert headroom is not None
        assert none is not None
        assert "no headroom" in headroom.score_withheld
        assert "not measured" in none.score_withheld

    def test_without_evidence_there_is_none(self) -> None:
        assert assess(None) is None
        one = evidence(2e-3)
        assert replace(one, bounds=bounds(floor_s=0.0)).bounds.floor_s == 0.0
