"""How many elements one access of a map or a cast takes."""

from __future__ import annotations

from collections.abc import Iterator

from agent.proposers.moves.move import Move, Scene, knob_move
from kernels.dsl.ir import Stage


def moves(scene: Scene) -> Iterator[Move]:
    """Powers of two that divide the last extent."""
    for stage in scene.stages("map", "cast"):
        now = int(stage.knobs["vector"])
        last = stage.result.shape[-1] if stage.result.shape else 1
        for vector in (1, 2, 4, 8, 16, 32):
            if vector != now and last % vector == 0:
                yield _move(stage, vector)


def _move(stage: Stage, vector: int) -> Move:
    taken = vector * stage.result.dtype.bytes
    return knob_move(
        stage,
        "vector",
        (vector,),
        f"One access takes {vector} elements, {taken} bytes of {stage.name}'s {stage.result.shape[-1:]} row.",
        gain=1.1 if taken >= 16 else 0.95,
        relieves="memory",
    )
