"""sm_90a: other schedules of a product's warp groups, and of its tiles over the SMs."""

from __future__ import annotations

from collections.abc import Iterator

from agent.proposers.moves.move import Move, Scene, knob_move
from agent.proposers.moves.sm90_product import Tiling, on_card

_REASONS = {
    "cooperative": "Two warp groups share one tile, so that each holds half of the accumulator.",
    "pingpong": "Two warp groups take turns, so that the epilogue of {links} links hides behind the next tile.",
}


def moves(scene: Scene) -> Iterator[Move]:
    """The schedules that the stage does not have."""
    for stage in on_card(scene):
        now = Tiling.of(stage)
        for schedule in ("cooperative", "pingpong", "streamk"):
            if schedule == now.schedule:
                continue
            gain, words = now.better(schedule=schedule)
            if schedule == "pingpong":
                gain *= 1.1
            words = _REASONS.get(schedule, words).format(links=len(stage.chain))
            yield knob_move(
                stage, "schedule", (schedule,), words, gain=gain, relieves="compute", implementation_risk=1.2
            )
