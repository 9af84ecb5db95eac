"""Audit problem files from outside: trace them, run a part of each, put the flaws together. Both in child processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kernels.errors import UserError
from kernels.problems.errors import InspectionCancelled
from kernels.problems.inspect import LIMITS, inspect_many
from kernels.problems.inspection import Inspection
from kernels.problems.sample import Sample
from kernels.problems.sampling import sample_many
from sol.audit.problems.audit import audit
from sol.audit.problems.budget import budget
from sol.audit.problems.record import ProblemAudit

NOT_ASKED = "only the graph was asked for"
_PATIENT = replace(LIMITS, seconds=180.0)
"""On a machine that others keep busy too, tracing the largest problems takes minutes."""

Audited = ProblemAudit | UserError
Cancelled = Callable[[], bool] | None


def audit_many(
    paths: Sequence[Path],
    sizes: Sequence[str],
    *,
    run: bool = True,
    seen: Callable[[int, Audited], None] | None = None,
    cancelled: Cancelled = None,
    workers: int = 1,
) -> list[Audited]:
    """An audit of each problem, or the error of one that cannot be looked at; one answer a path, in order.

    ``seen`` is called with each place and answer as soon as it is there, in whatever order. ``run=False`` works with
    the graphs alone.
    """
    answers: dict[int, Audited] = {}

    def settle(place: int, answer: Audited) -> None:
        answers[place] = answer
        if seen is not None:
            seen(place, answer)

    traced: dict[int, Inspection] = {}
    found = inspect_many(paths, sizes, limits=_PATIENT, cancelled=cancelled, workers=workers)
    for place, inspection in enumerate(found):
        if isinstance(inspection, UserError):
            settle(place, inspection)
        elif isinstance(inspection, Exception):
            raise inspection
        elif run:
            traced[place] = inspection
        else:
            settle(place, audit(inspection, None, not_run=NOT_ASKED))
    places = tuple(traced)
    shown, graphs = [paths[place] for place in places], [traced[place] for place in places]
    audit_inspected(
        shown, graphs, seen=lambda item, answer: settle(places[item], answer), cancelled=cancelled, workers=workers
    )
    return [answers[place] for place in range(len(paths))]


def audit_inspected(
    paths: Sequence[Path],
    inspections: Sequence[Inspection],
    *,
    seen: Callable[[int, Audited], None],
    cancelled: Cancelled = None,
    workers: int = 1,
) -> None:
    """Audit problems that are traced already; ``seen`` gets each answer.

    A problem that cannot be run has an audit of its graph, which says why; one that was cancelled has the error.
    """

    def settle(place: int, sample: Sample | Exception) -> None:
        if isinstance(sample, InspectionCancelled):
            seen(place, sample)
        elif isinstance(sample, Sample):
            seen(place, audit(inspections[place], sample))
        elif isinstance(sample, UserError):
            seen(place, audit(inspections[place], None, not_run=str(sample)))
        else:
            raise sample

    if paths:
        sizes = [inspection.size for inspection in inspections]
        budgets = [budget(inspection) for inspection in inspections]
        sample_many(paths, sizes, budgets, seen=settle, cancelled=cancelled, workers=workers)
