"""Rows for run control: a large run made in bulk, one with failures, and a second person's roles."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from kernels.harness.evaluation import Outcome
from kernels.models import Kernel
from runs.models import Attempt, Run, Trajectory
from runs.people_models import Person
from runs.roles import Role
from runs.states import AttemptState, RunState, TrajectoryState
from tests.web import rows


def viewer(name: str = "vera") -> User:
    """Somebody who may look and no more."""
    user = rows.person(name)
    Person.objects.update_or_create(user=user, defaults={"role": Role.VIEWER.value})
    return user


def large(owner: User, problems: int = 250, attempts: int = 40, **fields: object) -> Run:
    """A run under way with so many ended attempts on each problem, three in four of which passed."""
    run = rows.run(owner, "Everything", attempts=attempts + 10, **fields)
    made = rows.problems(problems)
    Trajectory.objects.bulk_create(
        Trajectory(
            run=run, problem=one, size="cpu", state=TrajectoryState.RUNNING, sol_s=4e-4, floor_s=3e-4,
            bound_class="compute", device=rows.MACHINE, eager_s=4e-3, attempts_done=attempts,
        )
        for one in made
    )  # fmt: skip
    kernels = [Kernel.objects.of_source("mu", f"program p{n}") for n in range(attempts)]
    trajectories = list(run.trajectories.order_by("pk"))
    Attempt.objects.bulk_create(_attempts(trajectories, kernels), batch_size=2000)
    last = Attempt.objects.filter(trajectory__run=run, number=attempts)
    first = dict(last.values_list("trajectory_id", "pk"))
    for one in trajectories:
        one.best_id, one.best_s = first[one.pk], _time(attempts)
    Trajectory.objects.bulk_update(trajectories, ["best", "best_s"])
    return run


def _time(number: int) -> float:
    return 4e-4 * (1.2 + 8 / number)


def _attempts(trajectories: list[Trajectory], kernels: list[Kernel]) -> list[Attempt]:
    now, count = timezone.now(), len(kernels)
    found = []
    for one in trajectories:
        for number, kernel in enumerate(kernels, start=1):
            passed = number % 4 != 1 or number == count
            found.append(
                Attempt(
                    trajectory=one, number=number, kernel=kernel, state=AttemptState.DONE,
                    outcome=Outcome.PASSED if passed else Outcome.BUILD_ERROR,
                    time_s=_time(number) if passed else None, eager_s=4e-3 if passed else None,
                    change="y.tile(64, 64, 32)", hypothesis="a larger tile keeps more in the cache",
                    new_best=passed, finished=now - timedelta(seconds=(count - number) * 30),
                )
            )  # fmt: skip
    return found


def failed(owner: User) -> Run:
    """A run that ended with one problem failed, one done with a lost attempt, and one near SOL."""
    run = rows.run(owner, "Partly", state=RunState.DONE, finished=timezone.now())
    first, second, third = (rows.trajectory(run, one) for one in rows.problems(3))
    Trajectory.objects.filter(pk=first.pk).update(
        state=TrajectoryState.FAILED, error="problem-crashed", words="it ended its process"
    )
    rows.attempt(second, 1, Outcome.PASSED, 1e-3)
    rows.attempt(second, 2, Outcome.NOT_MEASURED, state=AttemptState.LOST, detail="lost after 3 tries")
    rows.attempt(third, 1, Outcome.PASSED, 5e-4)
    Trajectory.objects.filter(pk__in=(second.pk, third.pk)).update(
        state=TrajectoryState.DONE, finish_reason="attempts_spent", words="2 of 2 attempts used"
    )
    return run
