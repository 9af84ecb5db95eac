"""An archive holds the run, the whole run and nothing but: what is written is what is read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from kernels.models import Problem
from kernels.records import to_json
from runs.api_models import Scope
from runs.archive.errors import AlreadyHere, RunNotEnded
from runs.archive.kinds import KINDS
from runs.archive.restoring import import_archive
from runs.archive.writing import archive
from runs.deleting import delete_run
from runs.headroom import here, problem_rows
from runs.machines import machine_of
from runs.models import Attempt, Contender, Import, Lesson, LessonUse, Raised, Run
from runs.queries import last_of_shape
from runs.states import RunState
from runs.tokens import make
from sol.models import Bound, Case, Device
from tests.archive.worlds import SECRET, call, elsewhere, full_run, members, plain_run, written
from tests.web import histories


def test_a_run_comes_back_as_the_same_bytes(alice: User, bob: User, tmp_path: Path) -> None:
    before = plain_run(alice)
    row, other, _ = before.trajectories.order_by("pk")
    LessonUse.objects.create(lesson=histories.lesson(row), trajectory=other)
    call(row, 1)
    first = members(written(before, tmp_path / "a.zip"))
    elsewhere()
    run = import_archive(tmp_path / "a.zip", bob)
    second = members(written(run, tmp_path / "b.zip"))
    assert first.keys() == second.keys()
    assert {name for name in first if first[name] != second[name]} == {"manifest.json"}
    one, two = (json.loads(each["manifest.json"]) for each in (first, second))
    assert {key for key in one if one[key] != two[key]} == {"created", "seal"}


def test_the_same_run_gives_the_same_bytes_but_for_the_time(alice: User, bob: User, tmp_path: Path) -> None:
    run = full_run(alice, bob)
    one, two = (members(written(run, tmp_path / name)) for name in ("a.zip", "b.zip"))
    assert {name for name in one if one[name] != two[name]} == {"manifest.json"}
    assert json.loads(one["manifest.json"])["digest"] == json.loads(two["manifest.json"])["digest"]


def test_every_kind_of_record_is_written(alice: User, bob: User, tmp_path: Path) -> None:
    counts = json.loads(members(written(full_run(alice, bob), tmp_path / "a.zip"))["manifest.json"])["counts"]
    assert set(counts) == {kind.name for kind in KINDS}
    never = {"profiles", "submissions", "looks"}
    assert {name for name, count in counts.items() if not count} <= never


def test_sources_are_plain_files(alice: User, tmp_path: Path) -> None:
    run = plain_run(alice)
    held = members(written(run, tmp_path / "a.zip"))
    kernel = Attempt.objects.filter(trajectory__run=run).select_related("kernel")[0].kernel
    assert held[f"kernels/{kernel.digest}.mu"].decode() == kernel.source
    problem = Problem.objects.get(slug="own/1")
    assert held[f"problems/own_1-{problem.digest[:8]}.py"].decode() == problem.source


def test_nothing_secret_is_in_it(alice: User, bob: User, settings: object, tmp_path: Path) -> None:
    alice.email, bob.email = "alice@example.org", "bob@example.org"
    alice.set_password(SECRET)
    alice.save()
    bob.save()
    run = full_run(alice, bob)
    token, secret = make(alice, "laptop", Scope.SUBMIT, 30)
    held = b"\n".join(members(written(run, tmp_path / "a.zip")).values())
    key = settings.SECRET_KEY  # type: ignore[attr-defined]
    for one in (
        secret,
        token.digest,
        token.begins,
        alice.password,
        bob.password,
        SECRET,
        alice.email,
        bob.email,
        key,
    ):
        assert one.encode() not in held
    assert b"alice" in held


def test_only_a_run_that_has_ended_is_written(alice: User, tmp_path: Path) -> None:
    run = plain_run(alice)
    run.state = RunState.RUNNING
    with pytest.raises(RunNotEnded):
        archive(run)
    run.save()
    with pytest.raises(RunNotEnded):
        written(run, tmp_path / "a.zip")
    assert list(tmp_path.iterdir()) == []


def test_who_ran_it_is_a_name_and_who_imports_it_owns_it(alice: User, bob: User, tmp_path: Path) -> None:
    written(plain_run(alice), tmp_path / "a.zip")
    elsewhere()
    run = Run.objects.get(pk=import_archive(tmp_path / "a.zip", bob).pk)
    assert run.owner == bob
    origin = run.imported
    assert origin is not None
    assert (origin.owner, origin.place, origin.imported_by) == ("alice", "lab-3", bob)
    assert origin.hardware == ["Xeon Platinum 8481C, 2 cores"]


def test_times_of_day_stay_those_of_the_origin(alice: User, bob: User, tmp_path: Path) -> None:
    before = plain_run(alice)
    written(before, tmp_path / "a.zip")
    elsewhere()
    run = Run.objects.get(pk=import_archive(tmp_path / "a.zip", bob).pk)
    assert (run.created, run.finished) == (before.created, before.finished)


def test_the_same_archive_is_taken_once(alice: User, bob: User, tmp_path: Path) -> None:
    written(plain_run(alice), tmp_path / "a.zip")
    elsewhere()
    run = import_archive(tmp_path / "a.zip", bob)
    with pytest.raises(AlreadyHere, match=str(run)):
        import_archive(tmp_path / "a.zip", bob)
    assert Run.objects.count() == Import.objects.count() == 1


def test_kernels_and_problems_that_are_here_are_shared(alice: User, bob: User, tmp_path: Path) -> None:
    before = plain_run(alice)
    written(before, tmp_path / "a.zip")
    kernels = set(Attempt.objects.values_list("kernel", flat=True))
    problems = set(Problem.objects.values_list("pk", flat=True))
    run = import_archive(tmp_path / "a.zip", bob)
    assert run.pk != before.pk
    assert set(Attempt.objects.filter(trajectory__run=run).values_list("kernel", flat=True)) == kernels
    assert set(Problem.objects.values_list("pk", flat=True)) == problems


def test_a_problem_of_the_same_name_with_another_text_gets_a_name_of_its_own(
    alice: User, bob: User, tmp_path: Path
) -> None:
    written(plain_run(alice), tmp_path / "a.zip")
    other = Problem.objects.get(slug="own/1")
    there = other.digest
    Problem.objects.filter(pk=other.pk).update(source="another", digest="0" * 64)
    run = import_archive(tmp_path / "a.zip", bob)
    slugs = set(run.trajectories.values_list("problem__slug", flat=True))
    assert slugs == {f"own/1-{there[:6]}", "own/2", "own/3"}
    other.refresh_from_db()
    assert other.source == "another"


def test_a_device_from_elsewhere_bounds_nothing_here(alice: User, bob: User, tmp_path: Path) -> None:
    written(plain_run(alice), tmp_path / "a.zip")
    elsewhere()
    import_archive(tmp_path / "a.zip", bob)
    digest = Import.objects.get().digest
    assert list(Device.objects.values_list("kind", "elsewhere")) == [("cpu", digest)]
    assert not Device.objects.here().exists()
    assert {row.device.elsewhere for row in Bound.objects.all()} == {digest}


def test_an_archive_s_machine_keeps_its_own_peaks_beside_a_namesake_here(
    alice: User, bob: User, tmp_path: Path
) -> None:
    before = plain_run(alice)
    written(before, tmp_path / "a.zip")
    there = machine_of(before.trajectories.all()[0])
    assert there is not None
    bounds = Bound.objects.count()
    Device.objects.keep(there.name, there.kind, to_json(replace(there, copy_bytes_s=there.copy_bytes_s * 2)))
    run = import_archive(tmp_path / "a.zip", bob)
    assert machine_of(run.trajectories.all()[0]) == there
    ours = machine_of(before.trajectories.all()[0])
    assert ours is not None
    assert ours.copy_bytes_s == there.copy_bytes_s * 2
    assert Bound.objects.count() == bounds * 2
    written(run, tmp_path / "b.zip")
    assert members(tmp_path / "b.zip")["devices.jsonl"] == members(tmp_path / "a.zip")["devices.jsonl"]
    delete_run(run)
    assert (Device.objects.count(), Bound.objects.count()) == (1, bounds)


def test_what_was_measured_elsewhere_is_no_figure_of_this_place(alice: User, bob: User, tmp_path: Path) -> None:
    """Not on the launch page, not in a forecast; and among kernels under its own device's name alone."""
    written(plain_run(alice), tmp_path / "a.zip")
    elsewhere()
    run = import_archive(tmp_path / "a.zip", bob)
    assert here() is None
    name = run.trajectories.all()[0].device
    for mine in ("another CPU", name):
        device = Device.objects.create(name=mine, kind="cpu", record=Device.objects.all()[0].record)
        assert {row.eager_s for row in problem_rows(device=device)} == {None}
    assert last_of_shape(run.target, run.controller, run.attempts, 3) is None
    assert set(Contender.objects.values_list("device", flat=True)) == {name}


def test_lessons_of_elsewhere_are_given_to_nobody(alice: User, bob: User, tmp_path: Path) -> None:
    written(full_run(alice, bob), tmp_path / "a.zip")
    elsewhere()
    import_archive(tmp_path / "a.zip", bob)
    assert Lesson.objects.get().retired is not None
    assert Raised.objects.get().elsewhere


def test_an_attempt_keeps_its_parent_and_its_problem_its_best(alice: User, bob: User, tmp_path: Path) -> None:
    before = plain_run(alice)
    row = before.trajectories.order_by("pk")[0]
    Attempt.objects.filter(trajectory=row, number=2).update(parent=row.attempts.get(number=1))
    best = row.best.number if row.best else None
    written(before, tmp_path / "a.zip")
    elsewhere()
    run = import_archive(tmp_path / "a.zip", bob)
    again = run.trajectories.order_by("pk")[0]
    parent = again.attempts.get(number=2).parent
    assert parent is not None
    assert (parent.number, parent.trajectory_id) == (1, again.pk)
    assert again.best is not None
    assert again.best.number == best
    assert Case.objects.count() == 0
