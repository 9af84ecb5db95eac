"""How many threads: of the machine on the host, of a block on a card."""

from __future__ import annotations

from collections.abc import Iterator

from agent.proposers.moves.move import Move, Scene, knob_move
from kernels.dsl.ir import Stage
from kernels.targets import Target

_PRODUCTS = ("gemm", "bmm", "conv", "grouped_gemm")
_MOVING = ("map", "cast", "pool", "pad", "relayout")
_BLOCK = (128, 256, 512, 1024)
_SMALL = 1 << 16
"""Elements below which starting threads costs more than it saves; only ranks ideas."""


def moves(scene: Scene) -> Iterator[Move]:
    """Host: one, half, all. Card: the usual block sizes, for what moves data."""
    if scene.started.target is Target.HOST:
        for stage in scene.stages(*_PRODUCTS, *_MOVING):
            yield from _host(scene, stage)
    else:
        for stage in scene.stages(*_MOVING):
            yield from _card(stage)


def _host(scene: Scene, stage: Stage) -> Iterator[Move]:
    cores = scene.started.cores
    small = stage.result.elements < _SMALL and stage.op in _MOVING
    for threads in sorted({1, cores // 2, cores} - {0}):
        if threads == (stage.knobs["threads"] or cores):
            continue
        fewer = threads < cores
        why = "too few to pay for waking more" if small and fewer else "a fixed share a core"
        yield knob_move(
            stage,
            "threads",
            (threads,),
            f"{stage.result.elements:,} elements on {threads} of {cores} cores: {why}.",
            gain=1.0 if not fewer else 1.2 if small else max(0.5, threads / cores),
            relieves="both",
            performance_risk=1.2 if small == fewer else 1.6,
        )


def _card(stage: Stage) -> Iterator[Move]:
    now = int(stage.knobs["threads"])
    for threads in _BLOCK:
        if threads != now:
            yield knob_move(
                stage,
                "threads",
                (threads,),
                f"Blocks of {threads} threads instead of {now}: {-(-stage.result.elements // threads):,} of them.",
                gain=1.05,
                relieves="memory",
            )
