"""Every problem with its bound and what torch takes for it, for the lists one can choose and filter from.

Five queries however many problems there are. Filtering happens here, so that the counts beside the filters and the
rows shown cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Max

from kernels.models import Evaluation, Problem, ProblemSize
from kernels.targets import Policy, Target
from runs import figures
from runs.charts.strip import strip
from sol.models import Bound, Device


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """One problem at the size it is measured at here. ``status``: inspected, failed or waiting.

    ``gravest`` is the highest severity of its ``flaws``; their number is None where nobody has looked for them yet.
    """

    problem: Problem
    size: str
    kind: str
    bound_class: str
    sol_s: float | None
    eager_s: float | None
    status: str
    error: str
    detail: str
    why_no_sol: str
    why_no_eager: str
    gravest: str = ""
    flaws: int | None = None

    @property
    def headroom(self) -> float | None:
        """Torch eager over SOL."""
        return self.eager_s / self.sol_s if self.eager_s and self.sol_s else None

    @property
    def strip(self) -> dict[str, Any] | None:
        """SOL and eager on the axis of all gap strips."""
        return strip(self.sol_s, None, self.eager_s, 150)

    @property
    def order(self) -> tuple[bool, float, int]:
        """Most headroom first, not known last."""
        return (self.headroom is None, -(self.headroom or 0), self.problem.pk)


def here() -> Device | None:
    """The CPU whose peaks were measured last: the machine that host runs are bounded by."""
    return Device.objects.here().filter(kind="cpu").order_by("-measured").only("name", "kind", "measured").first()


def problem_rows(policy: str = Policy.STRICT, device: Device | None = None) -> list[ProblemRow]:
    """All problems, most headroom first, bounded under ``policy`` on ``device``."""
    problems = list(Problem.objects.defer("source", "summary"))
    sizes = {(s.problem_id, s.size): s for s in ProblemSize.objects.defer("record", "audit")}
    bounds, eager = _bounds(policy, device), _eager(device)
    rows = []
    for problem in problems:
        size = problem.size_for(Target.HOST)
        rows.append(_row(problem, size, sizes.get((problem.pk, size)), bounds, eager, device))
    return sorted(rows, key=lambda row: row.order)


def _bounds(policy: str, device: Device | None) -> dict[tuple[int, str], tuple[float, str]]:
    found = Bound.objects.filter(device=device, policy=policy).values_list(
        "problem_id", "size", "steering_s", "bound_class"
    )
    return {(problem, size): (seconds, kind) for problem, size, seconds, kind in found}


def _eager(device: Device | None) -> dict[tuple[int, str], float]:
    """Torch eager's latest time of each problem and size on this machine."""
    if device is None:
        return {}
    measured = Evaluation.objects.filter(machine=device.name, eager_s__isnull=False)
    latest = measured.values("problem_id", "size").annotate(last=Max("id")).values("last").order_by()
    rows = Evaluation.objects.filter(pk__in=latest).values_list("problem_id", "size", "eager_s")
    return {(problem, size): seconds for problem, size, seconds in rows if seconds is not None}


def _row(
    problem: Problem,
    size: str,
    seen: ProblemSize | None,
    bounds: dict[tuple[int, str], tuple[float, str]],
    eager: dict[tuple[int, str], float],
    device: Device | None,
) -> ProblemRow:
    sol_s, bound_class = bounds.get((problem.pk, size), (None, ""))
    failed = seen is not None and bool(seen.error)
    status = "failed" if failed else ("waiting" if seen is None else "inspected")
    why = "not bounded yet"
    if device is None:
        why = "the peaks of this machine have not been measured yet"
    elif status != "inspected":
        why = "not inspected yet" if status == "waiting" else "inspection failed"
    return ProblemRow(
        problem=problem,
        size=size,
        kind=seen.kind if seen else "",
        bound_class=bound_class,
        sol_s=sol_s,
        eager_s=eager.get((problem.pk, size)),
        status=status,
        error=seen.error if seen else "",
        detail=seen.detail if seen else "",
        why_no_sol=why,
        why_no_eager="not measured yet: a run measures it",
        gravest=seen.gravest if seen else "",
        flaws=seen.flaws if seen else None,
    )


@dataclass(frozen=True, slots=True)
class Filters:
    """What a reader filters by, as in the address. An empty tuple or text filters nothing."""

    text: str = ""
    collections: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text or self.collections or self.kinds or self.bounds or self.statuses)

    def takes(self, row: ProblemRow) -> bool:
        """Whether the row passes every filter."""
        words = f"{row.problem.slug} {row.problem.name}".lower()
        return (
            all(word in words for word in self.text.lower().split())
            and (not self.collections or row.problem.collection in self.collections)
            and (not self.kinds or row.kind in self.kinds)
            and (not self.bounds or row.bound_class in self.bounds)
            and (not self.statuses or row.status in self.statuses)
        )

    def words(self) -> list[str]:
        """The filters as a reader would say them."""
        named = (("collection", self.collections), ("operation", self.kinds), ("bound by", self.bounds),
                 ("state", self.statuses))  # fmt: skip
        found = [f"{name} {' or '.join(values)}" for name, values in named if values]
        return [f"name or id has “{self.text}”", *found] if self.text else found


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a filter: how many rows it would leave with the other filters as they are."""

    value: str
    label: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class Group:
    """One filter with its values."""

    name: str
    title: str
    choices: tuple[Choice, ...]


_GROUPS: tuple[tuple[str, str, str, Callable[[ProblemRow], str]], ...] = (
    ("collection", "Collection", "collections", lambda row: row.problem.collection),
    ("kind", "Operation", "kinds", lambda row: row.kind),
    ("bound", "Bound by", "bounds", lambda row: row.bound_class),
    ("status", "Inspection", "statuses", lambda row: row.status),
)


def groups(rows: Iterable[ProblemRow], filters: Filters) -> list[Group]:
    """Each filter with its values and counts; values nobody has are left out."""
    rows, found = list(rows), []
    for name, title, attribute, value_of in _GROUPS:
        chosen: tuple[str, ...] = getattr(filters, attribute)
        without: dict[str, Any] = {attribute: ()}
        others = replace(filters, **without)
        counts = dict.fromkeys(sorted({value_of(row) for row in rows if value_of(row)} | set(chosen)), 0)
        for row in rows:
            if value_of(row) in counts and others.takes(row):
                counts[value_of(row)] += 1
        choices = tuple(Choice(v, v.replace("_", " "), count, v in chosen) for v, count in counts.items())
        if choices:
            found.append(Group(name, title, choices))
    return found


def title_of(rows: list[ProblemRow]) -> str:
    """A title for a run of these problems, where the person gave none."""
    names = [row.problem.name.replace("_", " ") for row in rows]
    if not names:
        return ""
    if len(names) == 1:
        return names[0]
    return f"{names[0]} and {figures.counted(len(names) - 1, 'more', 'more')}"
