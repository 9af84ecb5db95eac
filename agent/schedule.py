"""Whose turn it is, where several problems of one run wait for the same worker: attempts go where the headroom is.

Stride scheduling: a problem has a weight by its headroom, and the next turn is the one whose attempts, divided by its
weight, are fewest. Weights lie between LEAST and 1, so every problem's turn comes: one that is near the speed of light
gets a share that is smaller, never none. Pure: no clock, no chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

LEAST = 1 / 8
"""The weight of a problem with no headroom left: one turn for eight of a problem far from SOL."""
FAR = 4.0
"""From this gap on a problem has the full weight of its headroom."""
HALVED_AFTER = 8
"""So many attempts without progress halve a weight."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A problem that waits. ``gap`` is best over SOL, None where nothing passed yet or there is no bound; ``attempts``
    ended, ``idle`` of them since the last one that was a new best. ``place`` breaks ties: who came first."""

    key: int
    gap: float | None
    attempts: int
    idle: int
    place: int


def weight(waiting: Waiting) -> float:
    """LEAST to 1: the headroom on a logarithmic scale, halved for every HALVED_AFTER attempts without progress."""
    gap = waiting.gap
    headroom = 1.0 if gap is None else min(1.0, max(0.0, math.log(max(gap, 1.0)) / math.log(FAR)))
    return max(LEAST, headroom * math.exp2(-waiting.idle / HALVED_AFTER))


def in_turn(waiting: Iterable[Waiting]) -> list[int]:
    """Their keys, next turn first. What was never measured comes before everything else: nobody knows its headroom."""

    def turn(each: Waiting) -> tuple[bool, float, int]:
        return each.attempts > 0, (each.attempts + 1) / weight(each), each.place

    return [each.key for each in sorted(waiting, key=turn)]
