"""Runs and candidates with figures that can be worked out by hand, for the tests of comparisons."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from kernels.harness.evaluation import Outcome
from kernels.models import Profile
from kernels.targets import Target
from runs.models import Attempt, Import, Job, LlmCall, Run, Trajectory
from runs.profiles import store as store_profile
from runs.states import JobKind, JobState, RunState, TrajectoryState
from tests.profiling.tables import COPY, GEMM
from tests.web import rows, timing_rows
from tests.web.test_profile import measured


def run(owner: User, title: str, **fields: object) -> Run:
    """A run that has ended, of 4 attempts a problem unless said otherwise."""
    values: dict[str, object] = {"attempts": 4, "state": RunState.DONE, "finished": timezone.now(), **fields}
    return rows.run(owner, title, **values)


def worked(of: Run, number: int, speedups: list[float | None], eager_s: float | None = None) -> Trajectory:
    """A problem with an attempt a speedup over torch eager, None one that was incorrect.

    Torch eager takes ten times SOL, so that 2× is a gap of 5 and what is above 11.8× lies below the floor.
    """
    on = next((p for p in rows.problems(number) if p.number == number), None)
    assert on is not None
    made = rows.trajectory(of, on, state=TrajectoryState.DONE, finish_reason="attempts_spent")
    eager = eager_s or 10 * (made.sol_s or 0.0)
    parent: Attempt | None = None
    for at, speedup in enumerate(speedups, 1):
        outcome = Outcome.PASSED if speedup else Outcome.INCORRECT
        time_s = eager / speedup if speedup else None
        parent = rows.attempt(made, at, outcome, time_s, eager_s=eager, parent=parent)
    made.refresh_from_db()
    if made.eager_s is None:
        made.eager_s = eager
        made.save()
    return made


def two_runs(owner: User) -> tuple[Run, Run]:
    """Three common problems: speedups 2, 4 and none against 4, 4 and 1.5; one more problem in the second alone."""
    before, after = run(owner, "Before"), run(owner, "After", controller="flat")
    worked(before, 1, [1.0, 2.0])
    worked(before, 2, [None, 2.0, 4.0])
    worked(before, 3, [None])
    worked(after, 1, [4.0])
    worked(after, 2, [4.0])
    worked(after, 3, [None, 0.5, 1.5])
    worked(after, 4, [8.0])
    return before, after


def call(on: Trajectory, prompt: int | None, completion: int | None, cost: float | None) -> LlmCall:
    """A paid model call."""
    return LlmCall.objects.create(
        run=on.run, trajectory=on, ask=1, phase="seed", model="big", served_as="big-1", system="s", user="u",
        prompt_tokens=prompt, completion_tokens=completion, cost=cost, currency="USD", seconds=4.0,
        counted_tokens=(prompt or 0) + (completion or 0), finished=timezone.now(),
    )  # fmt: skip


def worked_for(on: Trajectory, kind: JobKind, seconds: float) -> Job:
    """A job that took so long from its claim to its end."""
    now = timezone.now()
    return Job.objects.create(
        kind=kind, queue="cpu", run=on.run, trajectory=on, state=JobState.DONE,
        claimed=now - timedelta(seconds=seconds), finished=now,
    )  # fmt: skip


def three_candidates(owner: User) -> list[Attempt]:
    """Of one problem: 2× and 4× over eager in one run, and in another one that is below the floor."""
    first, second = run(owner, "First"), run(owner, "Second", proposer="external")
    made = worked(first, 1, [2.0, 4.0])
    other = worked(second, 1, [20.0])
    return [*made.attempts.order_by("number"), other.attempts.get()]


def on_cards(owner: User) -> list[Attempt]:
    """Two of one problem on cards of different names, both profiled, with what ptxas says of their builds."""
    found = []
    for at, (name, kernels) in enumerate((("NVIDIA H100", (GEMM, COPY)), ("NVIDIA A100", (COPY,)))):
        of = run(owner, f"On {name}", target=Target.SM90A)
        one = worked(of, 1, [2.0 + at]).attempts.get()
        assert one.evaluation is not None
        record = timing_rows.on_a_card(rows.evaluation(Outcome.PASSED, "", one.time_s, 0.011))
        timing_rows.store(one, record)
        one.evaluation.machine = name
        one.evaluation.save()
        one.build = rows.build(one, target=Target.SM90A)
        one.save()
        one.kernel = rows.kernel(one.number, salt=name)
        one.save()
        store_profile(one, measured(*kernels), "fixed", "")
        found.append(one)
    return found


def brought(of: Run, place: str = "lab-3") -> Run:
    """The run as one that an archive brought, with what was profiled for it."""
    one = Import.objects.create(
        run=of, digest=f"{of.pk:064x}", format=1, product="p", place=place, number=12, owner="zoe",
        exported=timezone.now(),
    )  # fmt: skip
    kernels = of.trajectories.values("attempts__kernel")
    Profile.objects.filter(kernel__in=kernels, policy=of.policy, elsewhere="").update(elsewhere=one.digest)
    return Run.objects.get(pk=of.pk)


def address(key: str, of: list[Attempt] | list[Run], more: str = "") -> str:
    """A comparison's address."""
    return "/compare/?" + "&".join(f"{key}={one.pk}" for one in of) + more
