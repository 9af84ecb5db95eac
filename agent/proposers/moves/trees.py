"""Small edits of a syntax tree that the structural moves share. They know names and places, not sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kernels.dsl.syntax import (
    Access,
    Argument,
    Assign,
    Binary,
    Call,
    Keyword,
    Name,
    Program,
    Sequence,
    Span,
    Unary,
)

NOWHERE = Span(1, 1, 1, 1)
"""The place of a node that no text has yet; the program is parsed again from its text before it is checked."""


def names(argument: Argument) -> Iterator[str]:
    """Every name in an argument as written, views and all."""
    if isinstance(argument, Name):
        yield argument.text
    elif isinstance(argument, Sequence):
        yield from (name for item in argument.items for name in names(item))
    elif isinstance(argument, Unary):
        yield from names(argument.operand)
    elif isinstance(argument, Binary):
        yield from names(argument.left)
        yield from names(argument.right)
    elif isinstance(argument, Call):
        # A call may be a view: then its function begins with a tensor's name.
        yield argument.function
        yield from (name for item in argument.args for name in names(item))
        yield from (name for keyword in argument.kwargs for name in names(keyword.value))
    elif isinstance(argument, Access):
        yield from names(argument.base)
        yield from (name for item in argument.args or () for name in names(item))


def stage_names(assign: Assign) -> Iterator[str]:
    """Every name that a stage reads, in its arguments and its chain."""
    arguments: list[Argument] = [*assign.args, *(keyword.value for keyword in assign.kwargs)]
    for link in assign.chain:
        arguments += [*link.args, *(keyword.value for keyword in link.kwargs)]
    for argument in arguments:
        yield from names(argument)


def declared(program: Program) -> frozenset[str]:
    """Parameters and stages."""
    return frozenset([*(each.name for each in program.parameters), *(each.target for each in program.stages)])


def root(text: str, known: frozenset[str]) -> str | None:
    """The declared name that a dotted text begins with, the longest one; None for an element type or a function."""
    while text not in known:
        text, dot, _ = text.rpartition(".")
        if not dot:
            return None
    return text


def uses(program: Program, name: str) -> int:
    """How often a value is read, in stages and outputs, as it is or as a view."""
    known = declared(program)
    read = [text for assign in program.stages for text in stage_names(assign)]
    read += [text for output in program.outputs for text in names(output)]
    return sum(root(text, known) == name for text in read)


def substitute(argument: Argument, name: str, value: Argument) -> Argument:
    """``argument`` with each plain ``name`` replaced."""
    if isinstance(argument, Name):
        return value if argument.text == name else argument
    if isinstance(argument, Sequence):
        return replace(argument, items=tuple(substitute(item, name, value) for item in argument.items))
    if isinstance(argument, Unary):
        return replace(argument, operand=substitute(argument.operand, name, value))
    if isinstance(argument, Binary):
        left, right = (substitute(side, name, value) for side in (argument.left, argument.right))
        return replace(argument, left=left, right=right)
    if isinstance(argument, Call):
        return replace(
            argument,
            args=tuple(substitute(item, name, value) for item in argument.args),
            kwargs=tuple(Keyword(k.name, substitute(k.value, name, value), k.span) for k in argument.kwargs),
        )
    return argument


def with_stages(program: Program, *stages: Assign) -> Program:
    """The program with other stages; its source text no longer holds."""
    return replace(program, stages=stages, source="")


def replaced(program: Program, target: str, *stages: Assign) -> Program:
    """The program with one stage replaced by ``stages`` (none: taken out)."""
    kept: list[Assign] = []
    for assign in program.stages:
        kept += stages if assign.target == target else [assign]
    return with_stages(program, *kept)


def fresh(program: Program, stem: str) -> str:
    """A name that is not taken: ``stem``, else ``stem_2``, ``stem_3``, …"""
    taken = declared(program)
    stem = stem.replace(".", "_")
    if stem not in taken:
        return stem
    number = 2
    while f"{stem}_{number}" in taken:
        number += 1
    return f"{stem}_{number}"
