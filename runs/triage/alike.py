"""Cases like one: the same trick, and how much of their texts is the same.

Bounded: sketches are stored with the cases, so that no text is read, and at most ``MOST`` are compared, once a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Case as Either
from django.db.models import IntegerField, QuerySet, Value, When

from runs.models import Attempt
from sol.audit.likeness import ALIKE, likeness
from sol.models import Case, Flag

MOST = 200
"""Cases that are compared with one: those on its problem first, then the most harmful."""

SHOWN = 12


@dataclass(frozen=True, slots=True)
class Peer:
    """One case beside the one shown. ``likeness`` is the share of their texts that is the same, 0 to 1."""

    case: Case
    likeness: float
    identical: bool
    grouped: bool
    attempt: Attempt | None = None

    @property
    def claimed_s(self) -> float | None:
        """Its fastest time, in seconds."""
        return self.attempt.time_s if self.attempt else None


@dataclass(frozen=True, slots=True)
class Peers:
    """``total`` open cases of the same trick; ``shown`` of them, the most alike first; ``grouped`` are
    those for which the same verdict is proposed, with their kernels' and problems' keys."""

    total: int
    shown: tuple[Peer, ...]
    grouped: dict[int, tuple[int, int]]

    @property
    def more(self) -> int:
        """How many are not shown."""
        return self.total - len(self.shown)

    @property
    def problems(self) -> int:
        """On how many problems those shown are."""
        return len({peer.case.problem_id for peer in self.shown})


def peers(case: Case) -> Peers:
    """The cases like one, without it. Five queries at most, whatever there is."""
    rows = _open_like(case)
    total = rows.count()
    if not total:
        return Peers(0, (), {})
    near = Either(When(problem_id=case.problem_id, then=Value(0)), default=Value(1), output_field=IntegerField())
    light = rows.order_by(near, "-rank", "-harm", "pk").values_list("pk", "kernel_id", "problem_id", "sketch")[
        :MOST
    ]
    seen = list(light)
    detectors = _detectors([case.pk, *(pk for pk, _, _, _ in seen)])
    found = []
    for pk, kernel_id, problem_id, sketch in seen:
        same_text = kernel_id == case.kernel_id
        share = 1.0 if same_text else likeness(case.sketch, sketch)
        near_by = problem_id == case.problem_id or detectors.get(pk) == detectors.get(case.pk)
        found.append((share, same_text, (same_text or share >= ALIKE) and near_by, pk))
    found.sort(key=lambda one: (-one[2], -one[0]))
    cases = _rows([pk for _, _, _, pk in found[:SHOWN]])
    attempts = fastest(cases.values())
    shown = tuple(
        Peer(cases[pk], share, same, grouped, attempts.get((cases[pk].kernel_id, cases[pk].problem_id)))
        for share, same, grouped, pk in found[:SHOWN]
        if pk in cases
    )
    keys = {pk: (kernel_id, problem_id) for pk, kernel_id, problem_id, _ in seen}
    return Peers(total, shown, {pk: keys[pk] for _, _, grouped, pk in found if grouped})


def _open_like(case: Case) -> QuerySet[Case]:
    return Case.objects.filter(verdict="", rank__gt=0, trick=case.trick).exclude(pk=case.pk)


def _detectors(cases: list[int]) -> dict[int, frozenset[str]]:
    """Who raised each case's flags of its own trick."""
    found: dict[int, set[str]] = {}
    for pk, detector in Flag.objects.filter(case__in=cases).order_by().values_list("case_id", "detector"):
        found.setdefault(pk, set()).add(detector)
    return {pk: frozenset(names) for pk, names in found.items()}


def _rows(keys: list[int]) -> dict[int, Case]:
    found = Case.objects.filter(pk__in=keys).select_related("kernel", "problem").defer(
        "sketch", "kernel__source", "problem__source", "problem__summary"
    )  # fmt: skip
    return {case.pk: case for case in found}


def fastest(cases: Iterable[Case]) -> dict[tuple[int, int], Attempt]:
    """The fastest attempt of each case's kernel on its problem, by their keys; none that has no time. One query."""
    wanted = {(case.kernel_id, case.problem_id) for case in cases}
    rows = Attempt.objects.filter(kernel_id__in={kernel for kernel, _ in wanted}, time_s__isnull=False)
    found: dict[tuple[int, int], Attempt] = {}
    light = rows.select_related("trajectory__problem").only(
        "number", "time_s", "kernel_id", "trajectory__run_id", "trajectory__problem__slug"
    )
    for attempt in light.order_by("time_s", "-pk"):
        key = (attempt.kernel_id, attempt.trajectory.problem_id)
        if key in wanted:
            found.setdefault(key, attempt)
    return found
