"""Write a map into the call of the row stage that alone reads it, or take an expression out of one as a map again.

The first saves a write and a read of the intermediate; the second computes each element once where rows are read
twice. Maps with a chain, and results that the row stage reads through a view, stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agent.proposers.moves.move import Move, Scene, size
from agent.proposers.moves.trees import NOWHERE, fresh, names, replaced, substitute, uses
from kernels.dsl.edit import find_stage
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign, Name, Program


def moves(scene: Scene) -> Iterator[Move]:
    """A move for each map that a row stage can take in, and for each row stage over an expression."""
    made = {stage.result.name: stage for stage in scene.stages("map")}
    for consumer in scene.stages("reduce", "softmax", "norm"):
        for operand in consumer.operands:
            producer = made.get(operand.name)
            if producer is not None and _fits(scene.program, producer, consumer):
                yield _join(producer, consumer)
                break
        if consumer.attributes["prologue"] is not None:
            yield _split(consumer)


def _fits(program: Program, producer: Stage, consumer: Stage) -> bool:
    """Whether the rows may follow a tensor of the map, and nothing else reads the map's result."""
    made, call = producer.result, find_stage(program, consumer.name)
    if find_stage(program, producer.name).chain or not call.args:
        return False
    dense = any(
        value.shape == made.shape and value.dtype is made.dtype and (value.contiguous or value.channels_last)
        for value in producer.operands
    )
    return dense and uses(program, made.name) == sum(text == made.name for text in names(call.args[0]))


def _join(producer: Stage, consumer: Stage) -> Move:
    saved = 2 * producer.result.elements * producer.result.dtype.bytes
    return Move(
        stage=consumer.name,
        change=f"inline {producer.name} in {consumer.name}",
        hypothesis=f"{producer.name} is written and read back for the rows of {consumer.name} alone: "
        f"computed there, {size(saved)} less move.",
        gain=2.0,
        implementation_risk=1.05,
        performance_risk=1.1,
        relieves="memory",
        edit=lambda program: _joined(program, producer.name, consumer.name),
    )


def _joined(program: Program, producer: str, consumer: str) -> Program:
    first, second = find_stage(program, producer), find_stage(program, consumer)
    operand = substitute(second.args[0], producer, first.args[0])
    joined = replace(second, args=(operand, *second.args[1:]))
    return replaced(replaced(program, producer), consumer, joined)


def _split(stage: Stage) -> Move:
    x = stage.operands[0]
    extra = 2 * x.elements * x.dtype.bytes
    return Move(
        stage=stage.name,
        change=f"outline {stage.attributes['prologue'].text} of {stage.name}",
        hypothesis=f"Rows of {stage.attributes['columns']:,} that are read twice are computed twice: "
        f"a map computes them once, for {size(extra)} more moved.",
        gain=0.9,
        implementation_risk=1.05,
        performance_risk=1.5,
        relieves="compute",
        edit=lambda program: _parted(program, stage.name),
    )


def _parted(program: Program, target: str) -> Program:
    whole = find_stage(program, target)
    name = fresh(program, f"{target}_rows")
    first = Assign(
        target=name, op="map", args=whole.args[:1], kwargs=(), knobs=(), chain=(), once=whole.once, span=NOWHERE
    )
    return replaced(program, target, first, replace(whole, args=(Name(name, NOWHERE), *whole.args[1:])))
