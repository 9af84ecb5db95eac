"""Fuse a map, or a cast, into the chain of the stage whose result it alone reads.

Saves one write and one read of the intermediate. It does not fuse through views or into torch stages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agent.proposers.moves.move import Move, Scene, size
from agent.proposers.moves.trees import NOWHERE, names, replaced, substitute, uses
from kernels.dsl.edit import find_stage, set_knob
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Argument, Binary, Call, Link, Name, Program

_LINKS = {("+", "left"): "add", ("+", "right"): "add", ("*", "left"): "mul", ("*", "right"): "mul",
          ("-", "left"): "sub", ("-", "right"): "rsub", ("/", "left"): "div", ("/", "right"): "rdiv"}  # fmt: skip
"""The link for ``acc OP other`` (left) and ``other OP acc`` (right)."""


def moves(scene: Scene) -> Iterator[Move]:
    """One move for each stage that can join its producer."""
    made = {stage.result.name: stage for stage in scene.checked.stages if len(stage.results) == 1}
    for consumer in scene.stages("map", "cast"):
        for operand in consumer.operands:
            producer = made.get(operand.name)
            if producer is not None and _fits(scene, producer, consumer):
                yield _move(producer, consumer)
                break


def _fits(scene: Scene, producer: Stage, consumer: Stage) -> bool:
    if producer.op not in ("gemm", "bmm", "map") or producer.once or producer.reduction is not None:
        return False
    if producer.result.shape != consumer.result.shape:
        return False
    if uses(scene.program, producer.name) != _plain_uses(scene.program, producer.name, consumer.name):
        return False
    if consumer.op == "cast":
        return producer.op != "map"
    return producer.result.dtype == consumer.result.dtype


def _plain_uses(program: Program, name: str, consumer: str) -> int:
    """How often the consumer's own arguments read ``name`` as it is; its chain's operands do not count."""
    return sum(text == name for argument in find_stage(program, consumer).args for text in names(argument))


def _move(producer: Stage, consumer: Stage) -> Move:
    saved = 2 * producer.result.elements * producer.result.dtype.bytes
    return Move(
        stage=consumer.name,
        change=f"fuse {consumer.name} into {producer.name}",
        hypothesis=f"{producer.name} is written and read back for {consumer.name} alone: "
        f"in the chain, {size(saved)} less move.",
        gain=4.0,
        implementation_risk=1.05,
        performance_risk=1.1,
        relieves="both",
        edit=lambda program: _fuse(program, producer.name, consumer.name),
    )


def _fuse(program: Program, producer: str, consumer: str) -> Program:
    first, second = find_stage(program, producer), find_stage(program, consumer)
    links: tuple[Link, ...] = ()
    if second.op == "cast":
        dtype = second.args[1]
        assert isinstance(dtype, Name)
        program = set_knob(program, producer, "out", (dtype.text,))
        first = find_stage(program, producer)
    else:
        links = _links(second.args[0], producer)
    joined = replace(first, target=consumer, chain=(*first.chain, *links, *second.chain), results=())
    # The joined stage stands where the consumer stood: its other operands are made by then.
    return replaced(replaced(program, producer), consumer, joined)


def _links(expression: Argument, name: str) -> tuple[Link, ...]:
    """The links that compute ``expression`` from the value that ``name`` was."""
    if isinstance(expression, Name):
        return ()
    if isinstance(expression, Call) and len(expression.args) == 1 and not expression.kwargs:
        return (*_links(expression.args[0], name), Link(expression.function, (), (), NOWHERE))
    if isinstance(expression, Binary):
        for side in ("left", "right"):
            inner, other = expression.left, expression.right
            if side == "right":
                inner, other = other, inner
            if name in names(inner) and name not in names(other):
                return (*_links(inner, name), Link(_LINKS[expression.operator, side], (other,), (), NOWHERE))
    return (Link("expr", (substitute(expression, name, Name("acc", NOWHERE)),), (), NOWHERE),)
