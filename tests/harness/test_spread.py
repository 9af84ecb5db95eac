"""What ten evaluations of one candidate are summed up to; the evaluations themselves belong to ``make bench``."""

from __future__ import annotations

import pytest

from kernels.harness.conditions import OTHERS_LIMIT
from tests.bench.spread import quiet, spread


def test_the_spread_is_of_the_medians_over_their_own_median() -> None:
    assert spread([1.0, 1.1, 0.9]) == pytest.approx(0.2)
    assert spread([1.0]) is None


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ([0.0, OTHERS_LIMIT], True),
        ([0.0, OTHERS_LIMIT + 0.01, None], False),
        ([0.0, None], None),
        ([], None),
    ],
)
def test_figures_of_a_busy_machine_are_called_that(shares: list[float | None], said: bool | None) -> None:
    assert quiet(shares) is said
