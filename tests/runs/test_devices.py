"""Machines of one name: this installation's and each archive's have peaks and bounds of their own."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.utils import timezone

from kernels.models import Problem
from runs.machines import machine_of
from runs.models import Import, Run, Trajectory
from sol.models import Bound, Device
from tests.web import rows


@pytest.fixture
def problem(db: None) -> Problem:
    """Bounded on this gallery's machine."""
    return rows.problem(1)


@pytest.fixture
def alice(db: None) -> User:
    return rows.person("alice")


def record(*, faster: float) -> dict[str, Any]:
    """The peaks of the gallery's machine, so many times as high."""
    found: dict[str, Any] = rows.device().record
    return {**found, "matrix_flops": {name: rate * faster for name, rate in found["matrix_flops"].items()}}


def imported(owner: User, digest: str) -> Trajectory:
    """A run on the first problem that came with the archive of this digest."""
    run = rows.run(owner, digest)
    on = rows.trajectory(run, rows.problems(1)[0])
    assert on.device == rows.MACHINE
    Import.objects.create(
        run=run, digest=digest, format=1, product="p", number=7, owner="z", exported=timezone.now()
    )
    return on


def test_measured_again_a_machine_keeps_its_bounds_until_they_are_counted_anew(problem: Problem) -> None:
    count = problem.bounds.count()
    again = Device.objects.keep(rows.MACHINE, "cpu", record(faster=2))
    assert again.record["matrix_flops"]["f32"] == 4.8e11
    assert (problem.bounds.count(), Device.objects.count()) == (count, 1)
    assert count > 0


def test_a_run_s_machine_is_that_of_its_own_place(problem: Problem, alice: User) -> None:
    here = rows.trajectory(rows.run(alice, "here"), problem)
    slow, fast, unknown = (imported(alice, digest) for digest in ("slow", "fast", "unknown"))
    for digest, times in (("slow", 0.5), ("fast", 4.0)):
        Device.objects.create(name=rows.MACHINE, kind="cpu", record=record(faster=times), elsewhere=digest)
    peaks = [one and one.matrix_flops["f32"] for one in map(machine_of, (here, slow, fast, unknown))]
    assert peaks == [2.4e11, 1.2e11, 9.6e11, None]


def test_measuring_this_machine_leaves_its_namesakes_of_archives_alone(problem: Problem, alice: User) -> None:
    there = Device.objects.create(name=rows.MACHINE, kind="cpu", record=record(faster=4), elsewhere="fast")
    Bound.objects.bulk_create(_copied(problem, there))
    Device.objects.keep(rows.MACHINE, "cpu", record(faster=2))
    there.refresh_from_db()
    assert there.record["matrix_flops"]["f32"] == 9.6e11
    assert there.bounds.exists()
    assert Device.objects.here().get().record["matrix_flops"]["f32"] == 4.8e11


def test_what_archives_shared_before_becomes_each_one_s_own(problem: Problem, alice: User) -> None:
    """The migration: a device of archives was one row of its name, whichever of them brought it."""
    first, second = imported(alice, "first"), imported(alice, "second")
    gone = imported(alice, "gone")
    Device.objects.update(kind="elsewhere")
    Run.objects.filter(pk=gone.run_id).delete()
    before = sorted(problem.bounds.values_list("size", "policy", "steering_s"))
    import_module("runs.migrations.0026_devices_of_archives").give_to_archives(apps, None)
    assert sorted(Device.objects.values_list("elsewhere", "kind")) == [("first", "cpu"), ("second", "cpu")]
    for device in Device.objects.all():
        assert sorted(device.bounds.filter(problem=problem).values_list("size", "policy", "steering_s")) == before
    assert machine_of(first) == machine_of(second)
    assert machine_of(first) is not None


def _copied(problem: Problem, to: Device) -> list[Bound]:
    found = list(Bound.objects.filter(problem=problem))
    for bound in found:
        bound.pk, bound.device = None, to
    return found
