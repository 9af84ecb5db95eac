"""The job that profiles: what it stores and says, when it is made, and that nothing else moves because of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from kernels.models import Build, Profile
from kernels.profiling import raw
from kernels.profiling.profiler import no_figures
from kernels.profiling.reading import kernel_profile
from kernels.profiling.record import Method, ProfileOutcome, ProfileRequest, Reason
from kernels.profiling.record import Profile as Record
from kernels.targets import Target
from runs import control, jobs
from runs.execution import run_job
from runs.fleet import device_queue
from runs.models import Attempt, Job, Run, Worker
from runs.profiles import COUNTERS, make_room, profiles_of, report_file, shown_of, why_no_counters
from runs.states import AttemptState, JobKind, JobState, RunState
from tests.profiling.tables import GEMM, table
from tests.runs.worlds import Script, drain, make_run

METHOD = Method(
    "Nsight Compute 2025.3.1",
    "fixed",
    "none",
    "all",
    "kernel",
    3,
    48,
    False,
    "ncu --import",
    "NVIDIA X",
    "9.0",
    None,
)
MEASURED = Record(
    ProfileOutcome.MEASURED, None, "", (kernel_profile(raw.parse(table(GEMM))[0], frozenset()),), METHOD, 6, 8.0
)
Profiled = Callable[[ProfileRequest], Record]


@pytest.fixture
def attempt(script: Script, settings: Any, tmp_path: Path) -> Attempt:
    """An attempt that has ended, of a run that now counts as one on a card."""
    settings.PROFILE_DIR = tmp_path / "profiles"
    make_run(attempts=1)
    drain()
    Job.objects.all().delete()
    Run.objects.update(target=Target.SM90A)
    Worker.objects.create(
        name="card 0", queue=device_queue(Target.SM90A), process_id=1, facts={"card": "X"}, started=timezone.now(),
        heartbeat=timezone.now(),
    )  # fmt: skip
    return Attempt.objects.select_related("trajectory__run", "kernel", "build").get()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[ProfileRequest]:
    """Requests that reached the profiler, which measures nothing here."""
    return _scripted(monkeypatch, MEASURED)


def _scripted(monkeypatch: pytest.MonkeyPatch, record: Record) -> list[ProfileRequest]:
    seen: list[ProfileRequest] = []

    def profile(request: ProfileRequest, *, cancelled: Any) -> Record:
        seen.append(request)
        if record.report_bytes is not None and request.report is not None:
            Path(request.report).write_bytes(b"report")
        return record

    monkeypatch.setattr("runs.handlers.profile.profile", profile)
    return seen


def do(attempt: Attempt, metric_set: str = "fixed") -> Job:
    control.profile(attempt, metric_set)
    job = Job.objects.get(kind=JobKind.PROFILE, state=JobState.QUEUED)
    run_job(job.pk, "card 0")
    job.refresh_from_db()
    return job


def test_a_profile_becomes_a_row_with_its_report(attempt: Attempt, asked: list[ProfileRequest]) -> None:
    job = do(attempt, "full")
    assert (job.state, job.error) == (JobState.DONE, "")
    (request,) = asked
    assert (request.device, request.metric_set) == ("cuda", "full")
    row = Profile.objects.get()
    assert (row.outcome, row.machine, row.build_id) == ("measured", "NVIDIA X", attempt.build_id)
    file = report_file(row)
    assert file is not None
    assert file.read_bytes() == b"report"
    assert Worker.objects.get().facts == {"card": "X", COUNTERS: "readable"}


def test_an_attempt_and_its_evaluation_stay_as_they_are(attempt: Attempt, asked: list[ProfileRequest]) -> None:
    before = (attempt.state, attempt.outcome, attempt.time_s, attempt.evaluation_id)
    do(attempt)
    attempt.refresh_from_db()
    assert (attempt.state, attempt.outcome, attempt.time_s, attempt.evaluation_id) == before
    assert attempt.state == AttemptState.DONE
    assert not Job.objects.exclude(kind=JobKind.PROFILE).exists()


def test_no_counters_is_stored_and_said_once_in_the_worker_s_row(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _scripted(monkeypatch, no_figures(Reason.NO_PERMISSION, "not permitted here"))
    do(attempt)
    assert Profile.objects.get().reason == "no_permission"
    assert Worker.objects.get().facts[COUNTERS] == "not permitted here"
    assert why_no_counters(Target.SM90A) == "not permitted here"
    job = jobs.enqueue(JobKind.PROFILE, device_queue(Target.SM90A), attempt=attempt, payload={"automatic": True})
    run_job(job.pk, "card 0")
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert len(seen) == 1, "what is known is not tried again by itself"
    do(attempt)
    assert len(seen) == 2, "a person may try again"


def test_a_candidate_that_failed_says_nothing_of_the_worker(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    _scripted(monkeypatch, no_figures(Reason.TARGET_FAILED, "it raised"))
    do(attempt)
    assert Profile.objects.get().outcome == "failed"
    assert COUNTERS not in Worker.objects.get().facts


def test_figures_of_before_are_shown_when_a_later_try_fails(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    _scripted(monkeypatch, MEASURED)
    do(attempt)
    _scripted(monkeypatch, no_figures(Reason.TIMEOUT, "too long"))
    do(attempt)
    rows = profiles_of(attempt)
    assert [row.outcome for row in rows] == ["failed", "measured"]
    shown = shown_of(rows)
    assert shown is not None
    assert shown.outcome == "measured"


def test_objects_that_are_gone_are_said(attempt: Attempt, asked: list[ProfileRequest]) -> None:
    Attempt.objects.update(build=None)
    job = jobs.enqueue(JobKind.PROFILE, device_queue(Target.SM90A), attempt=attempt)
    run_job(job.pk, "card 0")
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert "no longer in the build cache" in job.error
    assert asked == []


@pytest.mark.parametrize(("target", "wanted"), [(Target.SM90A, True), (Target.HOST, False)])
def test_the_best_of_a_card_s_run_is_profiled_by_itself(
    script: Script, monkeypatch: pytest.MonkeyPatch, target: Target, wanted: bool
) -> None:
    from runs import engine

    make_run(attempts=1)
    drain()
    Job.objects.all().delete()
    Run.objects.update(target=target, state=RunState.RUNNING)
    trajectory = Attempt.objects.get().trajectory
    type(trajectory).objects.update(state="running")
    trajectory.refresh_from_db()
    engine.finish(trajectory, "attempts_spent", "done")
    found = Job.objects.filter(kind=JobKind.PROFILE)
    assert found.exists() is wanted
    if wanted:
        assert found.get().payload == {"automatic": True}


def test_it_can_be_turned_off(script: Script, settings: Any) -> None:
    from runs import engine

    settings.PROFILE_BEST = False
    make_run(attempts=1)
    drain()
    Run.objects.update(target=Target.SM90A)
    trajectory = Attempt.objects.get().trajectory
    type(trajectory).objects.update(state="running")
    trajectory.refresh_from_db()
    engine.finish(trajectory, "attempts_spent", "done")
    assert not Job.objects.filter(kind=JobKind.PROFILE).exists()


def test_a_cancelled_run_s_attempt_can_still_be_profiled(attempt: Attempt, asked: list[ProfileRequest]) -> None:
    Run.objects.update(cancel_requested=timezone.now(), state=RunState.CANCELLED)
    assert do(attempt).state == JobState.DONE
    assert len(asked) == 1


def test_a_run_that_is_being_cancelled_stops_its_profile(attempt: Attempt, asked: list[ProfileRequest]) -> None:
    control.profile(attempt, "fixed")
    Run.objects.update(cancel_requested=timezone.now(), state=RunState.RUNNING)
    job = Job.objects.get(kind=JobKind.PROFILE)
    run_job(job.pk, "card 0")
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert asked == []


def test_a_host_attempt_is_not_queued(attempt: Attempt) -> None:
    Run.objects.update(target=Target.HOST)
    control.profile(Attempt.objects.select_related("trajectory__run", "build").get(), "fixed")
    assert not Job.objects.filter(kind=JobKind.PROFILE).exists()


def test_the_oldest_reports_make_room(tmp_path: Path) -> None:
    for age in range(4):
        path = tmp_path / f"{age}.ncu-rep"
        path.write_bytes(b"x" * 100)
        os.utime(path, (1000 - age, 1000 - age))
    (tmp_path / "other.txt").write_bytes(b"x" * 1000)
    assert make_room(tmp_path, 250) == ["3.ncu-rep", "2.ncu-rep"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.ncu-rep", "1.ncu-rep", "other.txt"]
    assert make_room(tmp_path, 250) == []


def test_a_report_that_had_to_go_leaves_its_record(
    attempt: Attempt, asked: list[ProfileRequest], settings: Any
) -> None:
    settings.PROFILE_REPORTS_BYTES = 3
    do(attempt)
    row = Profile.objects.get()
    assert row.report == ""
    assert row.outcome == "measured"
    assert report_file(row) is None


def test_a_report_that_was_not_kept_has_no_name(attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    _scripted(monkeypatch, replace(MEASURED, report_bytes=None))
    do(attempt)
    assert Profile.objects.get().report == ""
    assert Build.objects.exists()
