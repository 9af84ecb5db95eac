"""What a team's database has beside runs: cases with their flags, lessons, model calls, workers."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.utils import timezone

from runs.holding import held_of, recount
from runs.models import Attempt, Lesson, LessonUse, LlmCall, Trajectory, Worker
from sol.audit.record import Severity
from sol.audit.tricks import Trick
from sol.models import Case, Entry, Flag

if TYPE_CHECKING:
    from tests.bench.load_rows import Load

_SEVERITIES = (Severity.SEVERE, Severity.SUSPECT, Severity.INFO)
_VERDICTS = ("", "clean", "reward_hack", "suspect", "problem_flaw", "bug", "rubric_leak")
_EVIDENCE = {"words": "the output is kept from one call to the next", "places": [], "figures": {"calls": 3.0}}


def cases(load: Load) -> None:
    """Cases about kernels that were timed; what they hold is held, as the product would."""
    from tests.bench.load_rows import put

    draw, wanted = load.draw, round(load.flags * 0.8)
    timed = Attempt.objects.filter(time_s__isnull=False).order_by("pk")
    pairs = list(timed.values_list("kernel_id", "trajectory__problem_id").distinct())
    chosen = draw.sample(sorted(set(pairs)), min(wanted, len(pairs)))
    judge, now, made = User.objects.order_by("pk")[0], timezone.now(), []
    for kernel_id, problem_id in chosen:
        severity = draw.choices(_SEVERITIES, weights=(40, 45, 15))[0]
        verdict = draw.choices(_VERDICTS, weights=(35, 35, 12, 6, 6, 4, 2))[0]
        inflation = 1 + draw.random() * 3
        made.append(
            Case(
                kernel_id=kernel_id, problem_id=problem_id, severity=severity, rank=severity.rank, verdict=verdict,
                trick=draw.choice(list(Trick)), confidence=draw.uniform(0.3, 1), flags=1, inflation=inflation,
                harm=inflation * 0.7, sketch=[draw.randrange(2**31) for _ in range(64)],
                settled=now if verdict else None, settled_by=judge if verdict else None,
            )
        )  # fmt: skip
    put(Case, made)
    _flags(load)
    _hold()


def _flags(load: Load) -> None:
    from tests.bench.load_rows import put

    every = list(Case.objects.order_by("pk"))
    shares = [every[index % len(every)] for index in range(load.flags)] if every else []
    put(
        Flag,
        (
            Flag(
                case=case, detector=f"detector_{index % 31}", trick=case.trick, severity=case.severity,
                confidence=case.confidence, line=index // len(every) + 1, evidence=_EVIDENCE,
            )
            for index, case in enumerate(shares)
        ),
    )  # fmt: skip
    put(Entry, (Entry(case=case, kind="raised", words="raised by a detector") for case in every))
    settled = (case for case in every if case.verdict)
    put(Entry, (Entry(case=case, kind="verdict", verdict=case.verdict, user=case.settled_by) for case in settled))


def _hold() -> None:
    """Attempts of kernels with a case: held or lifted, and their trajectories' bests counted again."""
    by_key = {(case.kernel_id, case.problem_id): case for case in Case.objects.defer("sketch")}
    touched: dict[int, Trajectory] = {}
    changed = []
    timed = Attempt.objects.filter(time_s__isnull=False).select_related("trajectory")
    for attempt in timed.defer("trajectory__bounds").iterator(chunk_size=5000):
        case = by_key.get((attempt.kernel_id, attempt.trajectory.problem_id))
        if case is None:
            continue
        held = held_of(attempt.time_s, attempt.trajectory.floor_s, case)
        if held != attempt.held:
            attempt.held = held
            changed.append(attempt)
            touched[attempt.trajectory_id] = attempt.trajectory
    Attempt.objects.bulk_update(changed, ["held"], batch_size=500)
    for trajectory in touched.values():
        recount(trajectory)


def lessons(load: Load) -> None:
    """Lessons and who was given them; the calls of a model that wrote each attempt of every third run."""
    from tests.bench.load_rows import OPERATIONS, put

    draw = load.draw
    trajectories = list(Trajectory.objects.select_related("run", "problem").defer("bounds").order_by("-pk")[:1500])
    put(
        Lesson,
        (
            Lesson(
                problem=on.problem, trajectory=on, source=draw.choice(("history", "summary")),
                kind=draw.choice(OPERATIONS), target=on.run.target, bottleneck=draw.choice(("compute", "memory")),
                gain=draw.uniform(1.02, 2), text=f"Tiles of {64 * draw.randrange(1, 9)} rows keep x in the cache.",
                original="Tall tiles keep x in the cache.",
            )
            for on in trajectories[:800]
        ),
    )  # fmt: skip
    given = list(Lesson.objects.order_by("pk"))
    put(LessonUse, (LessonUse(lesson=given[n % len(given)], trajectory=on) for n, on in enumerate(trajectories)))
    asked = Trajectory.objects.filter(run__proposer__startswith="model:").order_by("pk").values_list("pk", "run_id")
    text = "Propose the next μCUTLASS program. " * 60
    put(
        LlmCall,
        (
            LlmCall(
                run_id=run_id, trajectory_id=pk, ask=ask, phase="propose", model="fast", served_as="fast-1",
                system=text, user=text, answer=text[:900],
                prompt_tokens=1500, completion_tokens=400, cost=0.004, currency="USD",
                seconds=3.1, counted_tokens=1900, counted_cost=0.004, finished=timezone.now(),
            )
            for pk, run_id in list(asked)[:2000]
            for ask in range(1, 9)
        ),
    )  # fmt: skip


def staff(load: Load) -> None:
    """Workers that answer."""
    now = timezone.now()
    for number in range(24):
        Worker.objects.create(
            name=f"worker-{number}", queue="cpu" if number % 2 else "device.host", process_id=4000 + number,
            facts={"cores": 2, "torch": "2.13.0"}, started=now - timedelta(hours=5), heartbeat=now,
        )  # fmt: skip
