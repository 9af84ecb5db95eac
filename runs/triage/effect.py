"""What a verdict would change: the geomean of each run that tried the kernel, with its times and without them.

Geomeans are torch eager over best, as the run page has them: a problem without a kernel counts as 1, one without a
bound or without eager's time not at all. Only the problems that the cases are on are looked at attempt by attempt.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from runs import figures
from runs.models import Attempt, Trajectory
from sol.audit.verdict import Verdict
from sol.models import Case

MOST = 20
"""Runs whose figures are worked out: the newest."""

Pair = tuple[int, int]
"""A kernel's key and a problem's."""

SHOWN = 3
"""Runs whose figures are shown; of all others their number."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One run's geomean of torch eager over best: as it stands, if the times count, and if they do not.

    None where no kernel of the run would be left that counts.
    """

    run: int
    now: float | None
    counted: float | None
    out: float | None

    @property
    def moved(self) -> bool:
        """Whether a verdict changes it at all."""
        return self.counted != self.out

    def under(self, verdict: Verdict, stays_out: bool) -> float | None:
        """Its figure after a verdict; ``stays_out`` says whether a severe flag keeps out what is suspect."""
        if verdict is Verdict.SUSPECT:
            return self.out if stays_out else self.counted
        return self.out if verdict.excludes else self.counted


@dataclass(frozen=True, slots=True)
class Effects:
    """The runs with the largest change, and how many more were touched."""

    runs: tuple[Effect, ...]
    more: int


@dataclass(frozen=True, slots=True)
class _Timed:
    """One timed attempt of a problem that is looked at. Times are seconds."""

    kernel: int
    time_s: float
    eager_s: float | None
    held: bool


class Figures:
    """What is needed for the effects of settling some cases, read once for all of them. Three queries."""

    def __init__(self, pairs: Collection[Pair]) -> None:
        self._touched = _touched(pairs)
        runs = sorted({run for run, _, _ in self._touched}, reverse=True)[:MOST]
        self._timed = _timed({key for run, key, _ in self._touched if run in runs}) if runs else {}
        self._rows = _trajectories(runs) if runs else {}

    def effects(self, pairs: Collection[Pair]) -> Effects:
        """The figures of the runs that these kernels on these problems touch, the largest change first."""
        runs = {run for run, _, pair in self._touched if pair in pairs}
        known = [_effect(run, self._rows[run], self._timed, pairs) for run in runs if run in self._rows]
        known.sort(key=lambda one: (-_change(one), one.run))
        return Effects(tuple(known[:SHOWN]), len(runs) - len(known[:SHOWN]))


def effects(cases: Sequence[Case]) -> Effects:
    """The figures of the newest ``MOST`` runs that the cases touch."""
    pairs = {(case.kernel_id, case.problem_id) for case in cases}
    return Figures(pairs).effects(pairs)


def _change(effect: Effect) -> float:
    if effect.counted is None:
        return 0.0
    return abs(effect.counted - (effect.out or 1.0))


def _touched(pairs: Collection[Pair]) -> set[tuple[int, int, Pair]]:
    """Runs and their trajectories with the kernels of the cases that have a time there."""
    rows = Attempt.objects.filter(
        kernel_id__in={kernel for kernel, _ in pairs},
        trajectory__problem_id__in={problem for _, problem in pairs},
        time_s__isnull=False,
    )
    columns = ("trajectory__run_id", "trajectory_id", "kernel_id", "trajectory__problem_id")
    found = rows.order_by().values_list(*columns).distinct()
    return {(run, key, (kernel, problem)) for run, key, kernel, problem in found if (kernel, problem) in pairs}


def _timed(trajectories: Collection[int]) -> dict[int, list[_Timed]]:
    """Timed attempts of the trajectories that are looked at."""
    rows = Attempt.objects.filter(trajectory_id__in=trajectories, time_s__isnull=False)
    found: dict[int, list[_Timed]] = {}
    light = rows.order_by("trajectory_id", "number")
    columns = ("trajectory_id", "kernel_id", "time_s", "eager_s", "held")
    for trajectory, kernel, time_s, eager_s, held in light.values_list(*columns):
        if time_s:
            found.setdefault(trajectory, []).append(_Timed(kernel, time_s, eager_s, bool(held)))
    return found


Row = tuple[int, int, float | None, float | None]
"""A trajectory: its key, its problem's, its best time and torch eager's, in seconds."""


def _trajectories(runs: list[int]) -> dict[int, list[Row]]:
    """Each run's problems that a geomean holds: with a bound and with eager's time."""
    rows = Trajectory.objects.filter(run_id__in=runs, sol_s__isnull=False).order_by("run_id", "pk")
    found: dict[int, list[Row]] = {run: [] for run in runs}
    for run, *row in rows.values_list("run_id", "pk", "problem_id", "best_s", "eager_s"):
        found[run].append(tuple(row))  # type: ignore[arg-type]
    return found


@dataclass(frozen=True, slots=True)
class Standing:
    """One run's geomean of torch eager over best as it stands, and as it would be if every held time counted."""

    run: int
    now: float | None
    claimed: float | None


def standing(run: int) -> Standing:
    """A run's two figures; ``claimed`` is None where nothing is held. Two queries."""
    rows = _trajectories([run])[run]
    held: dict[int, list[_Timed]] = {}
    found = Attempt.objects.filter(trajectory__run_id=run, time_s__isnull=False).exclude(held="")
    for key, kernel, time_s, eager_s in found.values_list("trajectory_id", "kernel_id", "time_s", "eager_s"):
        if time_s:
            held.setdefault(key, []).append(_Timed(kernel, time_s, eager_s, True))
    now: list[Reached] = []
    claimed: list[Reached] = []
    for key, _, best_s, eager_s in rows:
        best = [_Timed(0, best_s, eager_s, False)] if best_s else []
        now.append(_reached(best, eager_s))
        claimed.append(_reached([*best, *held.get(key, [])], eager_s))
    return Standing(run, _geomean(now), _geomean(claimed) if held else None)


Reached = tuple[float | None, float | None]
"""One problem's speedup over eager and eager's time; either may be missing."""


def _effect(run: int, rows: list[Row], timed: dict[int, list[_Timed]], pairs: Collection[Pair]) -> Effect:
    now: list[Reached] = []
    counted: list[Reached] = []
    out: list[Reached] = []
    for key, problem, best_s, eager_s in rows:
        tried = timed.get(key, [])
        mine = [one for one in tried if (one.kernel, problem) in pairs]
        others = [one for one in tried if (one.kernel, problem) not in pairs and not one.held]
        stands = (eager_s / best_s if eager_s and best_s else None, eager_s)
        now.append(stands)
        counted.append(_reached([*others, *mine], eager_s) if mine else stands)
        out.append(_reached(others, eager_s) if mine else stands)
    return Effect(run, _geomean(now), _geomean(counted), _geomean(out))


def _reached(timed: Iterable[_Timed], eager_s: float | None) -> Reached:
    """What the fastest of some attempts reaches over torch eager of its own call, else over the problem's."""
    best = min(timed, key=lambda one: one.time_s, default=None)
    if best is None:
        return None, eager_s
    against = best.eager_s or eager_s
    return (against / best.time_s if against else None), against


def _geomean(problems: Iterable[Reached]) -> float | None:
    """Of problems with eager's time; None where no kernel is left in any of them."""
    held = [speedup for speedup, eager_s in problems if eager_s]
    if all(speedup is None for speedup in held):
        return None
    return figures.geomean([speedup or 1.0 for speedup in held])
