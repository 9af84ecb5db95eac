"""sm_90a: other clusters, whose tiles share operands by multicast."""

from __future__ import annotations

from collections.abc import Iterator

from agent.proposers.moves.move import Move, Scene, knob_move
from agent.proposers.moves.sm90_product import Tiling, on_card

_CLUSTERS = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4))


def moves(scene: Scene) -> Iterator[Move]:
    """Clusters of up to four tiles."""
    for stage in on_card(scene):
        now = Tiling.of(stage)
        for cluster in _CLUSTERS:
            if cluster != now.cluster:
                gain, words = now.better(cluster=cluster)
                yield knob_move(stage, "cluster", cluster, words, gain=gain, relieves="memory")
