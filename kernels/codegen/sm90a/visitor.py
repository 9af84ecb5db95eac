"""The chain of a gemm as a CUTLASS epilogue visitor tree (Sm90EVT).

Each link is one node. ``add``, ``sub``, ``mul`` and ``div`` of the accumulator and one tensor use CUTLASS's functors;
any other link becomes a functor of its own, emitted into the unit. A tensor is loaded by the node that fits its
strides: a scalar, a row (bias), a column, the source C (the first full tensor that TMA can read), or element by
element. Where the product is handed to CUTLASS transposed, so is every load: a bias becomes a column.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.expression import loads
from kernels.codegen.cuda.layout import CUTLASS_TYPES, TMA_BYTES, describe, misalignment, type_name
from kernels.codegen.cuda.links import Naming, name_link, write_functors
from kernels.codegen.cuda.writer import SourceWriter
from kernels.codegen.sm90a.orientation import Orientation
from kernels.dsl.ir import ChainStep, Stage, Value


@dataclass(frozen=True, slots=True)
class Leaf:
    """A load: its node's C++ type, and the initialiser of the node's Arguments."""

    value: Value
    node: str
    initialiser: str


@dataclass(frozen=True, slots=True)
class Source:
    """The tensor that the epilogue reads through TMA as C."""

    value: Value
    element: str
    parameter: str
    leading: str
    batch: str


@dataclass(frozen=True, slots=True)
class Link:
    """One link of the chain: its names in C++, and its loads."""

    naming: Naming
    leaves: tuple[Leaf, ...]
    step: ChainStep


class VisitorTree:
    """Plans the tree of one stage, then writes its types and its arguments."""

    def __init__(self, stage: Stage, arguments: Arguments, batched: bool, orientation: Orientation) -> None:
        self._stage = stage
        self._arguments = arguments
        self._batched = batched
        self._orientation = orientation
        self._leaves: dict[str, Leaf] = {}
        self.source: Source | None = None
        self.links = tuple(self._link(index, step) for index, step in enumerate(stage.chain))

    @property
    def root(self) -> str:
        """The C++ type of the whole tree."""
        return self.links[-1].naming.name if self.links else "Store"

    def _link(self, index: int, step: ChainStep) -> Link:
        leaves = tuple(self._leaf(value) for value in loads(step.expr))
        return Link(name_link(index, step), leaves, step)

    def _leaf(self, value: Value) -> Leaf:
        if value.name not in self._leaves:
            self._leaves[value.name] = self._new_leaf(value, len(self._leaves))
        return self._leaves[value.name]

    def _new_leaf(self, value: Value, index: int) -> Leaf:
        element = type_name(self._stage.name, value, CUTLASS_TYPES, "a fused link of a gemm")
        parameter = self._arguments.pointer(f"t{index}", value.name)
        pointer = f"static_cast<{element} const*>({parameter})"
        row, column = value.strides[-2:]
        batch = value.strides[0] if self._batched else 0
        per_batch = self._arguments.size(f"batch_{parameter}", batch) if batch else None
        if row == 0 and column == 0:
            stride = f"Stride<_0, _0, {'int64_t' if per_batch else '_0'}>"
            filled = f"{{{{}}, {{{pointer}}}, {{{{_0{{}}, _0{{}}, {per_batch or '_0{}'}}}}}}}"
            return Leaf(value, f"fusion::Sm90ScalarBroadcast<{element}, {stride}>", filled)
        if (row, column) in ((0, 1), (1, 0)):
            along_row = self._orientation.pair(row, column) == (0, 1)
            kind, fixed = ("Row", "_0, _1") if along_row else ("Col", "_1, _0")
            return self._vector(value, element, pointer, kind, fixed, per_batch)
        return self._full(value, element, parameter, pointer, per_batch)

    def _vector(
        self, value: Value, element: str, pointer: str, kind: str, fixed: str, per_batch: str | None
    ) -> Leaf:
        stride = f"Stride<{fixed}, {'int64_t' if per_batch else '_0'}>"
        filled = f"{{{pointer}, {element}(0), {{{fixed.replace(',', '{},')}{{}}, {per_batch or '_0{}'}}}}}"
        return Leaf(value, f"fusion::Sm90{kind}Broadcast<0, Tile, {element}, float, {stride}>", filled)

    def _full(self, value: Value, element: str, parameter: str, pointer: str, per_batch: str | None) -> Leaf:
        row, column = value.strides[-2:]
        batch = value.strides[0] if self._batched else 0
        row_size = self._arguments.size(f"ld_{parameter}", row)
        aligned = column == 1 and misalignment(value, value.shape[-1], (row, batch)) is None
        if aligned and self.source is None:
            self.source = Source(value, element, parameter, row_size, per_batch or "int64_t(0)")
            return Leaf(value, f"fusion::Sm90SrcFetch<{element}>", "{}")
        if aligned:
            types, alignment = ("int64_t", "_1"), TMA_BYTES // value.dtype.bytes
            sizes = (row_size, "_1{}")
        else:
            types, alignment = ("int64_t", "int64_t"), 1
            sizes = (row_size, self._arguments.size(f"step_{parameter}", column))
        stride = f"Stride<{', '.join(self._orientation.pair(*types))}, int64_t>"
        strides = f"{', '.join(self._orientation.pair(*sizes))}, {per_batch or 'int64_t(0)'}"
        node = f"fusion::Sm90AuxLoad<0, void, {element}, {stride}, void, void, {alignment}, false>"
        return Leaf(value, node, f"{{{pointer}, {element}(0), {{{strides}}}}}")

    def write_functors(self, out: SourceWriter) -> None:
        """The functions and functors that the links need, if any."""
        links = [(link.naming, link.step, [leaf.value for leaf in link.leaves]) for link in self.links]
        write_functors(out, self._stage.name, links)

    def write_types(self, out: SourceWriter) -> None:
        """One alias a link, innermost first; the last names the tree."""
        if not self.links:
            out.line("using Store = fusion::Sm90EVT<", "no chain: the accumulator as it is")
            out.line("    fusion::Sm90Compute<cutlass::epilogue::thread::Identity, Accumulator, float, Round>,")
            out.line("    fusion::Sm90AccFetch>;")
        previous = "fusion::Sm90AccFetch"
        for link in self.links:
            mu = link.step.span.line
            element = "Accumulator" if link is self.links[-1] else "float"
            out.line(f"using {link.naming.name} = fusion::Sm90EVT<", f">> {link.step.text}", mu)
            out.line(f"    fusion::Sm90Compute<{link.naming.functor}, {element}, float, Round>,", mu=mu)
            out.line(f"    {previous}{',' if link.leaves else '>;'}", mu=mu)
            for leaf in link.leaves:
                end = ">;" if leaf is link.leaves[-1] else ","
                out.line(f"    {leaf.node}{end}", describe(leaf.value), mu)
            previous = link.naming.name

    def write_arguments(self, out: SourceWriter) -> str:
        """Variables with each node's arguments; gives the name of the tree's, or ``{}`` without a chain."""
        previous = "{}"
        for link in self.links:
            name = f"{link.naming.name.lower()}_arguments"
            parts = [previous, *(leaf.initialiser for leaf in link.leaves), "{}"]
            out.line(
                f"  typename {link.naming.name}::Arguments {name}{{", f">> {link.step.text}", link.step.span.line
            )
            out.line(f"      {', '.join(parts)}}};", mu=link.step.span.line)
            previous = name
        return previous
