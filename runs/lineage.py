"""Where a candidate came from: its ancestors, its siblings and what was made from it, with what each step gave."""

from __future__ import annotations

from dataclasses import dataclass

from runs import words
from runs.models import Attempt


@dataclass(frozen=True, slots=True)
class Step:
    """One attempt of a lineage. ``delta`` is its time over its parent's, minus 1; None where either has none that
    counts."""

    attempt: Attempt
    on_path: bool
    here: bool
    delta: float | None

    @property
    def word(self) -> words.Word:
        """Its outcome or state."""
        return words.of_ended(self.attempt)

    @property
    def why_none(self) -> str:
        """Why it has no time."""
        return words.why_no_time(self.attempt)


def relatives(attempt: Attempt) -> list[Attempt]:
    """All attempts of the trajectory in order, without their sources. One query."""
    return list(
        Attempt.objects.filter(trajectory_id=attempt.trajectory_id)
        .select_related("trajectory")
        .only(
            "number", "parent_id", "change", "state", "outcome", "reason", "time_s", "held", "new_best",
            "trajectory__floor_s", "trajectory__sol_s",
        )
        .order_by("number")
    )  # fmt: skip


def lineage(attempt: Attempt, every: list[Attempt]) -> list[Step]:
    """Ancestors from the root, this attempt, its siblings and its children, in order of their numbers."""
    by_key = {one.pk: one for one in every}
    path: set[int] = set()
    at: Attempt | None = by_key.get(attempt.pk)
    while at is not None and at.pk not in path:
        path.add(at.pk)
        at = by_key.get(at.parent_id) if at.parent_id is not None else None
    kin = {
        one.pk for one in every if one.parent_id in (attempt.parent_id, attempt.pk) and one.parent_id is not None
    }
    return [
        Step(one, one.pk in path, one.pk == attempt.pk, _delta(one, by_key))
        for one in every
        if one.pk in path or one.pk in kin
    ]


def _delta(one: Attempt, by_key: dict[int, Attempt]) -> float | None:
    parent = by_key.get(one.parent_id) if one.parent_id is not None else None
    if parent is None or not parent.counted_s or not one.counted_s:
        return None
    return one.counted_s / parent.counted_s - 1
