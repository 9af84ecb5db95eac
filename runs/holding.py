"""Whether attempts' times count, kept true: what a case says goes into every attempt of its kernel, into the log that
the agent reads, and into each trajectory's best.

Called inside the transaction that changed a case or ended an attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.db import transaction

from agent.steps import Measured
from kernels.records import from_json, to_json
from runs.models import Attempt, Event, Import, Trajectory
from sol.audit.record import Severity
from sol.audit.tricks import Trick
from sol.gap.standing import Held, standing_of
from sol.models import Case

_SHOWN = 3
"""Flags that the agent is told of."""


def held_of(time_s: float | None, floor_s: float | None, case: Case | None) -> str:
    """Why a time in seconds does not count; empty where it does, or where there is none."""
    if time_s is None:
        return ""
    if case is not None and case.held is not None:
        return case.held.value
    if case is not None and case.lifts:
        return ""
    return Held.FLOOR.value if standing_of(time_s, floor_s).held else ""


def why_held(held: str, time_s: float | None, floor_s: float | None, case: Case | None) -> str:
    """For the agent: why a time does not count, in words it can act on."""
    if not held:
        return ""
    if held == Held.FLOOR or case is None:
        return f"{standing_of(time_s, floor_s).sentence}; do all of the work that the reference asks for"
    rows = case.raised.exclude(severity=Severity.INFO)
    found = sorted(rows, key=lambda row: (-Severity(row.severity).rank, -row.confidence))[:_SHOWN]
    seen = "; ".join(_seen(row.trick, row.line, row.evidence) for row in found)
    return f"{seen}. Its time does not count ({Held(held).word}): do the work on every call, without this"


def _seen(trick: str, line: int, evidence: dict[str, Any]) -> str:
    place = f" (line {line})" if line else ""
    return f"It {Trick(trick).words}{place}: {evidence['words']}"


def reassess(cases: Iterable[Case]) -> None:
    """Bring attempts of the cases' kernels, their trajectories and their harm up to date.

    Four queries, and some for each trajectory in which anything changed, however many cases there are.
    """
    known = {(case.kernel_id, case.problem_id): case for case in cases}
    tried = _timed(known)
    imported = _imported(tried)
    changed: dict[int, list[Attempt]] = {}
    for attempt in tried:
        case = known[_about(attempt)]
        held = held_of(attempt.time_s, attempt.trajectory.floor_s, case)
        # What an archive said is held stays so until a person here speaks.
        if not held and not case.verdict and attempt.trajectory.run_id in imported:
            continue
        if held != attempt.held:
            attempt.held = held
            attempt.detail = why_held(held, attempt.time_s, attempt.trajectory.floor_s, case)
            changed.setdefault(attempt.trajectory_id, []).append(attempt)
    with transaction.atomic():
        for key in sorted(changed):
            _apply(key, changed[key])
    _weigh(known, tried)


def _about(attempt: Attempt) -> tuple[int, int]:
    return attempt.kernel_id, attempt.trajectory.problem_id


def _timed(known: Mapping[tuple[int, int], Case]) -> list[Attempt]:
    """Attempts with a time of the cases' kernels on their problems."""
    kernels = {kernel for kernel, _ in known}
    found = Attempt.objects.filter(kernel_id__in=kernels, time_s__isnull=False)
    rows = found.select_related("trajectory").defer("trajectory__bounds").order_by("trajectory_id", "number")
    return [attempt for attempt in rows if _about(attempt) in known]


def _imported(attempts: Iterable[Attempt]) -> set[int]:
    """The runs of these attempts that came in an archive."""
    runs = {attempt.trajectory.run_id for attempt in attempts}
    return set(Import.objects.filter(run__in=runs).values_list("run_id", flat=True)) - {None}


def _apply(trajectory_id: int, attempts: list[Attempt]) -> None:
    trajectory = Trajectory.objects.select_for_update().defer("bounds").get(pk=trajectory_id)
    _tell(trajectory, attempts)
    Attempt.objects.bulk_update(attempts, ["held", "detail"])
    recount(trajectory)


