"""Look at problems from outside: a child process traces them, this one only reads its answers (see ``batch``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kernels.childprocess import ChildLimits
from kernels.problems.batch import Found, look_at
from kernels.problems.inspection import Inspection
from kernels.problems.sample import Sample

LIMITS = ChildLimits(seconds=60.0, memory_bytes=8 * 2**30, address_space_bytes=48 * 2**30)
"""Limits on one problem. Looking at the largest of KernelBench's takes 5 s and 1 GB: their tensors have no memory."""


def inspect(
    path: Path, size: str, *, limits: ChildLimits = LIMITS, cancelled: Callable[[], bool] | None = None
) -> Inspection:
    """Signature and graph of one problem at one size (a name in its ``SIZES``, or "default").

    Raises a ProblemFileError for a file that is no problem, and a ProblemRunError (ProblemTimedOut,
    ProblemOutOfMemory, ProblemCrashed, ProblemRaised, ProblemUnsupported, InspectionCancelled) for one whose code
    goes wrong. ``cancelled`` is asked about ten times a second.
    """
    found = inspect_many([path], size, limits=limits, cancelled=cancelled)[0]
    if isinstance(found, Inspection):
        return found
    raise found


def inspect_many(
    paths: Sequence[Path],
    size: str | Sequence[str],
    *,
    limits: ChildLimits = LIMITS,
    cancelled: Callable[[], bool] | None = None,
    seen: Callable[[int, Inspection | Exception], None] | None = None,
    workers: int = 1,
) -> list[Inspection | Exception]:
    """Look at several problems with one import of torch; ``limits`` hold for each. One answer a path, in order.

    ``size`` is one size for all or one a path. An answer is an inspection or the error that ``inspect`` would raise.
    ``seen`` is called with each place and answer as soon as it is there, in order where one worker looks at them;
    ``workers`` is how many problems are looked at at a time.
    """
    sizes = [size] * len(paths) if isinstance(size, str) else list(size)
    answers: dict[int, Inspection | Exception] = {}

    def settle(place: int, found: Found) -> None:
        if isinstance(found, Sample):
            raise TypeError("a sample, where an inspection was asked for")
        answers[place] = found
        if seen is not None:
            seen(place, found)

    look_at(paths, sizes, [None] * len(paths), limits, settle, cancelled=cancelled, workers=workers)
    return [answers[place] for place in range(len(paths))]
