"""The job that makes PTX or SASS: what it keeps, what it says, and that the attempt stays where it stands."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from kernels.codegen.emission import Emission, Plan, Unit
from kernels.models import Build
from kernels.records import to_json
from kernels.targets import Target
from kernels.toolchain import Cache
from kernels.toolchain.errors import DisassemblyToolMissing
from kernels.toolchain.listings import Built, Listing
from kernels.toolchain.report import BuildOutcome, BuildReport, UnitReport
from runs import control, jobs, recovery
from runs.execution import run_job
from runs.fleet import LATER
from runs.models import Attempt, Job
from runs.states import AttemptState, JobKind, JobState
from tests.runs.worlds import Script, drain, make_run

KEY = "0" * 64


@pytest.fixture
def attempt(script: Script) -> Attempt:
    """An attempt that has ended, with a unit built for sm_90a; nothing else is to do."""
    make_run(attempts=1)
    drain()
    Job.objects.all().delete()
    found = Attempt.objects.select_related("trajectory__run", "kernel").get()
    unit = Unit("mu_map_x", "cuda", "// code", (), ("y",))
    report = UnitReport("mu_map_x", BuildOutcome.BUILT, KEY, 1, "nvcc 13.0.88", None, 0.1, False, "", (), ())
    found.cross_build = Build.objects.create(
        kernel=found.kernel, problem=found.trajectory.problem, size="cpu", target=Target.SM90A, policy="strict",
        outcome=BuildOutcome.BUILT, seconds=0.1,
        emission=to_json(Emission(Target.SM90A, (unit,), Plan((), (), (), (), ()))),
        report=to_json(BuildReport(Target.SM90A, (report,), 0.1, {})),
    )  # fmt: skip
    found.save()
    return found


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Listing]]:
    """What was asked of the tool chain, which here only writes a line."""
    asked: list[tuple[str, Listing]] = []

    def make(built: Built, kind: Listing, cache: Cache, cancelled: Any) -> Path:
        asked.append((built.unit.symbol, kind))
        return cache.put_listing(built.key, kind, "EXIT ;\n")

    monkeypatch.setattr("runs.handlers.disassemble.make", make)
    return asked


def queued(attempt: Attempt, unit: str = "x0") -> Job:
    control.disassemble(attempt, unit, Listing.SASS)
    return Job.objects.get(kind=JobKind.DISASSEMBLE, state=JobState.QUEUED)


def test_the_listing_is_kept_beside_the_object(
    attempt: Attempt, made: list[tuple[str, Listing]], settings: Any
) -> None:
    job = queued(attempt)
    assert job.queue == LATER
    run_job(job.pk, "cpu worker")
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.DONE, "")
    assert made == [("mu_map_x", Listing.SASS)]
    assert Cache(settings.BUILD_CACHE_DIR).listing(KEY, "sass").read_text() == "EXIT ;\n"


def test_what_stands_in_the_way_is_kept_for_the_page(attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(*_: object) -> Path:
        raise DisassemblyToolMissing(tool="cuobjdump", place="cuda")

    monkeypatch.setattr("runs.handlers.disassemble.make", make)
    job = queued(attempt)
    run_job(job.pk, "cpu worker")
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert job.error.startswith("cuobjdump is not in the CUDA tool kit")


def test_a_unit_that_was_not_built_for_a_card_is_refused_in_words(
    attempt: Attempt, made: list[tuple[str, Listing]]
) -> None:
    job = queued(attempt, "0")
    run_job(job.pk, "cpu worker")
    job.refresh_from_db()
    assert "unit 0 of" in job.error
    assert "was not built for a card; build it for one, then ask again" in job.error
    assert made == []


def test_it_gives_way_to_work_that_cannot_wait_and_is_done_later(
    attempt: Attempt, made: list[tuple[str, Listing]], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = queued(attempt)
    monkeypatch.setattr("runs.jobs._ASK_EVERY_S", 0.0)
    make_run(attempts=1)
    run_job(job.pk, "cpu worker")
    job.refresh_from_db()
    assert (job.state, job.tries) == (JobState.QUEUED, 0)
    drain()
    Job.objects.exclude(pk=job.pk).delete()
    run_job(job.pk, "cpu worker")
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert len(made) == 1


def test_an_attempt_stays_where_it_stands_when_the_job_s_worker_dies(attempt: Attempt) -> None:
    Attempt.objects.update(state=AttemptState.EVALUATING)
    job = queued(attempt)
    for _ in range(3):
        assert jobs.claim(job.pk, "dying worker") is not None
        Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        recovery.expire_leases()
        attempt.refresh_from_db()
        assert attempt.state == AttemptState.EVALUATING
    job.refresh_from_db()
    assert job.state == JobState.LOST
    assert attempt.outcome == "passed"
