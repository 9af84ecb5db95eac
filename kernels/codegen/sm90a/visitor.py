"""The chain of a gemm as a CUTLASS epilogue visitor tree (Sm90EVT).

Each link is one node. ``add``, ``sub``, ``mul`` and ``div`` of the accumulator and one tensor use CUTLASS's functors;
any other link becomes a functor of its own, emitted into the unit. A tensor is loaded by the node that fits its
strides: a scalar, a row (bias), a column, the source C (the first full tensor that TMA can read), or element by
element. Where the product is handed to CUTLASS transposed, so is every load: a bias becomes a column. A reduction is
the root of the tree: see ``reduction``.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.layout import TMA_BYTES, misalignment
from kernels.codegen.cuda.visitor import Leaf, Operand, Tree
from kernels.codegen.cuda.writer import SourceWriter
from kernels.codegen.sm90a.orientation import Orientation
from kernels.codegen.sm90a.reduction import Joining
from kernels.dsl.ir import Stage, Value


@dataclass(frozen=True, slots=True)
class Source:
    """The tensor that the epilogue reads through TMA as C."""

    value: Value
    element: str
    parameter: str
    leading: str
    batch: str


class VisitorTree(Tree):
    """Plans the tree of one stage, then writes its types and its arguments."""

    evt = "fusion::Sm90EVT"
    compute = "fusion::Sm90Compute"
    accumulator = "fusion::Sm90AccFetch"

    def __init__(
        self,
        stage: Stage,
        arguments: Arguments,
        batched: bool,
        orientation: Orientation,
        joining: Joining | None = None,
    ) -> None:
        super().__init__(stage, arguments, batched)
        self._orientation = orientation
        self._joining = joining
        self.source: Source | None = None
        self.links = tuple(self._link(index, step) for index, step in enumerate(stage.chain))

    @property
    def root(self) -> str:
        """The C++ type of the whole tree."""
        if self._joining is not None:
            return "Reduced"
        return self.links[-1].naming.name if self.links else "Store"

    def _new_leaf(self, operand: Operand) -> Leaf:
        strides = operand.row, operand.column
        if strides == (0, 0):
            per_batch = operand.per_batch
            stride = f"Stride<_0, _0, {'int64_t' if per_batch else '_0'}>"
            filled = f"{{{{}}, {{{operand.pointer}}}, {{{{_0{{}}, _0{{}}, {per_batch or '_0{}'}}}}}}}"
            return Leaf(operand.value, f"fusion::Sm90ScalarBroadcast<{operand.element}, {stride}>", filled)
        if strides in ((0, 1), (1, 0)):
            along_row = self._orientation.pair(*strides) == (0, 1)
            kind, fixed = ("Row", "_0, _1") if along_row else ("Col", "_1, _0")
            return operand.vector("fusion::Sm90{kind}Broadcast<0, Tile, {element}, float", kind, fixed, "")
        return self._full(operand)

    def _full(self, operand: Operand) -> Leaf:
        value, element, parameter = operand.value, operand.element, operand.parameter
        batch = operand.per_batch or "int64_t(0)"
        row_size = self._arguments.size(f"ld_{parameter}", operand.row)
        pitches = operand.row, operand.batch
        aligned = operand.column == 1 and misalignment(value, value.shape[-1], pitches) is None
        if aligned and self.source is None:
            self.source = Source(value, element, parameter, row_size, batch)
            return Leaf(value, f"fusion::Sm90SrcFetch<{element}>", "{}")
        if aligned:
            types, alignment = ("int64_t", "_1"), TMA_BYTES // value.dtype.bytes
            sizes = (row_size, "_1{}")
        else:
            types, alignment = ("int64_t", "int64_t"), 1
            sizes = (row_size, self._arguments.size(f"step_{parameter}", operand.column))
        stride = f"Stride<{', '.join(self._orientation.pair(*types))}, int64_t>"
        strides = f"{', '.join(self._orientation.pair(*sizes))}, {batch}"
        node = f"fusion::Sm90AuxLoad<0, void, {element}, {stride}, void, void, {alignment}, false>"
        return Leaf(value, node, f"{{{operand.pointer}, {element}(0), {{{strides}}}}}")

    def write_types(self, out: SourceWriter) -> None:
        """One alias a link, innermost first; the last names the tree."""
        if self._joining is not None:
            self._joining.write_types(out, self._write_links(out, "float"))
            return
        if not self.links:
            out.line("using Store = fusion::Sm90EVT<", "no chain: the accumulator as it is")
            out.line("    fusion::Sm90Compute<cutlass::epilogue::thread::Identity, Accumulator, float, Round>,")
            out.line("    fusion::Sm90AccFetch>;")
        self._write_links(out, "Accumulator")

    def write_arguments(self, out: SourceWriter) -> str:
        """Variables with each node's arguments; gives the name of the tree's, or ``{}`` without a chain."""
        product = self._write_link_arguments(out)
        return product if self._joining is None else self._joining.write_partials(out, product)
