"""The chain of a gemm as a CUTLASS 2.x epilogue visitor tree (Sm80EVT).

Each link is one node, and the root stores the result. ``add``, ``sub``, ``mul`` and ``div`` of the accumulator and one
tensor use CUTLASS's functors; any other link becomes a functor of its own, emitted into the unit. A tensor is loaded by
the node that fits its strides: a scalar, a row (bias), a column, a whole matrix in vectors, or element by element.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.expression import loads
from kernels.codegen.cuda.layout import CUTLASS_TYPES, describe, type_name
from kernels.codegen.cuda.links import Naming, name_link, write_functors
from kernels.codegen.cuda.writer import SourceWriter
from kernels.codegen.sm80.alignment import loads_in_vectors
from kernels.dsl.ir import ChainStep, Stage, Value

_ELEMENT_LOAD = """
// Loads a tensor of any strides, an element at a time.
template <class ThreadMap, class Element>
struct ElementLoad {
  struct Arguments { Element const* from = nullptr; int64_t row = 0, column = 0, batch = 0; };
  using Params = Arguments;
  struct SharedStorage {};

  template <class Shape>
  static constexpr Params to_underlying_arguments(Shape const&, Arguments const& arguments, void*) { return arguments; }
  template <class Shape>
  static size_t get_workspace_size(Shape const&, Arguments const&) { return 0; }

  CUTLASS_HOST_DEVICE ElementLoad() {}
  CUTLASS_HOST_DEVICE ElementLoad(Params const& given, SharedStorage const&) : params(&given) {}
  Params const* params = nullptr;

  template <class Coordinates, class Shape>
  struct Callbacks : visitor::EmptyCallbacks {
    CUTLASS_DEVICE Callbacks(Coordinates const& at, Shape const& shape, Params const* params)
        : at(at), shape(shape), params(params) {}
    Coordinates at;
    Shape shape;
    Params const* params;

    template <class Accumulator, int N>
    CUTLASS_DEVICE auto visit(int step, int row, int column, int, cutlass::Array<Accumulator, N> const&) {
      cutlass::Array<Element, N> lanes;
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < N; ++i) {
        auto place = at(i, column, row, step);
        int64_t offset = get<0>(place) * params->row + get<1>(place) * params->column + get<2>(place) * params->batch;
        lanes[i] = elem_less(place, shape) ? params->from[offset] : Element(0);
      }
      return lanes;
    }
  };

  template <class Shape>
  CUTLASS_DEVICE auto get_callbacks(cutlass::gemm::GemmCoord tile, int thread, Shape shape) {
    auto at = group_modes<3, 6>(ThreadMap::partition(make_identity_tensor(shape), thread, tile));
    return Callbacks<decltype(at), Shape>(at, shape, params);
  }
};
"""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A load: its node's C++ type, and the initialiser of the node's Arguments."""

    value: Value
    node: str
    initialiser: str


@dataclass(frozen=True, slots=True)
class Link:
    """One link of the chain with its loads."""

    naming: Naming
    leaves: tuple[Leaf, ...]
    step: ChainStep


