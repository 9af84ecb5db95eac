"""Deleting a run: who may, when, and what is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.models import Build, Evaluation, Kernel, Problem, Profile
from runs.archive.restoring import import_archive
from runs.deleting import delete_run
from runs.models import Attempt, Contender, Event, Import, Lesson, Run
from runs.states import RunState
from sol.models import Case
from tests.archive.worlds import elsewhere, full_run, plain_run, written
from tests.web import gallery
from tests.web.reading import text_of


def test_what_is_its_own_goes_and_what_others_rest_on_stays(alice: User, bob: User) -> None:
    run = full_run(alice, bob)
    kernels, problems = Kernel.objects.count(), Problem.objects.count()
    verdict = Case.objects.get().verdict
    delete_run(run)
    gone = (Run, Attempt, Event, Build, Evaluation, Contender)
    assert [model._default_manager.count() for model in gone] == [0] * len(gone)
    assert (Kernel.objects.count(), Problem.objects.count()) == (kernels, problems)
    assert Case.objects.get().verdict == verdict == "reward_hack"
    assert Lesson.objects.get().trajectory is None


def test_what_another_run_measured_stays(alice: User, tmp_path: Path) -> None:
    first = plain_run(alice)
    written(first, tmp_path / "a.zip")
    again = import_archive(tmp_path / "a.zip", alice)
    counts = Evaluation.objects.count()
    delete_run(again)
    assert Evaluation.objects.count() == counts / 2
    assert not Attempt.objects.filter(trajectory__run=first, outcome="passed", evaluation__isnull=True).exists()


def test_an_imported_run_that_was_deleted_can_be_imported_again(alice: User, tmp_path: Path) -> None:
    written(plain_run(alice), tmp_path / "a.zip")
    elsewhere()
    delete_run(import_archive(tmp_path / "a.zip", alice))
    assert Import.objects.get().run is None
    again = import_archive(tmp_path / "a.zip", alice)
    assert Import.objects.get().run == again


def test_profiles_that_an_archive_brought_go_with_it(alice: User, tmp_path: Path) -> None:
    written(plain_run(alice), tmp_path / "a.zip")
    elsewhere()
    run = import_archive(tmp_path / "a.zip", alice)
    one = Attempt.objects.filter(trajectory__run=run).select_related("trajectory")[0]
    common = {"kernel_id": one.kernel_id, "problem_id": one.trajectory.problem_id, "size": "cpu", "target": "host"}
    assert run.imported is not None
    for digest in ("", run.imported.digest):
        Profile.objects.create(
            **common, policy="strict", metric_set="fixed", outcome="measured", record={}, elsewhere=digest
        )
    delete_run(run)
    assert list(Profile.objects.values_list("elsewhere", flat=True)) == [""]


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.QUEUED])
def test_a_run_under_way_is_not_deleted(as_alice: Client, alice: User, state: str) -> None:
    run = gallery.mid_flight(alice)
    Run.objects.filter(pk=run.pk).update(state=state)
    page = as_alice.post(f"/runs/{run.pk}/delete/", follow=True)
    assert f"is {state}; cancel it and delete it once it has ended" in text_of(page)
    assert Run.objects.count() == 1
    assert "Delete" not in text_of(as_alice.get(f"/runs/{run.pk}/"))


def test_its_owner_and_an_admin_may(as_alice: Client, as_maya: Client, as_bob: Client, alice: User) -> None:
    one, other = gallery.none_passed(alice), gallery.near_sol(alice)
    assert f"Delete {one}" in text_of(as_alice.get(f"/runs/{one.pk}/"))
    assert f"Delete {one}" not in text_of(as_bob.get(f"/runs/{one.pk}/"))
    refused = as_bob.post(f"/runs/{one.pk}/delete/")
    assert refused.status_code == 403
    assert "belongs to alice. Its owner and admins may delete it." in text_of(refused)
    page = as_alice.post(f"/runs/{one.pk}/delete/", follow=True)
    assert "is deleted. Its kernels, their verdicts, its problems and its lessons are kept." in text_of(page)
    as_maya.post(f"/runs/{other.pk}/delete/")
    assert Run.objects.count() == 0


def test_deleting_takes_a_post(as_alice: Client, alice: User) -> None:
    run = gallery.none_passed(alice)
    assert as_alice.get(f"/runs/{run.pk}/delete/").status_code == 405
    assert Run.objects.count() == 1
