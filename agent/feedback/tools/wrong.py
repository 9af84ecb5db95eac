"""A wrong answer: by how much, where first, and what usually makes such an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from agent.feedback.case import PRODUCTS, Case
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.failures import FailureTool
from agent.feedback.tools.tool import Judgement, Sight
from kernels.harness.correctness import IncorrectReason, Tile
from kernels.harness.evaluation import Outcome

_USUAL = {
    IncorrectReason.SHAPE: "Give the outputs in the shapes of the problem's signature.",
    IncorrectReason.DTYPE: "Give the outputs in the problem's own element types; convert at the end.",
    IncorrectReason.INPUTS_CHANGED: "Write to results only; copy an input that is to be changed.",
    IncorrectReason.PARAMETERS_CHANGED: "Write to results only; the weights stay as they are.",
    IncorrectReason.NOT_WRITTEN: "Cover the edge: the grid must reach the last, partly filled tile.",
    IncorrectReason.NOT_FINITE: "Look for a division by zero, an exponential without its maximum subtracted, or reads "
    "of memory that nobody wrote.",
    IncorrectReason.ALL_ZERO: "Nothing was computed: is the kernel launched, and on the stream that was given?",
    IncorrectReason.STALE: "Compute from the inputs of each call; keep nothing of an earlier one.",
    IncorrectReason.NON_DETERMINISTIC: "Two threads write to one place, or read it before it is written: look for a "
    "missing barrier or an atomic sum.",
    IncorrectReason.TIMED_OUTPUTS: "Every call must give the whole answer, the timed ones as well.",
    IncorrectReason.STRIDES: "Follow the strides of the inputs, or make a contiguous copy first.",
    IncorrectReason.REPEATS: "Do the work at every call; inputs are never the same.",
    IncorrectReason.NO_KERNEL: "The work must run on the card.",
    IncorrectReason.UNFINISHED: "Launch on the stream that was given, so that the call's end is seen.",
    IncorrectReason.CLOCK: "Let the call do its work before it returns, and on the stream that was given.",
    IncorrectReason.PROCESSES: "End what was started before the call returns.",
    IncorrectReason.OUTPUT_KIND: "Return what the problem returns: a tensor, or a tuple of them.",
}


class Wrong(FailureTool):
    """The checks that failed, the worst tile, and the usual cause of such a reason."""

    name = "wrong"
    title = "Wrong answer"
    general = "Compare with the reference on a small size, beginning at the tile that is named."
    outcomes: ClassVar[frozenset[Outcome]] = frozenset({Outcome.INCORRECT})

    def trigger(self, case: Case) -> Sight | None:
        """Every incorrect candidate."""
        if not self.looks_at(case):
            return None
        seen = [
            f"{check.name}: {check.seen if check.seen is not None else 'failed'}"
            + (f", limit {check.limit}" if check.limit is not None else "")
            + (f" ({check.note[:200]})" if check.note else "")
            for check in case.evidence.checks
            if check.failed
        ][:3]
        tile = _worst(case)
        if tile is not None:
            seen.append(f"worst tile: {tile.words}, error {tile.error:.3g}")
        return Sight(tuple(seen) or (case.evidence.detail[:300],))

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """The reason in the harness's words."""
        reason = case.evidence.reason
        said = reason.words if reason is not None else "the answer is wrong"
        tile = _worst(case)
        where = _where(tile) if tile is not None else ""
        return Judgement(Severity.CRITICAL, f"Incorrect: {said}{where}.")

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """The usual cause; for values, the precision of the products before the arithmetic."""
        reason = case.evidence.reason
        if reason in _USUAL:
            yield Advice(_USUAL[reason])
            return
        for stage in case.stages(*PRODUCTS):
            if stage.knobs.get("math", "f32") != "f32":
                finer = [("bf16x6",), ("tf32x3",), ("tf32",), ("f32",)]
                yield from case.knob(stage, "math", finer, "More exact products, where rounding is what is off.")
                break


def _worst(case: Case) -> Tile | None:
    tiles = [each.errors.tile for each in case.evidence.rounds if each.errors is not None]
    return max((tile for tile in tiles if tile is not None), key=lambda tile: tile.error, default=None)


def _where(tile: Tile) -> str:
    """What the place of the worst tile says: an edge that is not covered, or the whole."""
    if len(tile.shape) < 2:
        return ""
    last = tile.rows[1] == tile.shape[-2] or tile.columns[1] == tile.shape[-1]
    first = tile.rows[0] == 0 and tile.columns[0] == 0
    if last and not first:
        return ", worst at the last tile of a side: look at how the edge is covered"
    return ""
