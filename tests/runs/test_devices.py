"""Devices by name: what a worker measures takes the place of what an archive said of a device of that name."""

from __future__ import annotations

import pytest

from kernels.models import Problem
from sol.models import ELSEWHERE, Bound, Device
from tests.web import rows


@pytest.fixture
def problem(db: None) -> Problem:
    """Bounded on this gallery's machine."""
    return rows.problem(1)


def measured(*, faster: float) -> Device:
    """This machine's peaks, so many times those of the gallery's."""
    record = rows.device().record
    rates = {name: rate * faster for name, rate in record["matrix_flops"].items()}
    return Device.objects.keep(rows.MACHINE, "cpu", {**record, "matrix_flops": rates})


def test_bounds_of_a_namesake_elsewhere_are_dropped_once_this_machine_is_measured(problem: Problem) -> None:
    Device.objects.update(kind=ELSEWHERE)
    assert problem.bounds.exists()
    row = measured(faster=2)
    assert (row.kind, Device.objects.count()) == ("cpu", 1)
    assert not Bound.objects.exists()


def test_those_of_the_very_same_peaks_stay(problem: Problem) -> None:
    Device.objects.update(kind=ELSEWHERE)
    count = problem.bounds.count()
    measured(faster=1)
    assert problem.bounds.count() == count > 0


def test_measured_again_a_machine_keeps_its_bounds_until_they_are_counted_anew(problem: Problem) -> None:
    count = problem.bounds.count()
    assert measured(faster=2).record["matrix_flops"]["f32"] == 4.8e11
    assert problem.bounds.count() == count > 0
