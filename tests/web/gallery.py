"""A gallery of awkward runs for page tests and screenshots, made of the rows of ``tests.web.rows``."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from kernels.harness.evaluation import Outcome
from kernels.models import Problem
from kernels.targets import Target
from runs.models import Run
from runs.states import AttemptState, JobKind, JobState, RunState, TrajectoryState
from tests.web.rows import (
    FAILURES,
    MACHINE,
    SOURCE,
    attempt,
    bounds,
    broken_problem,
    build,
    device,
    emission,
    evaluation,
    job,
    kernel,
    person,
    problem,
    problems,
    run,
    search,
    timing,
    trajectory,
    worker,
)

__all__ = [
    "FAILURES",
    "MACHINE",
    "SOURCE",
    "attempt",
    "bounds",
    "broken_problem",
    "build",
    "device",
    "emission",
    "evaluation",
    "job",
    "kernel",
    "person",
    "problem",
    "problems",
    "run",
    "search",
    "timing",
    "trajectory",
    "worker",
]


def queued_without_worker(owner: User) -> Run:
    """Launched, and nobody there to do it."""
    one = run(owner, "Gemm and two more", state=RunState.QUEUED, started=None)
    for on in problems(3):
        job(trajectory(one, on, state=TrajectoryState.QUEUED), JobKind.PREPARE, "cpu")
    return one


def mid_flight(owner: User) -> Run:
    """Eight problems in every state a live run can show."""
    one = run(owner, "Own problems, first eight")
    reaches = (1.9, 1.5, 3.2, 1.12, 1.2, 2.4)
    rows = [trajectory(one, on) for on in problems(8)]
    for row, reach, count in zip(rows, reaches, (7, 9, 5, 11, 8, 6), strict=False):
        search(row, count, reach, seed=row.problem.number or 0)
    for row in rows[3:5]:
        row.state, row.finish_reason, row.words = TrajectoryState.DONE, "near_sol", "within 25 % of SOL"
        row.save()
    for number in (1, 2, 3):
        attempt(rows[6], number, Outcome.INCORRECT, detail=FAILURES[0][1], seconds_ago=50 * number)
    rows[7].sol_s, rows[7].bounds, rows[7].device = None, None, ""
    rows[7].save()
    building = attempt(rows[0], 8, None, state=AttemptState.BUILDING, parent=rows[0].best)
    evaluating = attempt(rows[1], 10, None, state=AttemptState.EVALUATING, parent=rows[1].best)
    waiting = attempt(rows[2], 6, None, state=AttemptState.BUILT, parent=rows[2].best)
    for row in rows[:3]:
        job(row, JobKind.BUILD, "cpu", row.best, JobState.DONE)
        job(row, JobKind.EVALUATE, "host", row.best, JobState.DONE)
    worker(f"cpu-1@gallery-{one.pk}", "cpu", job(rows[0], JobKind.BUILD, "cpu", building, JobState.CLAIMED))
    worker(f"host-1@gallery-{one.pk}", "host", job(rows[1], JobKind.EVALUATE, "host", evaluating, JobState.CLAIMED))
    job(rows[2], JobKind.EVALUATE, "host", waiting)
    return one


def all_failed(owner: User) -> Run:
    """Every problem failed before a kernel passed."""
    words = "own/99 at size cpu cannot be run (problem-does-not-parse): line 7: invalid syntax"
    one = run(owner, "Broken file", state=RunState.FAILED, finished=timezone.now(), reason=words)
    broken = Problem.objects.filter(name="Broken_File").first() or broken_problem(99)
    trajectory(one, broken, state=TrajectoryState.FAILED, error="problem-not-usable", words=words)
    return one


def none_passed(owner: User) -> Run:
    """Ended with attempts, none of which passed."""
    one = run(owner, "Nothing passed", state=RunState.DONE, finished=timezone.now())
    row = trajectory(one, problems(2)[1], state=TrajectoryState.DONE, finish_reason="attempts_spent")
    for number, (outcome, detail) in enumerate(FAILURES, 1):
        attempt(row, number, outcome, detail=detail)
    return one


def cancelled(owner: User) -> Run:
    """Stopped by a person half way."""
    now = timezone.now()
    one = run(
        owner, "Stopped half way", state=RunState.CANCELLED, finished=now, cancel_requested=now, cancelled_by=owner
    )
    row = trajectory(one, problems(1)[0], state=TrajectoryState.CANCELLED, words="cancelled")
    search(row, 4, 2.0, seed=3)
    attempt(row, 5, None, state=AttemptState.CANCELLED)
    return one


def near_sol(owner: User) -> Run:
    """One problem, done within ε of the bound, its best also compiled for sm_90a."""
    now = timezone.now()
    one = run(owner, "Gemm_Bias_ReLU", state=RunState.DONE, finished=now, started=now - timedelta(seconds=104))
    row = trajectory(one, problems(2)[1], state=TrajectoryState.DONE, finish_reason="near_sol")
    search(row, 12, 1.14, seed=2)
    best = row.best
    assert best is not None
    best.cross_build = build(best, target=Target.SM90A)
    best.save()
    return one


def huge(owner: User, count: int = 60, attempts: int = 12) -> Run:
    """Many problems with every attempt spent."""
    one = run(owner, f"{count} problems", state=RunState.DONE, finished=timezone.now())
    for on in problems(count):
        row = trajectory(one, on, state=TrajectoryState.DONE, finish_reason="attempts_spent")
        search(row, attempts, 1.05 + 0.03 * (on.number or 0), seed=on.number or 0)
    return one


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def hostile(owner: User) -> Run:
    """Every text that an outsider writes tries to be markup."""
    on = problem(77, HOSTILE)
    on.source, on.summary = f"# {HOSTILE}\n{SOURCE}", HOSTILE
    on.save()
    one = run(owner, HOSTILE, reason=HOSTILE, state=RunState.FAILED, finished=timezone.now())
    row = trajectory(one, on, words=HOSTILE, error="problem-not-usable", state=TrajectoryState.FAILED)
    first = attempt(row, 1, Outcome.PASSED, 0.02, change=HOSTILE, hypothesis=HOSTILE, salt=HOSTILE, detail=HOSTILE)
    attempt(
        row, 2, Outcome.REFUSED, parent=first, change=HOSTILE, hypothesis=HOSTILE, salt=f"{HOSTILE} 2",
        detail=f"1:3: unknown-name: nothing is called {HOSTILE}; {HOSTILE}",
    )  # fmt: skip
    attempt(row, 3, Outcome.BUILD_ERROR, parent=first, detail=HOSTILE, salt=f"{HOSTILE} 3")
    return one
