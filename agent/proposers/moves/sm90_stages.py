"""sm_90a: other depths of a product's pipeline through shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from agent.proposers.moves.move import Move, Scene, knob_move, size
from agent.proposers.moves.sm90_product import on_card


def moves(scene: Scene) -> Iterator[Move]:
    """Two to seven stages; the checker drops those that shared memory cannot hold."""
    for stage in on_card(scene):
        m, n, k = stage.knobs["tile"]
        a, b = (value.dtype.bytes for value in stage.operands[:2])
        taken = (m * a + n * b) * k
        for stages in range(2, 8):
            if stages != stage.knobs["stages"]:
                yield knob_move(
                    stage,
                    "stages",
                    (stages,),
                    f"{stages} stages of {size(taken)} keep {size(stages * taken)} of shared memory in flight.",
                    gain=1.02,
                    relieves="memory",
                    implementation_risk=1.1,
                )
