"""Logs of trajectories as an ended run leaves them, for pages that read events; and lessons of theirs."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.utils import timezone

from agent.steps import Answered, Candidate, Finished, FinishReason, Measured, Started, Submitted, Usage
from kernels.harness.evaluation import Outcome
from kernels.problems.inspection import Signature
from kernels.targets import Policy, Target
from runs import engine
from runs.models import Lesson, Run, Trajectory
from runs.states import RunState, TrajectoryState
from tests.web import gallery

EAGER_S = 12e-3
LONG = (9e-3, 8e-3, None, 4e-3, 4.2e-3, 4.1e-3, 3.9e-3, None, 3.95e-3, 2.4e-3, 2.5e-3, 2.45e-3, 2.3e-3, 2.4e-3)


def logged(run: Run, number: int, times: Sequence[float | None], *, tokens: int | None = None) -> Trajectory:
    """A trajectory with attempts of these times in its log and its rows; ``tokens`` is what each answer took."""
    row = gallery.trajectory(
        run,
        gallery.problems(number)[number - 1],
        state=TrajectoryState.DONE,
        finish_reason="attempts_spent",
        sol_s=2e-3,
    )
    row.events.all().delete()
    slug = row.problem.slug
    engine.append(
        row, Started(slug, Signature((), (), (), {}), Target.HOST, Policy.STRICT, "", 2e-3, 1e-4, "compute", 2)
    )
    for at, time_s in enumerate(times, 1):
        if tokens is not None:
            engine.append(row, Answered(at, (), usage=Usage(1, tokens - 10, 10, None, 1.0)))
        outcome = Outcome.INCORRECT if time_s is None else Outcome.PASSED
        engine.append(row, Submitted(at, Candidate(f"text {at}", None, "", "")))
        engine.append(row, Measured(at, outcome, "", time_s, EAGER_S if time_s else None))
        gallery.attempt(row, at, outcome, time_s, eager_s=EAGER_S)
    engine.append(row, Finished(FinishReason.ATTEMPTS_SPENT, "all used"))
    return row


def replayable(owner: User, *, tokens: int | None = None, problems: int = 3) -> Run:
    """An ended run of several problems with their whole logs, each a little slower than the one before."""
    run = gallery.run(owner, "Ran to its budget", state=RunState.DONE, finished=timezone.now(), attempts=len(LONG))
    for number in range(1, problems + 1):
        times = [time_s and time_s * (1 + 0.1 * number) for time_s in LONG]
        logged(run, number, times[: len(LONG) - number], tokens=tokens)
    return run


def lesson(on: Trajectory, text: str = "tile(96, 512, 256): 1.50× faster", **fields: object) -> Lesson:
    """A lesson of a trajectory, measured unless told otherwise."""
    attempt = on.attempts.first()
    chosen: dict[str, object] = {
        "problem": on.problem, "trajectory": on, "attempt": attempt, "about": [1, attempt.number] if attempt else [],
        "source": "history", "kind": "gemm", "target": "host", "bottleneck": "compute",
        "change": "tile(96, 512, 256)", "gain": 1.5, "text": text, "original": text,
    }  # fmt: skip
    return Lesson.objects.create(**{**chosen, **fields})
