"""Host: other register tiles for a product, with the cache block rounded to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agent.proposers.moves.host_product import Blocking
from agent.proposers.moves.move import Move, Scene, knob_move
from kernels.dsl.edit import set_knob
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Program
from kernels.targets import Target

_TILES = (
    *((rows, 8) for rows in (4, 6, 8, 12)),
    *((rows, 16) for rows in (4, 6, 8, 24, 28)),
    *((rows, 32) for rows in (4, 6, 8, 10, 12, 14)),
    (8, 48),
    (6, 64),
)


def moves(scene: Scene) -> Iterator[Move]:
    """One move a register tile; the checker drops those that the machine's vectors do not divide."""
    if scene.started.target is not Target.HOST:
        return
    for stage in scene.stages("gemm", "bmm"):
        now = Blocking.of(scene, stage)
        for micro in _TILES:
            if micro != now.micro:
                yield _move(stage, now, micro)


def _move(stage: Stage, now: Blocking, micro: tuple[int, int]) -> Move:
    def whole(extent: int, part: int) -> int:
        return max(1, round(extent / part)) * part

    tile = (whole(now.tile[0], micro[0]), whole(now.tile[1], micro[1]), now.tile[2])
    gain, words = now.better(micro=micro, tile=tile)
    move = knob_move(
        stage, "micro", micro, words, gain=gain, relieves="compute", implementation_risk=1.05, performance_risk=1.3
    )
    if tile == now.tile:
        return move

    def edit(program: Program) -> Program:
        return set_knob(set_knob(program, stage.name, "micro", micro), stage.name, "tile", tile)

    return replace(move, edit=edit, change=f"{move.change}.tile({', '.join(map(str, tile))})")
