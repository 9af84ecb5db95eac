"""Records of correctness: why a candidate is incorrect, how far it was off in each round, and where it was worst.

Records and their words only; no torch, no comparing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class IncorrectReason(StrEnum):
    """Why a candidate is incorrect. Where several reasons hold, the first of this order is the evaluation's."""

    OUTPUT_KIND = "output_kind"
    SHAPE = "shape"
    DTYPE = "dtype"
    INPUTS_CHANGED = "inputs_changed"
    PARAMETERS_CHANGED = "parameters_changed"
    NOT_WRITTEN = "not_written"
    NOT_FINITE = "not_finite"
    ALL_ZERO = "all_zero"
    STALE = "stale"
    NON_DETERMINISTIC = "non_deterministic"
    VALUES = "values"
    TIMED_OUTPUTS = "timed_outputs"
    STRIDES = "strides"
    REPEATS = "repeats"
    NO_KERNEL = "no_kernel"
    UNFINISHED = "unfinished"
    CLOCK = "clock"
    PROCESSES = "processes"

    @property
    def words(self) -> str:
        """The reason in words that stand after "incorrect:"."""
        return _WORDS[self]


_WORDS = {
    IncorrectReason.OUTPUT_KIND: "the output is of another kind",
    IncorrectReason.SHAPE: "an output has another shape",
    IncorrectReason.DTYPE: "an output has another element type",
    IncorrectReason.INPUTS_CHANGED: "a call changed its inputs",
    IncorrectReason.PARAMETERS_CHANGED: "a call changed the weights",
    IncorrectReason.NOT_WRITTEN: "part of an output was never written",
    IncorrectReason.NOT_FINITE: "NaN or infinity where a number belongs",
    IncorrectReason.ALL_ZERO: "an output is all zero",
    IncorrectReason.STALE: "the answer does not follow the inputs",
    IncorrectReason.NON_DETERMINISTIC: "calls on the same inputs disagree",
    IncorrectReason.VALUES: "values are off",
    IncorrectReason.TIMED_OUTPUTS: "a timed call gave a wrong answer",
    IncorrectReason.STRIDES: "strided inputs are read as dense ones",
    IncorrectReason.REPEATS: "only inputs seen before are answered fast",
    IncorrectReason.NO_KERNEL: "no kernel ran on the card",
    IncorrectReason.UNFINISHED: "the card worked outside of the timed window",
    IncorrectReason.CLOCK: "the two clocks disagree",
    IncorrectReason.PROCESSES: "a process was left running",
}

CHECK_REASONS = {
    "output kind": IncorrectReason.OUTPUT_KIND,
    "output structure": IncorrectReason.OUTPUT_KIND,
    "shape": IncorrectReason.SHAPE,
    "dtype": IncorrectReason.DTYPE,
    "inputs unchanged": IncorrectReason.INPUTS_CHANGED,
    "parameters unchanged": IncorrectReason.PARAMETERS_CHANGED,
    "every element written": IncorrectReason.NOT_WRITTEN,
    "finite": IncorrectReason.NOT_FINITE,
    "not all zero": IncorrectReason.ALL_ZERO,
    "follows the inputs": IncorrectReason.STALE,
    "deterministic": IncorrectReason.NON_DETERMINISTIC,
    "matched share": IncorrectReason.VALUES,
    "max relative error": IncorrectReason.VALUES,
    "one element changed": IncorrectReason.VALUES,
    "scaled inputs": IncorrectReason.VALUES,
    "shifted inputs": IncorrectReason.VALUES,
    "timed outputs": IncorrectReason.TIMED_OUTPUTS,
    "outputs after timing": IncorrectReason.TIMED_OUTPUTS,
    "strided inputs": IncorrectReason.STRIDES,
    "unseen inputs": IncorrectReason.REPEATS,
    "kernel activity": IncorrectReason.NO_KERNEL,
    "device work": IncorrectReason.UNFINISHED,
    "work in the window": IncorrectReason.UNFINISHED,
    "clock agreement": IncorrectReason.CLOCK,
    "repeated calls": IncorrectReason.CLOCK,
    "processes": IncorrectReason.PROCESSES,
}
"""What it means that a check fails, by the check's name. Checks that never fail have no entry."""

_ORDER = {reason: place for place, reason in enumerate(IncorrectReason)}


def reason_of(failed: Iterable[str]) -> IncorrectReason:
    """The reason that the names of the failed checks give; ``values`` where no name is known."""
    found = [CHECK_REASONS[name] for name in failed if name in CHECK_REASONS]
    return min(found, key=_ORDER.__getitem__, default=IncorrectReason.VALUES)


@dataclass(frozen=True, slots=True)
class Tile:
    """A piece of at most 64 x 64 elements of the last two dimensions of output number ``output``.

    ``shape`` is the whole output's, ``batch`` the index of the leading dimensions, ``rows`` and ``columns`` are
    half-open ranges. An output of one dimension is one row. ``error`` is ||error|| over the larger of ||reference||
    within the tile and a tile of the output's root mean square.
    """

    output: int
    shape: tuple[int, ...]
    batch: tuple[int, ...]
    rows: tuple[int, int]
    columns: tuple[int, int]
    error: float

    @property
    def words(self) -> str:
        """``rows 64–127, columns 0–63 of output 0[2]``."""
        where = f"output {self.output}" + (f"[{', '.join(map(str, self.batch))}]" if self.batch else "")
        if not self.shape:
            return where
        if len(self.shape) == 1:
            return f"{_range('element', self.columns)} of {where}"
        return f"{_range('row', self.rows)}, {_range('column', self.columns)} of {where}"


def _range(what: str, ends: tuple[int, int]) -> str:
    first, last = ends[0], ends[1] - 1
    return f"{what} {first}" if first == last else f"{what}s {first}–{last}"


@dataclass(frozen=True, slots=True)
class Errors:
    """One comparison with the reference; the worst of each measure over all outputs, against float64 but for shares.

    ``relative``: largest error over the largest magnitude of the output. ``elementwise``: largest |error| over the
    larger of |reference| and the output's root mean square. ``normwise``: ||error|| / ||reference||. ``absolute``:
    largest error. ``matched``: share of elements that count as right, by the rule that decides; ``matched_own`` and
    ``matched_float64``: shares within the tolerance of the reference in its own precision, and in float64. ``stray``
    elements are NaN or infinite where the reference has a number, ``unwritten`` ones still hold what was there before
    the call.
    """

    relative: float
    elementwise: float
    normwise: float
    absolute: float
    matched: float
    matched_own: float
    matched_float64: float
    stray: int
    unwritten: int
    tile: Tile | None


@dataclass(frozen=True, slots=True)
class RoundErrors:
    """One round: what its inputs were, and the errors of the candidate and of torch eager on them.

    ``errors`` is None where the round was not done; ``note`` then says why, else it is empty.
    """

    name: str
    inputs: str
    errors: Errors | None
    eager: Errors | None
    note: str = ""