class VisitorTree:
    """Plans the tree of one stage, then writes its types and its arguments. ``lanes`` are elements of one store."""

    def __init__(self, stage: Stage, arguments: Arguments, batched: bool, lanes: int) -> None:
        self._stage = stage
        self._arguments = arguments
        self._batched = batched
        self._lanes = lanes
        self._leaves: dict[str, Leaf] = {}
        self.links = tuple(self._link(index, step) for index, step in enumerate(stage.chain))

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
            return _scalar(value, element, pointer, per_batch)
        if (row, column) == (1, 0):
            return _vector(value, element, pointer, "Col", "_1, _0", per_batch)
        if (row, column) == (0, 1) and loads_in_vectors(value, self._lanes):
            return _vector(value, element, pointer, "Row", "_0, _1", per_batch)
        batch_size = per_batch or "int64_t(0)"
        row_size = self._arguments.size(f"ld_{parameter}", row)
        if column == 1 and loads_in_vectors(value, self._lanes):
            node = f"visitor::VisitorAuxLoad<ThreadMap, {element}, Stride<int64_t, _1, int64_t>>"
            plain = f"static_cast<{element}*>(const_cast<void*>({parameter}))"
            return Leaf(value, node, f"{{{plain}, {element}(0), {{{row_size}, _1{{}}, {batch_size}}}}}")
        step = self._arguments.size(f"step_{parameter}", column)
        return Leaf(value, f"ElementLoad<ThreadMap, {element}>", f"{{{pointer}, {row_size}, {step}, {batch_size}}}")

    def write_functors(self, out: SourceWriter) -> None:
        """The functions, functors and nodes that the links need, if any."""
        links = [(link.naming, link.step, [leaf.value for leaf in link.leaves]) for link in self.links]
        write_functors(out, self._stage.name, links)
        if any(leaf.node.startswith("ElementLoad") for leaf in self._leaves.values()):
            out.lines(_ELEMENT_LOAD)
            out.line()

    def write_types(self, out: SourceWriter, note: str, mu: int | None) -> None:
        """One alias a link, innermost first, and ``Store``, the tree; ``note`` and ``mu`` are the result type's."""
        previous = "visitor::VisitorAccFetch"
        for link in self.links:
            line = link.step.span.line
            out.line(f"using {link.naming.name} = visitor::Sm80EVT<", f">> {link.step.text}", line)
            out.line(f"    visitor::VisitorCompute<{link.naming.functor}, float, float, Round>,", mu=line)
            out.line(f"    {previous}{',' if link.leaves else '>;'}", mu=line)
            for leaf in link.leaves:
                end = ">;" if leaf is link.leaves[-1] else ","
                out.line(f"    {leaf.node}{end}", describe(leaf.value), line)
            previous = link.naming.name
        out.line("using Store = visitor::Sm80EVT<", note, mu)
        out.line("    visitor::VisitorAuxStore<ThreadMap, Result, Round, Stride<int64_t, _1, int64_t>>,", mu=mu)
        out.line(f"    {previous}>;", mu=mu)

    def write_arguments(self, out: SourceWriter) -> None:
        """Variables with each node's arguments; the tree's is called ``store_arguments``."""
        previous = "{}"
        for link in self.links:
            name = f"{link.naming.name.lower()}_arguments"
            parts = [previous, *(leaf.initialiser for leaf in link.leaves), "{}"]
            out.line(
                f"  typename {link.naming.name}::Arguments {name}{{", f">> {link.step.text}", link.step.span.line
            )
            out.line(f"      {', '.join(parts)}}};", mu=link.step.span.line)
            previous = name
        out.line("  typename Store::Arguments store_arguments{", self._stage.result.name)
        out.line(f"      {previous}, {{static_cast<Result*>(y), {{n, _1{{}}, m * n}}}}}};")


def _scalar(value: Value, element: str, pointer: str, per_batch: str | None) -> Leaf:
    stride = f"Stride<_0, _0, {'int' if per_batch else '_0'}>"
    batch = f"int({per_batch})" if per_batch else "_0{}"
    filled = f"{{{{}}, {{{pointer}}}, {{_0{{}}, _0{{}}, {batch}}}}}"
    return Leaf(value, f"visitor::VisitorScalarBroadcast<{element}, {stride}>", filled)


def _vector(value: Value, element: str, pointer: str, kind: str, fixed: str, per_batch: str | None) -> Leaf:
    stride = f"Stride<{fixed}, {'int64_t' if per_batch else '_0'}>"
    filled = f"{{{pointer}, {element}(0), {{{fixed.replace(',', '{},')}{{}}, {per_batch or '_0{}'}}}}}"
    return Leaf(value, f"visitor::Visitor{kind}Broadcast<ThreadMap, {element}, {stride}, false>", filled)