def _tell(trajectory: Trajectory, attempts: list[Attempt]) -> None:
    """Write results into the log again where the agent would count them otherwise."""
    numbers = [attempt.number for attempt in attempts]
    rows = Event.objects.filter(trajectory=trajectory, kind="measured", record__number__in=numbers)
    last = {record["number"]: record for record in rows.order_by("sequence").values_list("record", flat=True)}
    sequence = Event.objects.filter(trajectory=trajectory).count()
    again: list[Event] = []
    for attempt in attempts:
        was = from_json(last[attempt.number], Measured) if attempt.number in last else None
        if was is not None and was.flagged != bool(attempt.held):
            result = replace(was, flagged=bool(attempt.held), detail=attempt.detail)
            place = sequence + len(again) + 1
            again.append(Event(trajectory=trajectory, sequence=place, kind=result.kind, record=to_json(result)))
    Event.objects.bulk_create(again)


def recount(trajectory: Trajectory) -> None:
    """Set a trajectory's best, and which attempts were new bests, from the attempts that count. Three queries."""
    best: Attempt | None = None
    changed = []
    for attempt in trajectory.attempts.filter(time_s__isnull=False).order_by("number"):
        before = None if best is None else best.time_s
        time_s = attempt.counted_s
        change = time_s / before - 1.0 if time_s is not None and before is not None else None
        new_best = time_s is not None and (before is None or time_s < before)
        if (attempt.new_best, attempt.change_of_best) != (new_best, change):
            attempt.new_best, attempt.change_of_best = new_best, change
            changed.append(attempt)
        if new_best:
            best = attempt
    Attempt.objects.bulk_update(changed, ["new_best", "change_of_best"])
    trajectory.best = best
    trajectory.best_s = None if best is None else best.time_s
    if best is not None:
        # A speedup compares two times of one call: the machine is not the same in the next one.
        trajectory.eager_s = best.eager_s
    trajectory.save(update_fields=["best", "best_s", "eager_s"])


def weigh(case: Case) -> None:
    """Bring one case's inflation and harm up to date. Three queries."""
    known = {(case.kernel_id, case.problem_id): case}
    _weigh(known, _timed(known))


def _weigh(known: Mapping[tuple[int, int], Case], tried: Iterable[Attempt]) -> None:
    """How much a figure is inflated by a case's kernel if it counts: the best other time that counts on the same
    trajectory, else torch eager of its own call, over its time; the worst of its attempts, at least 1, null where it
    has no time. Harm is that times the confidence."""
    mine: dict[tuple[int, int], list[Attempt]] = {}
    for attempt in tried:
        mine.setdefault(_about(attempt), []).append(attempt)
    rivals: dict[int, list[tuple[int, float]]] = {}
    counted = Attempt.objects.filter(
        trajectory__in={attempt.trajectory_id for attempts in mine.values() for attempt in attempts},
        held="",
        time_s__isnull=False,
    )
    for key, kernel, time_s in counted.values_list("trajectory_id", "kernel_id", "time_s"):
        rivals.setdefault(key, []).append((kernel, time_s or 0.0))
    for about, case in known.items():
        found = [_inflation(attempt, rivals.get(attempt.trajectory_id, ())) for attempt in mine.get(about, ())]
        case.inflation = max((each for each in found if each is not None), default=1.0 if found else None)
        case.harm = (case.inflation or 0.0) * case.confidence
    Case.objects.bulk_update(known.values(), ["inflation", "harm"], batch_size=500)


def _inflation(attempt: Attempt, rivals: Iterable[tuple[int, float]]) -> float | None:
    others = [time_s for kernel, time_s in rivals if kernel != attempt.kernel_id]
    honest = min(others, default=attempt.eager_s)
    return max(1.0, honest / attempt.time_s) if attempt.time_s and honest else None
