"""Run problems from outside and get the figures of what they give (see ``sample``): a child process does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kernels.childprocess import ChildLimits
from kernels.problems.batch import Found, look_at
from kernels.problems.inspection import Inspection
from kernels.problems.sample import Budget, Sample

LIMITS = ChildLimits(seconds=180.0, memory_bytes=9 * 2**30, address_space_bytes=48 * 2**30)
"""Limits on one problem. Budgets keep to a third of them; a problem that breaks one is not run."""


def sample_many(
    paths: Sequence[Path],
    sizes: Sequence[str],
    budgets: Sequence[Budget],
    *,
    limits: ChildLimits = LIMITS,
    cancelled: Callable[[], bool] | None = None,
    seen: Callable[[int, Sample | Exception], None] | None = None,
    workers: int = 1,
) -> list[Sample | Exception]:
    """A sample of each problem, or the error that says why there is none, in order. As ``inspect_many`` otherwise."""
    answers: dict[int, Sample | Exception] = {}

    def settle(place: int, found: Found) -> None:
        if isinstance(found, Inspection):
            raise TypeError("an inspection, where a sample was asked for")
        answers[place] = found
        if seen is not None:
            seen(place, found)

    look_at(paths, sizes, budgets, limits, settle, cancelled=cancelled, workers=workers)
    return [answers[place] for place in range(len(paths))]
