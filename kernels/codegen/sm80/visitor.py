"""The chain of a gemm as a CUTLASS 2.x epilogue visitor tree (Sm80EVT).

Each link is one node, and the root stores the result. ``add``, ``sub``, ``mul`` and ``div`` of the accumulator and one
tensor use CUTLASS's functors; any other link becomes a functor of its own, emitted into the unit. A tensor is loaded by
the node that fits its strides: a scalar, a row (bias), a column, a whole matrix in vectors, or element by element.
"""

from __future__ import annotations

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.visitor import Leaf, Operand, Tree
from kernels.codegen.cuda.writer import SourceWriter
from kernels.codegen.sm80.alignment import loads_in_vectors
from kernels.dsl.ir import Stage

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


class VisitorTree(Tree):
    """Plans the tree of one stage, then writes its types and its arguments. ``lanes`` are elements of one store."""

    evt = "visitor::Sm80EVT"
    compute = "visitor::VisitorCompute"
    accumulator = "visitor::VisitorAccFetch"

    def __init__(self, stage: Stage, arguments: Arguments, batched: bool, lanes: int) -> None:
        super().__init__(stage, arguments, batched)
        self._lanes = lanes
        self.links = tuple(self._link(index, step) for index, step in enumerate(stage.chain))

    def _new_leaf(self, operand: Operand) -> Leaf:
        value, strides = operand.value, (operand.row, operand.column)
        in_vectors = loads_in_vectors(value, self._lanes)
        if strides == (0, 0):
            return _scalar(operand)
        node = "visitor::Visitor{kind}Broadcast<ThreadMap, {element}"
        if strides == (1, 0):
            return operand.vector(node, "Col", "_1, _0", ", false")
        if strides == (0, 1) and in_vectors:
            return operand.vector(node, "Row", "_0, _1", ", false")
        element, parameter, batch = operand.element, operand.parameter, operand.per_batch or "int64_t(0)"
        row_size = self._arguments.size(f"ld_{parameter}", operand.row)
        if operand.column == 1 and in_vectors:
            node = f"visitor::VisitorAuxLoad<ThreadMap, {element}, Stride<int64_t, _1, int64_t>>"
            plain = f"static_cast<{element}*>(const_cast<void*>({parameter}))"
            return Leaf(value, node, f"{{{plain}, {element}(0), {{{row_size}, _1{{}}, {batch}}}}}")
        step = self._arguments.size(f"step_{parameter}", operand.column)
        filled = f"{{{operand.pointer}, {row_size}, {step}, {batch}}}"
        return Leaf(value, f"ElementLoad<ThreadMap, {element}>", filled)

    def write_functors(self, out: SourceWriter) -> None:
        """The functions, functors and nodes that the links need, if any."""
        super().write_functors(out)
        if any(leaf.node.startswith("ElementLoad") for leaf in self._leaves.values()):
            out.lines(_ELEMENT_LOAD)
            out.line()

    def write_types(self, out: SourceWriter, note: str, mu: int | None) -> None:
        """The links' aliases, and ``Store``, the tree; ``note`` and ``mu`` are the result type's."""
        last = self._write_links(out, "float")
        out.line("using Store = visitor::Sm80EVT<", note, mu)
        out.line("    visitor::VisitorAuxStore<ThreadMap, Result, Round, Stride<int64_t, _1, int64_t>>,", mu=mu)
        out.line(f"    {last}>;", mu=mu)

    def write_arguments(self, out: SourceWriter) -> None:
        """Variables with each node's arguments; the tree's is called ``store_arguments``."""
        last = self._write_link_arguments(out)
        out.line("  typename Store::Arguments store_arguments{", self._stage.result.name)
        out.line(f"      {last}, {{static_cast<Result*>(y), {{n, _1{{}}, m * n}}}}}};")


def _scalar(operand: Operand) -> Leaf:
    per_batch = operand.per_batch
    stride = f"Stride<_0, _0, {'int' if per_batch else '_0'}>"
    batch = f"int({per_batch})" if per_batch else "_0{}"
    filled = f"{{{{}}, {{{operand.pointer}}}, {{_0{{}}, _0{{}}, {batch}}}}}"
    return Leaf(operand.value, f"visitor::VisitorScalarBroadcast<{operand.element}, {stride}>", filled)
