"""Gap and the guarded score."""

from __future__ import annotations

import math

import pytest

from kernels.targets import Policy
from sol.bounds import Bounds, SolScoreWithheld, Withheld, gap, sol_score


def made(steering_s: float, floor_s: float) -> Bounds:
    return Bounds("d", Policy.TF32, steering_s, 0.0, steering_s, floor_s, "compute", 1, 1, 1.0, 1.0, (), ())


def test_the_gap_is_a_multiple_of_the_steering_bound() -> None:
    assert gap(3.0, made(2.0, 1.0)) == 1.5


def test_the_gap_to_a_bound_of_zero_is_infinite() -> None:
    assert gap(3.0, made(0.0, 0.0)) == math.inf


@pytest.mark.parametrize(("time_s", "score"), [(4.0, 0.5), (1.0, 1.0), (2.0, 0.75), (7.0, 1 / 3)])
def test_the_score_is_half_at_the_baseline_and_one_at_the_bound(time_s: float, score: float) -> None:
    assert sol_score(time_s, 4.0, 1.0) == pytest.approx(score)


@pytest.mark.parametrize("time_s", [0.99, 2 * 3.0 - 4.0, 0.5])
def test_below_the_bound_there_is_no_number(time_s: float) -> None:
    # 2·T_SOL − T_b is where the formula divides by zero.
    assert sol_score(time_s, 4.0, 3.0) == SolScoreWithheld(Withheld.BELOW_BOUND)


@pytest.mark.parametrize("baseline_s", [1.0, 0.5])
def test_a_baseline_at_the_bound_leaves_no_headroom(baseline_s: float) -> None:
    found = sol_score(2.0, baseline_s, 1.0)
    assert isinstance(found, SolScoreWithheld)
    assert found.reason is Withheld.NO_HEADROOM
    assert "no headroom" in found.sentence


@pytest.mark.parametrize("time_s", [math.nan, math.inf, 0.0, -1.0])
def test_a_time_that_is_none_gives_no_score(time_s: float) -> None:
    assert sol_score(time_s, 2.0, 1.0) == SolScoreWithheld(Withheld.NOT_MEASURED)
