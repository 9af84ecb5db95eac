"""The one rule by which a time counts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sol.gap.standing import SUSPECT_BELOW, TimeStanding, counted, standing_of


@pytest.mark.parametrize(
    ("time_s", "expected"),
    [
        (3.0, TimeStanding.NORMAL),
        (2.0, TimeStanding.NORMAL),
        (1.99, TimeStanding.BELOW_BOUND),
        (1.0, TimeStanding.BELOW_BOUND),
        (0.999, TimeStanding.BELOW_FLOOR),
        (0.9, TimeStanding.BELOW_FLOOR),
        (0.899, TimeStanding.SUSPECT),
        (0.0, TimeStanding.NOT_MEASURED),
        (math.nan, TimeStanding.NOT_MEASURED),
        (None, TimeStanding.NOT_MEASURED),
    ],
)
def test_a_time_beside_a_bound_of_two_and_a_floor_of_one(time_s: float | None, expected: TimeStanding) -> None:
    assert standing_of(time_s, 1.0, 2.0) is expected


@pytest.mark.parametrize("standing", list(TimeStanding))
def test_what_is_held_does_not_count_and_the_rest_needs_a_time(standing: TimeStanding) -> None:
    assert standing.counts == (not standing.held and standing is not TimeStanding.NOT_MEASURED)
    assert ("under review" in standing.sentence) == standing.held


def test_without_bounds_a_time_counts() -> None:
    assert standing_of(1e-9, None, None) is TimeStanding.UNBOUNDED
    assert standing_of(1e-9, 0.0, 0.0) is TimeStanding.UNBOUNDED
    assert counted(1e-9, None) == 1e-9


@given(time_s=st.floats(1e-9, 10), floor_s=st.floats(0, 10), sol_s=st.none() | st.floats(0, 10))
def test_a_time_counts_exactly_where_it_is_not_below_the_floor(
    time_s: float, floor_s: float, sol_s: float | None
) -> None:
    standing = standing_of(time_s, floor_s, sol_s)
    assert standing.counts == (time_s >= floor_s)
    assert (counted(time_s, floor_s) is not None) == standing.counts
    assert (standing is TimeStanding.SUSPECT) == (time_s < floor_s * (1 - SUSPECT_BELOW))
