"""The figures of the steering benchmark, from rows that were not measured by anybody."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench.steering import TEN, summary


def row(steered: list[float], plain: list[float]) -> dict[str, Any]:
    return {
        name: {"curve": curve, "speedup": curve[-1]} for name, curve in (("steered", steered), ("plain", plain))
    }


def test_geomeans_at_equal_attempts_and_attempts_to_an_equal_geomean() -> None:
    told = summary([row([1, 4, 4, 4], [1, 1, 2, 2]), row([1, 1, 1, 4], [1, 1, 2, 2])], 4)
    assert told["speedup_over_eager"] == {"steered": pytest.approx(4.0), "plain": pytest.approx(2.0)}
    assert told["steered_over_plain"] == pytest.approx(2.0)
    assert told["steered_reaches_plains_end_after"] == 2
    assert told["plain_reaches_steereds_end_after"] is None
    assert told["better_with_steering"] == 2


def test_there_are_ten_problems_and_each_is_ours() -> None:
    from kernels.problems.files import find_problems, own_directory

    assert len(set(TEN)) == 10
    assert set(TEN) <= {found.path.stem for found in find_problems(own_directory())}
