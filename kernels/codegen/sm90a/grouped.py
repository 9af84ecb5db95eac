"""grouped_gemm on the tensor cores: CUTLASS's pointer-array collective with the group scheduler, in one launch.

The kernel reads each product's sizes, pointers and strides from memory. They are put together in the function, handed
to a small kernel as its parameter, and written by it into the workspace, so that nothing is copied from the host.
FP32 data that is rounded or split is copied in front, product by product, as in ``gemm``.
"""

from __future__ import annotations

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.frame import stage_code, write_signature
from kernels.codegen.cuda.layout import CUTLASS_TYPES, TMA_BYTES, Matrix, describe, matrix, require_tma, type_name
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.split import SplitCopy, plan_copy, write_copy_kernels, write_depth
from kernels.codegen.cuda.writer import SYMBOL, SourceWriter
from kernels.codegen.emission import StageCode
from kernels.codegen.sm90a.gemm import ACCUMULATORS, INCLUDES, shape_text
from kernels.codegen.sm90a.mainloop import mainloop_name, promotion_argument, write_promotion, write_stages
from kernels.codegen.sm90a.orientation import Orientation, k_major
from kernels.codegen.sm90a.scheduling import MULTIPROCESSORS, write_scheduling
from kernels.codegen.sm90a.visitor import VisitorTree
from kernels.dsl.grouped import members
from kernels.dsl.ir import Stage
from kernels.dsl.maths import WAYS
from kernels.dsl.syntax import Assign

_ALIGNMENT = 256
_BYTES_A_PRODUCT = 96
"""Three sizes, three pointers and four strides of 8 bytes at most, with room for how they are aligned."""
_MOST_SMS = 512
_TENSOR_MAPS = 5
_TENSOR_MAP_BYTES = 128
_ROLES = ("a", "b")


class _Product:
    """One product's operands: as the program has them, and as the tensor cores are to read them."""

    def __init__(self, stage: Stage, index: int, start: int) -> None:
        self.stage = stage
        self.index = index
        math, (a, b) = str(stage.attributes["math"]), stage.operands
        first = plan_copy(a, "a", math, start, str(index))
        second = plan_copy(b, "b", math, first.end if first else start, str(index))
        self.copies: tuple[SplitCopy | None, SplitCopy | None] = (first, second)
        self.end = second.end if second else start
        self.operands: list[Matrix] = [
            copy.as_matrix() if copy else matrix(stage.name, value)
            for copy, value in zip(self.copies, stage.operands, strict=True)
        ]

    def declare(self, arguments: Arguments) -> None:
        """Its run-time sizes."""
        for name in ("m", "n", "k"):
            arguments.size(f"{name}{self.index}", self.stage.attributes[name])
        for role, operand, copy in zip(_ROLES, self.operands, self.copies, strict=True):
            if copy is not None:
                copy.declare(arguments, batched=False)
                arguments.size(f"offset_{role}{self.index}", copy.start)
            else:
                arguments.size(f"ld_{role}{self.index}", operand.leading)

    def require_tma(self) -> None:
        """Raises OperandIsNotAligned for an operand or a result that TMA cannot reach."""
        for operand in self.operands:
            require_tma(self.stage.name, operand.value, operand.contiguous_extent, (operand.leading,))
        require_tma(self.stage.name, self.stage.result, self.stage.result.shape[-1], ())

    def pointer(self, place: int) -> str:
        """The operand's address, and its leading stride."""
        prefix = "split_" if self.copies[place] else ""
        return f"{prefix}{_ROLES[place]}{self.index}"

    def leading(self, place: int) -> str:
        """The distance from one row (column) of the operand to the next."""
        return f"depth{self.index}" if self.copies[place] else f"ld_{_ROLES[place]}{self.index}"


