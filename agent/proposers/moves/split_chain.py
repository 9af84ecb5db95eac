"""Split a chain's tail off into a map of its own: a product without a heavy tail keeps its registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agent.proposers.moves.move import Move, Scene, size
from agent.proposers.moves.trees import NOWHERE, fresh, replaced
from kernels.dsl.edit import find_stage
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign, Name, Program


def moves(scene: Scene) -> Iterator[Move]:
    """One move a chained product (its whole chain), and one more where the chain has several links (the last).

    A product that its chain reduces stays whole: a map takes no reduction.
    """
    for stage in scene.stages("gemm", "bmm"):
        if stage.reduction is not None:
            continue
        links = len(find_stage(scene.program, stage.name).chain)
        for start in {0, links - 1} if links else ():
            yield _move(stage, start, links)


def _move(stage: Stage, start: int, links: int) -> Move:
    extra = 2 * stage.result.elements * stage.result.dtype.bytes
    tail = " >> ".join(step.text.removeprefix(">>").strip() for step in stage.chain[start:links])
    return Move(
        stage=stage.name,
        change=f"split {stage.name} before {tail}",
        hypothesis=f"{links - start} of {links} links leave the product's inner loop, for {size(extra)} more moved.",
        gain=1.0,
        implementation_risk=1.1,
        performance_risk=1.5,
        relieves="compute",
        edit=lambda program: _split(program, stage.name, start),
    )


def _split(program: Program, target: str, start: int) -> Program:
    whole = find_stage(program, target)
    head = replace(whole, target=fresh(program, f"{target}_head"), chain=whole.chain[:start], results=())
    tail = Assign(
        target=target,
        op="map",
        args=(Name(head.target, NOWHERE),),
        kwargs=(),
        knobs=(),
        chain=whole.chain[start:],
        once=whole.once,
        span=NOWHERE,
    )
    return replaced(program, target, head, tail)
