"""A team's database after months: runs, attempts, kernels, builds, evaluations, events, jobs, cases and their flags.

Written by bulk_create from a seed. Figures are made up and distributed as in real runs: some runs of all problems with
40 attempts each, many smaller ones, half of the attempts passed, a tenth of the texts tried before.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.contrib.auth.models import User
from django.db import models, transaction
from django.utils import timezone

from agent.steps import Measured, Started
from kernels.harness.evaluation import Outcome
from kernels.models import Build, Evaluation, Kernel, Problem, ProblemSize
from kernels.records import to_json
from kernels.targets import Policy, Target
from runs import contenders
from runs.models import Attempt, Event, Job, Run, Trajectory
from runs.states import AttemptState, JobKind, JobState, RunState, TrajectoryState
from sol.models import Bound
from tests.web import rows

CARD = "NVIDIA H100 80GB HBM3"
OPERATIONS = ("gemm", "conv", "norm", "softmax", "reduce", "map", "bmm", "attention")
_OUTCOMES = (
    (Outcome.PASSED, 54), (Outcome.INCORRECT, 18), (Outcome.BUILD_ERROR, 13), (Outcome.REFUSED, 10),
    (Outcome.TIMEOUT, 2), (Outcome.CRASH, 1), (Outcome.NOT_MEASURED, 2),
)  # fmt: skip
_EVALUATED = (Outcome.PASSED, Outcome.INCORRECT, Outcome.CRASH, Outcome.TIMEOUT)
_BATCH = 2000


@dataclass
class Load:
    """How much is made, and the source of chance."""

    attempts: int
    flags: int
    runs: int
    problems: int = 250
    seed: int = 0
    draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)


def put(kind: type[models.Model], every: Iterable[models.Model]) -> None:
    """Store rows in batches, so that none but one batch lies in memory."""
    waiting = iter(every)
    while batch := list(islice(waiting, _BATCH)):
        kind._default_manager.bulk_create(batch)


def build(load: Load) -> None:
    """Fill an empty database that was migrated."""
    from tests.bench.load_more import cases, lessons, staff

    with transaction.atomic():
        people = [User.objects.create_user(name) for name in ("bench", *(f"member{n}" for n in range(1, 12)))]
        rows.device()
        _problems(load)
        runs = _runs(load, people)
        _trajectories(load, runs)
        _attempts(load)
        _best()
    with transaction.atomic():
        cases(load)
        lessons(load)
        staff(load)
    contenders.rebuild()


def _problems(load: Load) -> None:
    made = []
    for number in range(1, load.problems + 1):
        level = 1 if number <= 100 else 2 if number <= 200 else 3
        name = f"{rows.NAMES[number % len(rows.NAMES)][0]}_{number}"
        made.append(
            Problem(
                slug=f"L{level}/{number}", collection="KernelBench", level=level, number=number, name=name,
                file_name=f"{number}.py", summary="a linear layer and what follows it", source=rows.SOURCE,
                digest=f"{number:064}", sizes=["cpu", "gpu"],
            )
        )  # fmt: skip
    put(Problem, made)
    record = to_json(rows._inspection("cpu", 512))
    on = list(Problem.objects.order_by("pk"))
    put(ProblemSize, (_size(problem, size, record) for problem in on for size in ("cpu", "gpu")))
    put(Bound, (_bound(load, problem) for problem in on))


def _size(problem: Problem, size: str, record: Any) -> ProblemSize:
    return ProblemSize(
        problem=problem, size=size, digest=problem.digest, record=record, flops=2 * 512**3, bytes=12 * 512**2,
        kind=OPERATIONS[(problem.number or 0) % len(OPERATIONS)],
    )  # fmt: skip


def _bound(load: Load, problem: Problem) -> Bound:
    sol_s = math.exp(load.draw.uniform(math.log(1e-5), math.log(1e-2)))
    record = rows.bounds(sol_s, load.draw.choice(("compute", "memory")))
    return Bound(
        problem=problem, size="cpu", device=rows.device(), policy="strict", steering_s=sol_s, floor_s=sol_s * 0.85,
        bound_class=record.bound_class, record=to_json(record),
    )  # fmt: skip


def _runs(load: Load, people: Sequence[User]) -> list[Run]:
    """The last run is under way; the others have ended."""
    now, made = timezone.now(), []
    for number in range(load.runs):
        ago = timedelta(hours=(load.runs - number) * 11)
        live, card, model = number == load.runs - 1, number % 10 < 3, number % 3 == 0
        made.append(
            Run(
                title=f"Sweep {number}", owner=people[number % len(people)], target="sm_90a" if card else "host",
                policy="strict", controller="tree", proposer="model:fast" if model else "search", attempts=40,
                epsilon=0.25, patience=6, tolerance="strict",
                state=RunState.RUNNING if live else RunState.DONE, started=now - ago,
                finished=None if live else now - ago + timedelta(hours=2),
            )
        )  # fmt: skip
    put(Run, made)
    Run.objects.update(created=models.F("started"))
    return list(Run.objects.order_by("pk"))


def _trajectories(load: Load, runs: Sequence[Run]) -> None:
    """Every 50th run and the last are of all problems with 40 attempts; the others share what is left."""
    problems = list(Problem.objects.order_by("pk"))
    bounds = {one.problem_id: one for one in Bound.objects.all()}
    whole = {run.pk for index, run in enumerate(runs) if (index + 1) % 50 == 0}
    rest = max(1, load.attempts - len(whole) * 40 * len(problems))
    each = max(1, round(rest / max(1, len(runs) - len(whole)) / 13))

    def made() -> Iterator[Trajectory]:
        for run in runs:
            chosen = problems if run.pk in whole else load.draw.sample(problems, min(each, len(problems)))
            for problem in chosen:
                yield _trajectory(load, run, problem, bounds[problem.pk])

    put(Trajectory, made())


def _trajectory(load: Load, run: Run, problem: Problem, bound: Bound) -> Trajectory:
    share = 0.05 if run.target != "host" else 1.0
    ended = run.state == RunState.DONE
    sol_s = bound.steering_s * share
    return Trajectory(
        run=run, problem=problem, size="gpu" if run.target != "host" else "cpu", sol_s=sol_s, floor_s=sol_s * 0.85,
        state=TrajectoryState.DONE if ended else TrajectoryState.RUNNING,
        finish_reason="attempts_spent" if ended else "", bound_class=bound.bound_class, bounds=bound.record,
        device=CARD if run.target != "host" else rows.MACHINE,
        eager_s=sol_s * math.exp(load.draw.uniform(math.log(1.3), math.log(40))),
    )  # fmt: skip


def _source(number: int, draw: random.Random) -> str:
    tile = {"m": 64 + 32 * (number % 5), "n": 64 + 32 * (number % 7), "k": 32 + 32 * (number % 9)}
    notes = [
        f"# {word} {draw.randrange(10**6)}: keep x in the second-level cache, columns {draw.randrange(512)}"
        for word in draw.choices(("tile", "cluster", "pipeline", "epilogue", "swizzle", "stages"), k=12)
    ]
    return "\n".join([rows.PROGRAM.format(**tile), *notes, f"  # .cluster({number % 4 + 1}, 1) candidate {number}"])


def _attempts(load: Load) -> None:
    """Attempts with their kernels, builds, evaluations, log entries and jobs, a few trajectories at a time."""
    on = list(Trajectory.objects.select_related("run", "problem").order_by("pk"))
    whole = {run for run, n in Trajectory.objects.values_list("run").annotate(n=models.Count("pk")) if n > 100}
    left = load.attempts - sum(40 for one in on if one.run_id in whole)
    small = sum(one.run_id not in whole for one in on)
    plain = max(1, left // max(1, small))
    extra = max(0, left - plain * small)
    for start in range(0, len(on), 100):
        part = on[start : start + 100]
        counts = []
        for one in part:
            count = 40 if one.run_id in whole else plain + (extra > 0)
            extra -= one.run_id not in whole and extra > 0
            counts.append(count)
        _part(load, list(zip(part, counts, strict=True)))


def _part(load: Load, part: Sequence[tuple[Trajectory, int]]) -> None:
    kernels = _kernels(load, sum(count for _, count in part))
    attempts: list[Attempt] = []
    for trajectory, count in part:
        attempts += _of(load, trajectory, count, kernels)
    builds = [_build(one) for one in attempts if one.outcome not in (Outcome.REFUSED, Outcome.NOT_MEASURED)]
    put(Build, builds)
    by_kernel = {one.kernel_id: one for one in builds}
    for one in attempts:
        one.build = by_kernel.get(one.kernel_id)
    evaluations = [_evaluation(one) for one in attempts if one.outcome in _EVALUATED]
    put(Evaluation, evaluations)
    by_kernel_e = {(one.kernel_id, one.problem_id): one for one in evaluations}
    for one in attempts:
        one.evaluation = by_kernel_e.get((one.kernel_id, one.trajectory.problem_id))
    put(Attempt, attempts)
    put(Event, (_started(one) for one, _ in part))
    put(Event, (_event(one) for one in attempts))
    put(Job, (job for one in attempts for job in _jobs(one)))


def _kernels(load: Load, count: int) -> list[Kernel]:
    known = Kernel.objects.count()
    fresh, draw = [], load.draw
    for number in range(known, known + max(1, round(count * 0.9))):
        language = draw.choices(("mu", "py", "cu", "cpp"), weights=(80, 8, 8, 4))[0]
        source = _source(number, draw)
        fresh.append(Kernel(language=language, source=source, digest=Kernel.digest_of(language, source)))
    put(Kernel, fresh)
    return fresh


def _of(load: Load, on: Trajectory, count: int, kernels: Sequence[Kernel]) -> list[Attempt]:
    draw, reach = load.draw, math.exp(load.draw.uniform(0.05, 1.6))
    sol_s, eager_s, best_s = on.sol_s or 1.0, on.eager_s or 1.0, math.inf
    began: datetime = on.run.started or timezone.now()
    found = []
    kinds, weights = zip(*_OUTCOMES, strict=True)
    for number, kernel in enumerate(draw.choices(kernels, k=count), start=1):
        outcome = draw.choices(kinds, weights=weights)[0]
        one = Attempt(
            trajectory=on, number=number, kernel=kernel, state=AttemptState.DONE, outcome=outcome,
            change=f"tile({64 * (number % 4 + 1)}, 128, 64)", hypothesis="a taller tile keeps more of x in the cache",
            finished=began + timedelta(seconds=number * 160 + draw.random() * 90),
        )  # fmt: skip
        if outcome is Outcome.PASSED:
            one.time_s = sol_s * reach * math.exp((1 - number / count) * 1.5 + abs(draw.gauss(0, 0.2)))
            one.eager_s = eager_s * draw.uniform(0.98, 1.02)
            if draw.random() < 0.003:
                one.time_s, one.held = sol_s * 0.4, "floor"
            elif one.time_s < best_s:
                one.new_best, best_s = True, one.time_s
        else:
            one.detail = f"{outcome.value.replace('_', ' ')}: the largest error is 0.31 of the reference in tile 64"
        found.append(one)
    return found


_EMISSION = to_json(rows.emission(1, "mu_bench_y"))
_REPORT: dict[str, Any] = {}
_RECORDS: dict[Outcome, Any] = {}


def _build(of: Attempt) -> Build:
    outcome = "failed" if of.outcome == Outcome.BUILD_ERROR else "built"
    return Build(
        kernel_id=of.kernel_id, problem_id=of.trajectory.problem_id, size=of.trajectory.size, policy="strict",
        target=of.trajectory.run.target, outcome=outcome, seconds=4.31, emission=_EMISSION, report=_report(outcome),
    )  # fmt: skip


def _report(outcome: str) -> Any:
    if outcome not in _REPORT:
        from kernels.targets import Target
        from kernels.toolchain.report import BuildOutcome, BuildReport, UnitReport

        unit = UnitReport(
            "mu_bench_y", BuildOutcome(outcome), None, 38_912, "g++ 14.2.0", "c++ -O3 -march=native -shared", 4.31,
            False, "", (), (),
        )  # fmt: skip
        _REPORT[outcome] = to_json(BuildReport(Target.HOST, (unit,), 4.31, {}))
    return _REPORT[outcome]


def _evaluation(of: Attempt) -> Evaluation:
    outcome = Outcome(of.outcome)
    if outcome not in _RECORDS:
        time_s = 1e-3 if outcome is Outcome.PASSED else None
        _RECORDS[outcome] = to_json(rows.evaluation(outcome, of.detail, time_s, 4e-3))
    return Evaluation(
        kernel_id=of.kernel_id, build=of.build, problem_id=of.trajectory.problem_id, size=of.trajectory.size,
        target=of.trajectory.run.target, machine=of.trajectory.device, outcome=outcome, median_s=of.time_s,
        eager_s=of.eager_s, record=_RECORDS[outcome],
    )  # fmt: skip


def _started(of: Trajectory) -> Event:
    """The first entry of its log, without which nothing of it can be replayed."""
    said = Started(
        of.problem.slug, rows._inspection("cpu", 512).signature, Target(of.run.target), Policy.STRICT,
        rows.PROGRAM.format(m=128, n=128, k=64), of.sol_s or 0.0, of.floor_s or 0.0, "compute", 2,
        problem_source=rows.SOURCE,
    )  # fmt: skip
    return Event(trajectory=of, sequence=1, kind="started", record=to_json(said))


def _event(of: Attempt) -> Event:
    said = Measured(of.number, Outcome(of.outcome), of.detail, of.time_s, of.eager_s, flagged=bool(of.held))
    return Event(trajectory_id=of.trajectory_id, sequence=of.number + 1, kind="measured", record=to_json(said))


def _jobs(of: Attempt) -> Iterator[Job]:
    for kind in (JobKind.BUILD, JobKind.EVALUATE):
        yield Job(
            kind=kind, queue="cpu" if kind == JobKind.BUILD else "device.host", state=JobState.DONE, attempt=of,
            run_id=of.trajectory.run_id, trajectory_id=of.trajectory_id, finished=of.finished, claimed=of.finished,
        )  # fmt: skip


def _best() -> None:
    """Each trajectory's best and how many attempts it had, from its attempts."""
    best: dict[int, tuple[float, int, float | None]] = {}
    done: dict[int, int] = {}
    for key, pk, time_s, eager_s, held in Attempt.objects.values_list(
        "trajectory_id", "pk", "time_s", "eager_s", "held"
    ).iterator():
        done[key] = done.get(key, 0) + 1
        if time_s is not None and not held and (key not in best or time_s < best[key][0]):
            best[key] = (time_s, pk, eager_s)
    changed = []
    for one in Trajectory.objects.defer("bounds"):
        one.attempts_done = done.get(one.pk, 0)
        if one.pk in best:
            one.best_s, one.best_id, one.eager_s = best[one.pk]
        changed.append(one)
    Trajectory.objects.bulk_update(changed, ["attempts_done", "best_s", "best_id", "eager_s"], batch_size=200)
