"""Runs with many attempts and thousands of open cases, written by bulk_create: what triage pages are measured on."""

from __future__ import annotations

import random
from collections.abc import Iterator

from django.contrib.auth.models import User
from django.utils import timezone

from kernels.harness.evaluation import Outcome
from kernels.languages import Language
from kernels.models import Evaluation, Kernel, Problem
from kernels.records import to_json
from runs.models import Attempt, Run, Trajectory
from runs.states import AttemptState, RunState, TrajectoryState
from sol.audit import Evidence, Severity, Trick
from sol.audit.likeness import sketch
from sol.audit.record import Place
from sol.gap.standing import Held
from sol.models import Case, Entry, Flag
from tests.web import rows
from tests.web.triage_rows import cached_source

BATCH = 1_000


GIVEN = 0.03
"""Share of the cases that somebody was given."""


def world(owner: User, count: int, runs: int, problems: int, attempts: int, seed: int = 0) -> None:
    """``count`` open cases among ``runs`` × ``problems`` × ``attempts`` attempts; each run is on its own problems."""
    draw = random.Random(seed)
    rows.device()
    Problem.objects.bulk_create(_problem(number) for number in range(1, 2 * problems + 1))
    every = list(Problem.objects.filter(collection="bench").order_by("pk"))
    made = Run.objects.bulk_create(_run(owner, number, attempts) for number in range(runs))
    bounds = to_json(rows.bounds(1e-3, "compute"))
    Trajectory.objects.bulk_create(
        (_trajectory(run, problem, bounds) for run in made for problem in draw.sample(every, problems)),
        batch_size=BATCH,
    )
    trajectories = list(Trajectory.objects.filter(run__in=made).order_by("pk"))
    honest = Kernel.objects.of_source("mu", rows.PROGRAM.format(m=64, n=128, k=256))
    kernels = Kernel.objects.bulk_create((_kernel(number, draw) for number in range(count)), batch_size=BATCH)
    flagged = dict(zip(draw.sample(range(len(trajectories) * attempts), count), kernels, strict=True))
    Attempt.objects.bulk_create(_attempts(trajectories, attempts, honest, flagged, draw), batch_size=BATCH)
    _set_bests(trajectories)
    _cases(kernels, owner, draw)


def _problem(number: int) -> Problem:
    return Problem(
        slug=f"B/{number}", collection="bench", number=number, name=f"{rows.NAMES[number % 16][0]}_{number}",
        file_name=f"{number}.py", source=rows.SOURCE, digest=f"{number:064}", sizes=["cpu"],
    )  # fmt: skip


def _run(owner: User, number: int, attempts: int) -> Run:
    return Run(
        owner=owner, title=f"run {number}", target="host", policy="strict", controller="tree", proposer="search",
        attempts=attempts, epsilon=0.25, tolerance="strict", state=RunState.DONE, started=timezone.now(),
    )  # fmt: skip


def _trajectory(run: Run, problem: Problem, bounds: object) -> Trajectory:
    return Trajectory(
        run=run, problem=problem, size="cpu", state=TrajectoryState.DONE, finish_reason="attempts_spent", sol_s=1e-3,
        floor_s=8.5e-4, bound_class="compute", bounds=bounds, device=rows.MACHINE, eager_s=0.011,
    )  # fmt: skip


def _kernel(number: int, draw: random.Random) -> Kernel:
    """Three families of texts, sixty to a hundred lines long."""
    family = number % 3
    source = cached_source(f"key_{number}", f"number {number}")
    source += "\n".join(f"    # {draw.random()}\n    step_{family}_{at}(x, {at})" for at in range(20 + family * 10))
    return Kernel(digest=Kernel.digest_of("py", source), language=Language.PY, source=source)


def _attempts(
    trajectories: list[Trajectory], attempts: int, honest: Kernel, flagged: dict[int, Kernel], draw: random.Random
) -> Iterator[Attempt]:
    for at in range(len(trajectories) * attempts):
        kernel = flagged.get(at)
        yield Attempt(
            trajectory=trajectories[at // attempts], number=at % attempts + 1, kernel=kernel or honest,
            state=AttemptState.DONE, outcome="passed", eager_s=0.011,
            time_s=1e-3 * draw.uniform(0.9, 0.99) if kernel else 1e-3 * draw.uniform(1.1, 4.0),
            held=Held.FLAGGED.value if kernel else "", finished=timezone.now(),
        )  # fmt: skip


def _set_bests(trajectories: list[Trajectory]) -> None:
    """Each trajectory's best, and a parent and an evaluation for every flagged attempt."""
    best: dict[int, Attempt] = {}
    held: list[Attempt] = []
    for attempt in Attempt.objects.select_related("trajectory").order_by("pk"):
        key = attempt.trajectory_id
        if attempt.held:
            held.append(attempt)
        elif key not in best or (attempt.time_s or 1) < (best[key].time_s or 1):
            best[key] = attempt
    for one in trajectories:
        if one.pk in best:
            one.best, one.best_s = best[one.pk], best[one.pk].time_s
    Trajectory.objects.bulk_update(trajectories, ["best", "best_s"], batch_size=BATCH)
    records = {}
    for attempt in held:
        attempt.parent = best.get(attempt.trajectory_id)
        records[attempt.pk] = Evaluation(
            kernel_id=attempt.kernel_id, problem_id=attempt.trajectory.problem_id, size="cpu", target="host",
            machine=rows.MACHINE, outcome="passed", median_s=attempt.time_s, eager_s=0.011,
            record=to_json(rows.evaluation(Outcome.PASSED, "", attempt.time_s, 0.011)),
        )  # fmt: skip
    Evaluation.objects.bulk_create(records.values(), batch_size=BATCH)
    for attempt in held:
        attempt.evaluation = records[attempt.pk]
    Attempt.objects.bulk_update(held, ["parent", "evaluation"], batch_size=BATCH)


def _cases(kernels: list[Kernel], owner: User, draw: random.Random) -> None:
    tricks = list(Trick)
    on = dict(
        Attempt.objects.filter(kernel__in=[kernel.pk for kernel in kernels]).values_list(
            "kernel_id", "trajectory__problem_id"
        )
    )
    made = []
    for number, kernel in enumerate(kernels):
        severity = Severity.SEVERE if draw.random() < 0.6 else Severity.SUSPECT
        inflation = draw.uniform(1, 40)
        made.append(Case(
            kernel=kernel, problem_id=on[kernel.pk], severity=severity, rank=severity.rank,
            trick=tricks[number % 11].value, confidence=0.9, flags=2, inflation=inflation, harm=inflation * 0.9,
                assigned=owner if draw.random() < GIVEN else None,
            sketch=list(sketch(kernel.source, Language.PY)),
        ))  # fmt: skip
    Case.objects.bulk_create(made, batch_size=BATCH)
    evidence = to_json(Evidence("forward gives a stored tensor again", (Place(13, 16),), {"time_s": 9.4e-4}))
    flags = (
        Flag(case=case, detector=detector, trick=case.trick, severity=case.severity, confidence=0.9, line=13,
             evidence=evidence)
        for case in made for detector in ("caches", "storage")
    )  # fmt: skip
    Flag.objects.bulk_create(flags, batch_size=BATCH)
    Entry.objects.bulk_create(
        (Entry(case=case, kind="raised", words="caches (severe), storage (severe)") for case in made),
        batch_size=BATCH,
    )
