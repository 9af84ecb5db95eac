"""The chain of a product as an epilogue visitor tree: what CUTLASS 2.x and 3.x share of it.

Each link is one node over the node before it and its loads. Which node loads a tensor, and how the tree ends, is each
target's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.expression import loads
from kernels.codegen.cuda.layout import CUTLASS_TYPES, describe, type_name
from kernels.codegen.cuda.links import Naming, name_link, write_functors
from kernels.codegen.cuda.writer import SourceWriter
from kernels.dsl.ir import ChainStep, Stage, Value


@dataclass(frozen=True, slots=True)
class Leaf:
    """A load: its node's C++ type, and the initialiser of the node's Arguments."""

    value: Value
    node: str
    initialiser: str


@dataclass(frozen=True, slots=True)
class Link:
    """One link of the chain: its names in C++, and its loads."""

    naming: Naming
    leaves: tuple[Leaf, ...]
    step: ChainStep


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor to load: its element and pointer in C++, its strides, and the parameter with that of the batch."""

    value: Value
    element: str
    parameter: str
    row: int
    column: int
    batch: int
    per_batch: str | None

    @property
    def pointer(self) -> str:
        """The pointer, of its type."""
        return f"static_cast<{self.element} const*>({self.parameter})"

    def vector(self, node: str, kind: str, fixed: str, tail: str) -> Leaf:
        """A load of one row or column: ``node`` begins its type's name, ``fixed`` are its two strides."""
        stride = f"Stride<{fixed}, {'int64_t' if self.per_batch else '_0'}>"
        strides = f"{fixed.replace(',', '{},')}{{}}, {self.per_batch or '_0{}'}"
        filled = f"{{{self.pointer}, {self.element}(0), {{{strides}}}}}"
        return Leaf(self.value, f"{node.format(kind=kind, element=self.element)}, {stride}{tail}>", filled)


class Tree(ABC):
    """Plans the nodes of one stage's chain, each tensor once; then writes their types and their arguments.

    A target names its nodes for a tree, a functor and the accumulator, and fills ``links`` by ``_link``.
    """

    evt: str
    compute: str
    accumulator: str
    links: tuple[Link, ...]

    def __init__(self, stage: Stage, arguments: Arguments, batched: bool) -> None:
        self._stage = stage
        self._arguments = arguments
        self._batched = batched
        self._leaves: dict[str, Leaf] = {}

    def _link(self, index: int, step: ChainStep) -> Link:
        return Link(name_link(index, step), tuple(self._leaf(value) for value in loads(step.expr)), step)

    def _leaf(self, value: Value) -> Leaf:
        if value.name not in self._leaves:
            self._leaves[value.name] = self._new_leaf(self._operand(value, len(self._leaves)))
        return self._leaves[value.name]

    def _operand(self, value: Value, index: int) -> Operand:
        element = type_name(self._stage.name, value, CUTLASS_TYPES, "a fused link of a gemm")
        parameter = self._arguments.pointer(f"t{index}", value.name)
        row, column = value.strides[-2:]
        batch = value.strides[0] if self._batched else 0
        per_batch = self._arguments.size(f"batch_{parameter}", batch) if batch else None
        return Operand(value, element, parameter, row, column, batch, per_batch)

    @abstractmethod
    def _new_leaf(self, operand: Operand) -> Leaf:
        """The node that loads a tensor."""

    def write_functors(self, out: SourceWriter) -> None:
        """The functions and functors that the links need, if any."""
        links = [(link.naming, link.step, [leaf.value for leaf in link.leaves]) for link in self.links]
        write_functors(out, self._stage.name, links)

    def _write_links(self, out: SourceWriter, last: str) -> str:
        """One alias a link, innermost first, the last of which gives the type ``last``; gives the last one's name."""
        previous = self.accumulator
        for link in self.links:
            mu = link.step.span.line
            element = last if link is self.links[-1] else "float"
            out.line(f"using {link.naming.name} = {self.evt}<", f">> {link.step.text}", mu)
            out.line(f"    {self.compute}<{link.naming.functor}, {element}, float, Round>,", mu=mu)
            out.line(f"    {previous}{',' if link.leaves else '>;'}", mu=mu)
            for leaf in link.leaves:
                end = ">;" if leaf is link.leaves[-1] else ","
                out.line(f"    {leaf.node}{end}", describe(leaf.value), mu)
            previous = link.naming.name
        return previous

    def _write_link_arguments(self, out: SourceWriter) -> str:
        """Variables with each link's arguments; gives the name of the last one's, or ``{}`` without a chain."""
        previous = "{}"
        for link in self.links:
            name, mu = f"{link.naming.name.lower()}_arguments", link.step.span.line
            parts = [previous, *(leaf.initialiser for leaf in link.leaves), "{}"]
            out.line(f"  typename {link.naming.name}::Arguments {name}{{", f">> {link.step.text}", mu)
            out.line(f"      {', '.join(parts)}}};", mu=mu)
            previous = name
        return previous
