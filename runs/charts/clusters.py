"""Fewer marks where a chart would get too many: attempts on one problem with nearly the same time become one.

Nothing is left out: a mark says for how many attempts it stands, and the files and tables hold each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from runs.readings import Reading, Step

MOST_POINTS = 1200
"""Marks of one chart, besides those of the best and of what is held, which are always drawn one by one."""
_FIRST_WIDTH, _WIDER = 0.01, 1.25


class Cluster(NamedTuple):
    """Attempts on one problem, fastest first, and the share by which their times may differ (0: one of each time)."""

    reading: Reading
    steps: tuple[Step, ...]


def clusters(readings: Iterable[Reading], most: int = MOST_POINTS) -> tuple[list[Cluster], float]:
    """All counted attempts but each problem's best, and the width e of a cluster: times within a factor 1 + e.

    The width is 0 where every attempt may stand alone, else the smallest of 1 %, 1.25 %, 1.56 % … that is enough.
    """
    rows = [(one, _others(one)) for one in readings]
    times = [[step.time_s or 0.0 for step in steps] for _, steps in rows]
    width = 0.0
    if sum(map(len, times)) > most:
        width = _FIRST_WIDTH
        while sum(_count(each, width) for each in times) > max(most, len(times)):
            width *= _WIDER
    return [Cluster(one, part) for one, steps in rows for part in _parts(steps, width)], width


def _count(times: Sequence[float], width: float) -> int:
    """How many parts ``_parts`` would make of sorted times."""
    found, limit = 0, 0.0
    for each in times:
        if each > limit or not found:
            found, limit = found + 1, each * (1 + width)
    return found


def _others(reading: Reading) -> list[Step]:
    others = [step for step in reading.counted if step != reading.best]
    return sorted(others, key=lambda step: step.time_s or math.inf)


def _parts(steps: Sequence[Step], width: float) -> list[tuple[Step, ...]]:
    """Steps sorted by time, cut where one is slower than the part's first by more than the width."""
    found: list[list[Step]] = []
    limit = 0.0
    for step in steps:
        if not found or not width or step.time_s is None or step.time_s > limit:
            found.append([])
            limit = (step.time_s or 0.0) * (1 + width)
        found[-1].append(step)
    return [tuple(part) for part in found]
