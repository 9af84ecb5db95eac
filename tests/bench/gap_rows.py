"""A run of many problems and attempts, written by bulk_create: rows that a gap page is measured on. Made-up figures."""

from __future__ import annotations

import math
import random
from typing import Any

from django.contrib.auth.models import User

from kernels.harness.evaluation import Outcome
from kernels.models import Kernel, Problem
from kernels.records import to_json
from runs.models import Attempt, Run, Trajectory
from runs.states import AttemptState, RunState, TrajectoryState
from tests.web import rows

_FAILED = (Outcome.INCORRECT, Outcome.BUILD_ERROR, Outcome.REFUSED, Outcome.TIMEOUT)
_BELOW_FLOOR = 0.0007
"""Share of attempts that are below the floor."""


def big_run(owner: User, problems: int = 250, attempts: int = 40, seed: int = 0) -> Run:
    """A run that has ended, its trajectories and attempts. Times from a seed; a quarter of the attempts failed."""
    draw = random.Random(seed)
    rows.device()
    run = rows.run(owner, f"{problems} problems", state=RunState.DONE, attempts=attempts)
    known = set(Problem.objects.values_list("slug", flat=True))
    missing = [number for number in range(1, problems + 1) if f"L{1 + number % 3}/{number}" not in known]
    Problem.objects.bulk_create(_problem(number) for number in missing)
    on = Problem.objects.filter(number__lte=problems, collection="bench").order_by("number")
    Trajectory.objects.bulk_create(_trajectory(run, problem, draw) for problem in on)
    kernel, _ = Kernel.objects.get_or_create(digest=f"{0:064}", defaults={"source": "program bench()"})
    made = Trajectory.objects.filter(run=run).order_by("pk")
    Attempt.objects.bulk_create(
        (one for trajectory in made for one in _attempts(trajectory, kernel, attempts, draw)), batch_size=2000
    )
    _set_best(run)
    return run


def _problem(number: int) -> Problem:
    name = f"{rows.NAMES[number % len(rows.NAMES)][0]}_{number}"
    return Problem(
        slug=f"L{1 + number % 3}/{number}", collection="bench", level=1 + number % 3, number=number, name=name,
        file_name=f"{number}.py", source=rows.SOURCE, digest=f"{number:064}", sizes=["cpu", "gpu"],
    )  # fmt: skip


def _trajectory(run: Run, problem: Problem, draw: random.Random) -> Trajectory:
    sol_s = math.exp(draw.uniform(math.log(1e-5), math.log(1e-2)))
    record: dict[str, Any] = to_json(rows.bounds(sol_s, draw.choice(("compute", "memory"))))
    record["intensity"] = math.exp(draw.uniform(math.log(0.1), math.log(900)))
    return Trajectory(
        run=run, problem=problem, size="cpu", state=TrajectoryState.DONE, finish_reason="attempts_spent",
        sol_s=sol_s, floor_s=sol_s * 0.85, bound_class=record["bound_class"], bounds=record, device=rows.MACHINE,
        eager_s=sol_s * math.exp(draw.uniform(math.log(1.3), math.log(70))),
    )  # fmt: skip


def _attempts(on: Trajectory, kernel: Kernel, count: int, draw: random.Random) -> list[Attempt]:
    sol_s, eager_s, reach = on.sol_s or 1.0, on.eager_s or 1.0, math.exp(draw.uniform(0.02, 2.2))
    found = []
    for number in range(1, count + 1):
        one = Attempt(trajectory=on, number=number, kernel=kernel, state=AttemptState.DONE)
        if draw.random() < 0.26:
            one.outcome = draw.choice(_FAILED)
        else:
            ratio = reach * math.exp((1 - number / count) * 1.8 + abs(draw.gauss(0, 0.2)))
            ratio = 0.4 if draw.random() < _BELOW_FLOOR else ratio
            one.outcome, one.time_s = Outcome.PASSED, sol_s * ratio
            one.eager_s = eager_s * draw.uniform(0.98, 1.02)
        found.append(one)
    return found


def _set_best(run: Run) -> None:
    """Each trajectory's best as the engine would have kept it."""
    best: dict[int, Attempt] = {}
    for one in Attempt.objects.filter(trajectory__run=run, time_s__isnull=False).select_related("trajectory"):
        floor_s, known = one.trajectory.floor_s or 0.0, best.get(one.trajectory_id)
        if one.time_s and one.time_s >= floor_s and (known is None or one.time_s < (known.time_s or 0.0)):
            best[one.trajectory_id] = one
    changed = []
    for one in best.values():
        trajectory = one.trajectory
        trajectory.best, trajectory.best_s, trajectory.eager_s = one, one.time_s, one.eager_s
        changed.append(trajectory)
    Trajectory.objects.bulk_update(changed, ["best", "best_s", "eager_s"], batch_size=100)