class _GroupedEmitter:
    def __init__(self, stage: Stage, source: Assign | None) -> None:
        self.stage = stage
        self.origins = Origins(stage, source)
        self.out = SourceWriter()
        self.arguments = Arguments()
        self.products: list[_Product] = []
        for index, member in enumerate(members(stage)):
            start = self.products[-1].end if self.products else 0
            self.products.append(_Product(member, index, start))
        for product in self.products:
            for role, value in zip(_ROLES, product.stage.operands, strict=True):
                self.arguments.pointer(f"{role}{product.index}", value.name)
        for product in self.products:
            product.require_tma()
            product.declare(self.arguments)
        self.copied = any(copy for product in self.products for copy in product.copies)
        self.tree = VisitorTree(members(stage)[0], self.arguments, batched=False, orientation=Orientation(False))
        self.workspace_bytes = self._plan_workspace()

    def _plan_workspace(self) -> int:
        """Copies, then the products' sizes and pointers, then CUTLASS's tensor maps: five a block at most.

        As many blocks as SMs run (``get_workspace_size`` of the pointer-array collectives); the function checks it.
        """
        groups = -(-len(self.products) * _BYTES_A_PRODUCT // _ALIGNMENT) * _ALIGNMENT
        scratch = self.products[-1].end + groups
        maps = _MOST_SMS * _TENSOR_MAPS * _TENSOR_MAP_BYTES + 4 * _ALIGNMENT
        self.arguments.size("offset_groups", self.products[-1].end)
        self.arguments.size("offset_scratch", scratch)
        self.arguments.size("workspace_bytes", scratch + maps)
        return scratch + maps

    def emit(self) -> StageCode:
        """The unit and how to call it."""
        self._write_head()
        self._write_types()
        self._write_collectives()
        self._write_groups()
        self._write_function()
        return stage_code(self.out, self.stage, self.arguments, self.workspace_bytes)

    def _write_head(self) -> None:
        out = self.out
        chain = "".join(f" >> {step.text}" for step in self.stage.chain)
        pairs = ", ".join(" ".join(value.name for value in product.stage.operands) for product in self.products)
        out.line("", f"{self.stage.name} = grouped_gemm({pairs}){chain}, sm_90a", self.origins.call)
        if self.copied:
            out.lines("#include <algorithm>\n#include <cmath>\n#include <cstring>")
        out.lines(INCLUDES)
        out.line('#include "cutlass/gemm/group_array_problem_shape.hpp"')
        out.line()
        out.line(f"namespace {SYMBOL}_types {{")
        out.lines("using namespace cute;\nnamespace fusion = cutlass::epilogue::fusion;\n")
        out.line("constexpr auto Round = cutlass::FloatRoundStyle::round_to_nearest;")
        out.line(f"constexpr int Count = {len(self.products)};")
        out.line()

    def _write_types(self) -> None:
        knobs, out, origins = self.stage.knobs, self.out, self.origins
        tile, cluster = list(knobs["tile"]), [*knobs["cluster"], 1]
        out.line(f"using Tile = Shape<{shape_text(tile)}>;", origins.note("tile"), origins.knob("tile"))
        out.line(f"using Cluster = Shape<{shape_text(cluster)}>;", origins.note("cluster"), origins.knob("cluster"))
        accumulator = ACCUMULATORS[str(knobs["acc"])]
        out.line(f"using Accumulator = {accumulator};", origins.note("acc"), origins.knob("acc"))
        out.line()
        self.tree.write_functors(out)
        if self.copied:
            write_copy_kernels(out, WAYS[str(knobs["math"])])
        self.tree.write_types(out)
        out.line()

    def _write_collectives(self) -> None:
        stage, out, origins = self.stage, self.out, self.origins
        result = type_name(stage.name, stage.result, CUTLASS_TYPES, "a grouped_gemm's result")
        lanes = TMA_BYTES // stage.result.dtype.bytes
        kind = "Cooperative" if stage.knobs["schedule"] == "cooperative" else "Pingpong"
        note, mu = origins.note("schedule"), origins.knob("schedule")
        out.line("using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<")
        out.line("    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,")
        out.line("    cutlass::epilogue::collective::EpilogueTileAuto, Accumulator, float,")
        out.line(f"    void, cutlass::layout::RowMajor *, {lanes},", "no C: it is never read")
        out.line(f"    {result}, cutlass::layout::RowMajor *, {lanes},", origins.note("out"), origins.knob("out"))
        schedule = f"cutlass::epilogue::PtrArrayTmaWarpSpecialized{kind}"
        out.line(f"    {schedule}, {self.tree.root}>::CollectiveOp;", note, mu)
        out.line()
        product = self.products[0].stage
        out.line(f"using {mainloop_name(product)} = typename cutlass::gemm::collective::CollectiveBuilder<")
        out.line("    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp,")
        for place, operand in enumerate(self.products[0].operands):
            element = type_name(stage.name, operand.value, CUTLASS_TYPES, "the tensor cores")
            layout = "RowMajor" if operand.major == "row" else "ColumnMajor"
            named = ", ".join(describe(product.stage.operands[place]) for product in self.products)
            tag = f"cutlass::layout::{layout} *, {TMA_BYTES // operand.value.dtype.bytes}"
            out.line(f"    {element}, {tag},", named, origins.operand(place))
        out.line("    Accumulator, Tile, Cluster,")
        write_stages(out, self.products[0].stage, origins)
        out.line(f"    cutlass::gemm::KernelPtrArrayTmaWarpSpecialized{kind}>::CollectiveOp;", note, mu)
        out.line()
        write_promotion(out, product, "Array")
        out.lines("""
using Kernel = cutlass::gemm::kernel::GemmUniversal<
    cutlass::gemm::GroupProblemShape<Shape<int, int, int>>, Mainloop, Epilogue>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
""")
        out.line()

    def _write_groups(self) -> None:
        elements = [CUTLASS_TYPES[operand.value.dtype] for operand in self.products[0].operands]
        result = CUTLASS_TYPES[self.stage.result.dtype]
        self.out.line("struct Groups {", "of every product: m, n and k, addresses, and strides")
        self.out.lines(f"""
  Shape<int, int, int> size[Count];
  {elements[0]} const* a[Count];
  {elements[1]} const* b[Count];
  {result}* y[Count];
  typename Kernel::InternalStrideA stride_a[Count];
  typename Kernel::InternalStrideB stride_b[Count];
  typename Kernel::InternalStrideD stride_y[Count];
}};
static_assert(sizeof(Groups) <= {_BYTES_A_PRODUCT} * Count, "the workspace has no room for them");

__global__ void write_groups(__grid_constant__ Groups const from, Groups* to) {{
  auto* source = reinterpret_cast<uint32_t const*>(&from);
  auto* target = reinterpret_cast<uint32_t*>(to);
  for (int i = threadIdx.x; i < int(sizeof(Groups) / 4); i += blockDim.x) {{ target[i] = source[i]; }}
}}
""")
        self.out.line()
        self.out.lines(MULTIPROCESSORS)
        self.out.line(f"}}  // namespace {SYMBOL}_types")
        self.out.line()

    def _write_function(self) -> None:
        out, results = self.out, tuple(f"y{product.index}" for product in self.products)
        out.line("", "Returns 0, 1 (cannot implement), 2 (initialisation), 3 (launch) or 4 (workspace too small).")
        named = ", ".join(product.stage.result.name for product in self.products)
        write_signature(out, self.arguments, self.origins, named, results)
        out.line("  cudaStream_t on = static_cast<cudaStream_t>(stream);")
        out.line("  Groups groups;")
        for product in self.products:
            self._write_product(product)
        tree = self.tree.write_arguments(out)
        promotion = promotion_argument(self.products[0].stage)
        out.lines(_ARGUMENTS.replace("@TREE@", tree).replace("@PROMOTION@", promotion))
        write_scheduling(out, self.stage, self.origins)
        out.lines(_START)

    def _write_product(self, product: _Product) -> None:
        out, i = self.out, product.index
        if any(product.copies):
            write_depth(out, WAYS[str(self.stage.knobs["math"])], str(i))
        for copy in product.copies:
            if copy is not None:
                copy.write_launch(out, batched=False)
        depth = f"depth{i}" if any(product.copies) else f"k{i}"
        names = " ".join(value.name for value in product.stage.operands)
        out.line(
            f"  groups.size[{i}] = make_shape(int(m{i}), int(n{i}), int({depth}));",
            f"{product.stage.result.name} = {names}",
        )
        for place, (role, operand) in enumerate(zip(_ROLES, product.operands, strict=True)):
            element = CUTLASS_TYPES[operand.value.dtype]
            leading = product.leading(place)
            pair = f"{leading}, _1{{}}" if k_major(operand, place) else f"_1{{}}, {leading}"
            out.line(f"  groups.{role}[{i}] = static_cast<{element} const*>({product.pointer(place)});")
            out.line(f"  groups.stride_{role}[{i}] = {{{pair}, _0{{}}}};")
        out.line(f"  groups.y[{i}] = static_cast<{CUTLASS_TYPES[self.stage.result.dtype]}*>(y{i});")
        out.line(f"  groups.stride_y[{i}] = {{n{i}, _1{{}}, _0{{}}}};")


_ARGUMENTS = """
  auto* at = reinterpret_cast<Groups*>(static_cast<char*>(workspace) + offset_groups);
  write_groups<<<1, 256, 0, on>>>(groups, at);
  cutlass::KernelHardwareInfo hardware;
  cudaGetDevice(&hardware.device_id);
  hardware.sm_count = multiprocessors(hardware.device_id);
  typename Gemm::Arguments arguments{
      cutlass::gemm::GemmUniversalMode::kGrouped,
      {Count, at->size, groups.size},
      {at->a, at->stride_a, at->b, at->stride_b@PROMOTION@},
      {@TREE@, nullptr, nullptr, at->y, at->stride_y},
      hardware};
"""

_START = """
  if (Gemm::can_implement(arguments) != cutlass::Status::kSuccess) { return 1; }
  void* scratch = static_cast<char*>(workspace) + offset_scratch;
  if (int64_t(Gemm::get_workspace_size(arguments)) > workspace_bytes - offset_scratch) { return 4; }
  Gemm gemm;
  if (gemm.initialize(arguments, scratch, on) != cutlass::Status::kSuccess) { return 2; }
  return gemm.run(on) == cutlass::Status::kSuccess ? 0 : 3;
}
"""


def emit_grouped(stage: Stage, source: Assign | None) -> StageCode:
    """Tensor-core code of a grouped_gemm stage; raises the errors of ``codegen`` and ``cuda``."""
    return _GroupedEmitter(stage, source).emit()
