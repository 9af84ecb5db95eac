"""Every kind of move, one family a file: a family yields its moves for a scene, knows no rank and no legality."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from agent.proposers.moves import (
    conv_layout,
    fuse,
    host_conv,
    host_micro,
    host_packing,
    host_split,
    host_tile,
    once,
    plain_tile,
    precision,
    row_expression,
    rows,
    sm80_order,
    sm80_stages,
    sm80_tile,
    sm90_cluster,
    sm90_order,
    sm90_schedule,
    sm90_stages,
    sm90_tile,
    split_chain,
    threads,
    vector,
)
from agent.proposers.moves.move import Move, Scene

Family: TypeAlias = Callable[[Scene], Iterator[Move]]

FAMILIES: tuple[Family, ...] = (
    once.moves,
    fuse.moves,
    precision.moves,
    conv_layout.moves,
    host_tile.moves,
    host_micro.moves,
    host_packing.moves,
    host_split.moves,
    host_conv.moves,
    sm80_tile.moves,
    sm80_stages.moves,
    sm80_order.moves,
    sm90_tile.moves,
    sm90_cluster.moves,
    sm90_schedule.moves,
    sm90_stages.moves,
    sm90_order.moves,
    plain_tile.moves,
    threads.moves,
    rows.moves,
    row_expression.moves,
    vector.moves,
    split_chain.moves,
)


def all_moves(scene: Scene) -> Iterator[Move]:
    """Every move of every family that fits the scene, in a fixed order."""
    for family in FAMILIES:
        yield from family(scene)
