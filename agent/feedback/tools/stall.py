"""One reason that warps wait for more than for all others."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import MOVING, ROWS, Case, at_memory_roof, is_product, scaled, tensor_cores_fed
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.profiling.digest import STALL_WORDS, percent
from kernels.profiling.record import KernelProfile, Stall

_SHARE, _CRITICAL = 0.4, 0.6
_FOR_MEMORY = ("long_scoreboard", "lg_throttle")
_NOT_WAITING = ("selected", "not_selected", "barrier")


class DominantStall(Tool):
    """A stall of over 40 percent of a warp's time, critical from 60; barriers have a tool of their own.

    Waiting for what is busy to its limit, tensor cores or memory, is no stall to be mended.
    """

    name = "stall"
    title = "Dominant stall"
    general = (
        "Give each thread independent work to do while it waits: more loads in flight, more elements a thread."
    )

    def trigger(self, case: Case) -> Sight | None:
        """By the profile."""
        kernel = case.first(lambda each: _dominant(each) is not None)
        stall = _dominant(kernel) if kernel is not None else None
        if kernel is None or stall is None or stall.share is None:
            return None
        seen = f"{percent(stall.share * 100)} of a warp's time is {stall.reason.replace('_', ' ')}"
        return Sight((seen,), case.stage_of(kernel), kernel, stall.share)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """If the wait were hidden to the last cycle, its share would be gone: the most there is to win."""
        severity = Severity.CRITICAL if sight.value >= _CRITICAL else Severity.WARNING
        reason = _reason(sight)
        return Judgement(severity, f"Warps spend their time {STALL_WORDS.get(reason, reason)}.")

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """By what is waited for."""
        stage, reason = sight.stage, _reason(sight)
        if stage is None:
            return
        if is_product(stage):
            if reason in ("long_scoreboard", "lg_throttle", "short_scoreboard", "mio_throttle"):
                deeper = [*scaled(stage, "stages", (2,), (1.5,)), (4,), (3,)]
                yield from case.knob(stage, "stages", deeper, "More tiles of K in flight hide the way to memory.")
            larger = scaled(stage, "tile", (1, 2, 1), (2, 1, 1), (1, 1, 2))
            yield from case.knob(
                stage, "tile", larger, "A larger tile multiplies more for each byte that it waits for."
            )
            yield from case.knob(
                stage, "schedule", [("pingpong",), ("cooperative",)], "Another way to overlap warps."
            )
        elif stage.op in (*MOVING, *ROWS):
            yield from case.knob(stage, "vector", [(8,), (4,)], "More bytes in flight for each thread.")
            yield from case.knob(stage, "threads", [(256,), (512,), (128,)], "Other warps to switch to.")


def _dominant(kernel: KernelProfile) -> Stall | None:
    stall = next((each for each in kernel.stalls if each.reason not in _NOT_WAITING), None)
    if stall is None or stall.share is None or stall.share <= _SHARE:
        return None
    fed = tensor_cores_fed(kernel) and stall.reason in ("gmma", "math_pipe_throttle", "wait")
    streaming = stall.reason in _FOR_MEMORY and at_memory_roof(kernel)
    return None if fed or streaming else stall


def _reason(sight: Sight) -> str:
    stall = _dominant(sight.kernel) if sight.kernel is not None else None
    return stall.reason if stall is not None else ""
