"""Rows (reductions, softmax, norms): how much of a row is under way at once, and who works on it."""

from __future__ import annotations

from collections.abc import Iterator

from agent.proposers.moves.move import Move, Scene, knob_move
from kernels.dsl.ir import Stage
from kernels.targets import Target

_AT_ONCE = (1, 2, 4, 8)
_THREADS_A_ROW = (32, 64, 128, 256, 512, 1024)


def moves(scene: Scene) -> Iterator[Move]:
    """Host: vectors in flight a row, and fewer threads. Card: elements a load, and threads a row."""
    for stage in scene.stages("reduce", "softmax", "norm"):
        columns = int(stage.attributes["columns"])
        yield from _at_once(scene, stage, columns)
        if scene.started.target is Target.HOST:
            yield from _threads_of_the_machine(scene, stage)
        else:
            yield from _threads_of_a_row(stage, columns)


def _at_once(scene: Scene, stage: Stage, columns: int) -> Iterator[Move]:
    what = "vectors" if scene.started.target is Target.HOST else "elements a load"
    for vector in _AT_ONCE:
        if vector != int(stage.knobs["vector"]):
            hypothesis = (
                f"{vector} {what} in flight on a row of {columns:,}: more hide latency, fewer leave registers."
            )
            yield knob_move(stage, "vector", (vector,), hypothesis, gain=1.03, relieves="memory")


def _threads_of_the_machine(scene: Scene, stage: Stage) -> Iterator[Move]:
    cores, rows = scene.started.cores, int(stage.attributes["rows"])
    for threads in sorted({1, cores // 2, cores} - {0}):
        if threads != (int(stage.knobs["threads"]) or cores):
            hypothesis = f"{rows:,} rows on {threads} of {cores} cores: a memory-bound row may not need them all."
            yield knob_move(
                stage, "threads", (threads,), hypothesis, gain=0.9, relieves="memory", performance_risk=1.4
            )


def _threads_of_a_row(stage: Stage, columns: int) -> Iterator[Move]:
    for threads in _THREADS_A_ROW:
        if threads != int(stage.knobs["threads"]) and threads <= max(columns, _THREADS_A_ROW[0]):
            share = -(-columns // threads)
            hypothesis = f"{threads} threads a row of {columns:,}: {share:,} elements each."
            yield knob_move(stage, "threads", (threads,), hypothesis, gain=1.05, relieves="memory")
