"""Rows for the kernel browser: attempts on several problems, cards and languages, and cases about some of them."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from kernels.harness.evaluation import Outcome
from kernels.models import Kernel, Problem
from runs.kernel_models import Contender
from runs.models import Attempt, Run, Trajectory
from sol.audit.record import Severity
from sol.audit.tricks import Trick
from sol.models import Case
from sol.signals import cases_changed
from tests.web import rows


def problems(count: int) -> list[Problem]:
    """The first problems, made where they are missing."""
    return rows.problems(count)


def tried(
    on: Trajectory,
    number: int,
    gap: float | None,
    *,
    text: str = "",
    outcome: Outcome = Outcome.PASSED,
    language: str = "mu",
    days_ago: float = 0,
    eager: float = 4.0,
) -> Attempt:
    """An attempt that ended, ``gap`` times SOL long; without one it has no time. Saved once, as the engine does."""
    source = text or f"program p{on.problem.number}() # {on.run.pk}/{number}"
    sol_s = on.sol_s or 1e-3
    before = Attempt.objects.filter(trajectory=on, held="", time_s__isnull=False).order_by("time_s").first()
    time_s = None if gap is None else sol_s * gap
    return Attempt.objects.create(
        trajectory=on, number=number, kernel=Kernel.objects.of_source(language, source), state="done", outcome=outcome,
        time_s=time_s, eager_s=None if gap is None else sol_s * eager,
        new_best=time_s is not None and (before is None or time_s < (before.time_s or 0)),
        finished=timezone.now() - timedelta(days=days_ago),
    )  # fmt: skip


def on_card(owner: User, problem: Problem, device: str, **fields: object) -> Trajectory:
    """A run's work on a problem on another card."""
    return rows.trajectory(rows.run(owner, target="sm_90a"), problem, device=device, **fields)


def case(of: Attempt, severity: Severity = Severity.SEVERE, verdict: str = "") -> Case:
    """A case about an attempt's kernel, told to whoever follows."""
    made = Case.objects.create(
        kernel=of.kernel, problem=of.trajectory.problem, severity=severity, rank=severity.rank,
        trick=next(iter(Trick)), confidence=0.9, flags=1, verdict=verdict,
    )  # fmt: skip
    cases_changed.send(sender=Case, cases=[made])
    return made


def settle(one: Case, verdict: str) -> None:
    """Another verdict, told to whoever follows."""
    one.verdict = verdict
    one.save()
    cases_changed.send(sender=Case, cases=[one])


def contender(of: Attempt) -> Contender:
    """The row that an attempt belongs to."""
    trajectory = of.trajectory
    return Contender.objects.get(
        kernel=of.kernel, problem=trajectory.problem, target=trajectory.run.target, device=trajectory.device
    )


def several(owner: User, count: int) -> Run:
    """One run on one problem with ``count`` kernels, the first the slowest; every fifth has no time."""
    run = rows.run(owner, "Several", attempts=count)
    on = rows.trajectory(run, problems(1)[0])
    for number in range(1, count + 1):
        if number % 5 == 0:
            tried(on, number, None, outcome=Outcome.INCORRECT)
        else:
            tried(on, number, 1.2 + (count - number) * 0.1)
    return run
