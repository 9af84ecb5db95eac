"""What a run's gap page shows: its problems as readings, its device's roofs, another run beside it.

Five queries a run whatever its size; everything else is worked out from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db.models.fields.json import KT

from runs import figures
from runs.board import Board, Row, board
from runs.charts.before_after import Comparison, compare
from runs.charts.clusters import Cluster, clusters
from runs.machines import machine_of_run, place_of
from runs.models import Run, Trajectory
from runs.readings import Reading
from sol.bounds.record import Device as DeviceRecord

DEFAULT_R = 1.0


@dataclass(frozen=True)
class Gaps:
    """One run, seen by its distance to the speed of light."""

    run: Run
    board: Board
    readings: tuple[Reading, ...]
    device: DeviceRecord | None

    @cached_property
    def unmeasured(self) -> int:
        """Attempts that ended without a time: not drawn."""
        return sum(one.unmeasured for one in self.readings)

    @cached_property
    def measured(self) -> int:
        """Attempts with a time that counts."""
        return sum(len(one.counted) for one in self.readings)

    @cached_property
    def held(self) -> int:
        """Attempts whose times do not count."""
        return sum(len(one.held) for one in self.readings)

    @cached_property
    def unbounded(self) -> int:
        """Problems without a bound: no place on any axis of ratios."""
        return sum(not one.sol_s for one in self.readings)

    @property
    def placed(self) -> bool:
        """Whether any problem has a place on the roofline."""
        return any(one.flops and one.intensity for one in self.readings)

    @cached_property
    def no_headroom(self) -> int:
        """Problems where eager is at the bound already."""
        return sum(one.eager_gap is not None and one.eager_gap <= 1 for one in self.readings)

    @property
    def most(self) -> Reading | None:
        """The problem with the most headroom left."""
        known = [one for one in self.readings if one.counted_gap is not None]
        return max(known, key=lambda one: one.counted_gap or 0.0, default=None)

    @cached_property
    def clusters(self) -> tuple[list[Cluster], float]:
        """The attempts of the charts that show all of them, put together where they are too many."""
        return clusters(self.readings)

    @property
    def merged(self) -> str:
        """How attempts were put together; empty where they were not."""
        _, width = self.clusters
        if not width:
            return ""
        return f"a square stands for attempts on one problem whose times lie within {figures.percent(width)}"


def gaps(run: Run) -> Gaps:
    """Read a run."""
    seen = board(run)
    work = Trajectory.objects.filter(run=run, bounds__isnull=False).values_list(
        "pk", KT("bounds__flops"), KT("bounds__intensity")
    )
    facts = {key: (float(flops), float(intensity)) for key, flops, intensity in work if flops and intensity}
    readings = tuple(reading_of(row, *facts.get(row.trajectory.pk, (None, None))) for row in seen.rows)
    return Gaps(run, seen, readings, machine_of_run(run.pk, seen.device))


def reading_of(row: Row, flops: float | None = None, intensity: float | None = None) -> Reading:
    """One problem of a run without its rows; ``flops`` and ``intensity`` where its place on a roofline is wanted."""
    t = row.trajectory
    return Reading(
        slug=t.problem.slug, name=t.problem.name, sol_s=t.sol_s, floor_s=t.floor_s, eager_s=t.eager_s,
        steps=row.steps, best=row.best, epsilon=row.epsilon, bound_class=t.bound_class, flops=flops,
        intensity=intensity,
    )  # fmt: skip


def comparison(before: Gaps, after: Gaps) -> Comparison:
    """Two runs, the one that was launched first as before."""
    return compare(before.readings, after.readings, (str(before.run), str(after.run)))


def differences(before: Gaps, after: Gaps) -> list[str]:
    """What else than the kernels differs between two runs, in words."""
    pairs = (
        ("target", before.run.target, after.run.target),
        ("policy", before.run.policy, after.run.policy),
        ("device", before.board.device, after.board.device),
        ("place of measurement", place_of(before.run), place_of(after.run)),
        ("attempts a problem", before.run.attempts, after.run.attempts),
    )
    return [f"{name} {a or 'not known'} and {b or 'not known'}" for name, a, b in pairs if a != b]


def others(run: Run, most: int = 50) -> Sequence[Run]:
    """Runs to stand beside this one, newest first."""
    return list(Run.objects.exclude(pk=run.pk).only("pk", "title")[:most])


def ratio_asked(text: str) -> float:
    """The r of an address, 1 where it is no positive number of a sensible size."""
    try:
        value = float(text)
    except ValueError:
        return DEFAULT_R
    return value if 0.01 <= value <= 1024 else DEFAULT_R
