"""What runs took for their common problems: tokens, money, and machine time by what it went to. Two queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Max, Min, Q, Sum

from runs.models import Job, LlmCall, Run, Trajectory
from runs.spans import Seconds
from runs.states import JobKind, JobState

NO_MODEL = "no model was asked here"
NO_JOB = "no job of it has ended here"


@dataclass(frozen=True, slots=True)
class Spent:
    """One run's. ``tokens`` and ``cost`` are None where no call was made or one has no figure: ``why`` says which.

    Seconds are from each job's claim to its end: ``model_s`` of asking (waiting for its rate limits included),
    ``build_s`` of compiling, ``evaluate_s`` of checking and timing, ``other_s`` of everything else.
    """

    calls: int = 0
    tokens: int | None = None
    why_no_tokens: str = NO_MODEL
    cost: float | None = None
    why_no_cost: str = NO_MODEL
    currency: str = ""
    model_s: float | None = None
    build_s: float | None = None
    evaluate_s: float | None = None
    other_s: float | None = None

    @property
    def total_s(self) -> float | None:
        """All machine time; None where no job ended."""
        known = [s for s in (self.model_s, self.build_s, self.evaluate_s, self.other_s) if s is not None]
        return sum(known) if known else None


def spent_by(runs: Sequence[Run], problems: Sequence[int]) -> dict[int, Spent]:
    """What each of the runs took on these problems, by the run's number."""
    seconds = _seconds(runs, problems)
    calls = {row["run_id"]: row for row in _calls(runs, problems)}
    return {run.pk: _spent(calls.get(run.pk), seconds[run.pk]) for run in runs}


def _calls(runs: Sequence[Run], problems: Sequence[int]) -> list[dict[str, Any]]:
    counted = Q(prompt_tokens__isnull=False, completion_tokens__isnull=False)
    rows = LlmCall.objects.filter(run__in=runs, trajectory__problem__in=problems, paid=True).order_by()
    return [
        dict(row)
        for row in rows.values("run_id").annotate(
            calls=Count("pk"),
            counted=Count("pk", filter=counted),
            tokens=Sum(F("prompt_tokens") + F("completion_tokens"), filter=counted),
            priced=Count("cost"),
            total=Sum("cost"),
            last_currency=Max("currency"),
            first_currency=Min("currency"),
        )
    ]


def _seconds(runs: Sequence[Run], problems: Sequence[int]) -> dict[int, dict[str, float]]:
    """What is left out is looked for, not what counts: jobs are read from an index alone, and runs that are set side by
    side have most of their problems in common."""
    others = Trajectory.objects.filter(run__in=runs).exclude(problem__in=problems)
    rows = (
        Job.objects.filter(run__in=runs, state=JobState.DONE, claimed__isnull=False, finished__isnull=False)
        .filter(trajectory__isnull=False)
        .exclude(trajectory__in=others.values("pk"))
        .order_by()
        .values_list("run_id", "kind")
        .annotate(taken=Sum(Seconds("finished", "claimed")))
    )
    found: dict[int, dict[str, float]] = defaultdict(dict)
    for run, kind, taken in rows:
        if taken is not None:
            found[run][kind] = taken
    return found


def _spent(row: dict[str, Any] | None, seconds: dict[str, float]) -> Spent:
    apart = (JobKind.ASK, JobKind.BUILD, JobKind.EVALUATE)
    others = [value for kind, value in seconds.items() if kind not in apart]
    times: dict[str, Any] = {
        "model_s": seconds.get(JobKind.ASK),
        "build_s": seconds.get(JobKind.BUILD),
        "evaluate_s": seconds.get(JobKind.EVALUATE),
        "other_s": sum(others) if others else None,
    }
    if row is None:
        return Spent(**times)
    calls, one_currency = row["calls"], row["last_currency"] == row["first_currency"]
    lacks = f"{calls - row['counted']} of {calls} calls have no count of tokens"
    cheap = f"{calls - row['priced']} of {calls} calls have no price" if one_currency else "in several currencies"
    return Spent(
        calls=calls,
        tokens=row["tokens"] if row["counted"] == calls else None,
        why_no_tokens=lacks,
        cost=row["total"] if row["priced"] == calls and one_currency else None,
        why_no_cost=cheap,
        currency=row["last_currency"] or "",
        **times,
    )
