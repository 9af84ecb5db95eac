"""sm_80: other depths of a product's pipeline, with the larger shared memory where they need it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agent.proposers.moves.move import Move, Scene, knob_move, size
from agent.proposers.moves.sm80_product import on_ampere
from kernels.dsl.edit import set_knob
from kernels.dsl.ir import Stage
from kernels.dsl.sm80_defaults import LARGE_SHARED
from kernels.dsl.sm80_resources import stage_bytes
from kernels.dsl.syntax import Program


def moves(scene: Scene) -> Iterator[Move]:
    """Two to six stages; the checker drops those that no mainloop or no card has."""
    for stage in on_ampere(scene):
        for stages in range(2, 7):
            if stages != stage.knobs["stages"]:
                yield _move(stage, stages)


def _move(stage: Stage, stages: int) -> Move:
    taken = stage_bytes(stage)
    move = knob_move(
        stage,
        "stages",
        (stages,),
        f"{stages} stages of {size(taken)} keep {size(stages * taken)} of shared memory in flight.",
        gain=1.02,
        relieves="memory",
        implementation_risk=1.1,
    )
    if stages * taken <= int(stage.knobs["shared"]) * 1024:
        return move

    def edit(program: Program) -> Program:
        return set_knob(set_knob(program, stage.name, "stages", (stages,)), stage.name, "shared", (LARGE_SHARED,))

    # A card of 99 KiB refuses to start it.
    return replace(move, edit=edit, change=f"{move.change}.shared({LARGE_SHARED})", implementation_risk=1.4)
