"""gemm and bmm on the tensor cores: a CUTLASS 2.x kernel with the chain as its epilogue visitor tree.

What it does not do: choose knobs (the checker has filled them), pad, or copy. Operands may lie row-major or
column-major, of any extents: what is no multiple of 16 bytes is loaded in smaller pieces (``alignment``). FP32 data
that is multiplied as f16 or bf16, or in three products of tf32, is rounded on its way from shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.codegen.cuda.frame import stage_code, write_signature
from kernels.codegen.cuda.layout import CUTLASS_TYPES, describe, matrix, type_name
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.writer import SYMBOL, SourceWriter
from kernels.codegen.emission import StageCode
from kernels.codegen.sm80.alignment import result_lanes
from kernels.codegen.sm80.visitor import VisitorTree
from kernels.codegen.sm80.workspace import divided_bytes
from kernels.dsl.ir import Stage
from kernels.dsl.sm80_loads import legal_stages, operand_lanes
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType

_INCLUDES = """
#include <cstdint>

#include "cutlass/cutlass.h"
#include "cutlass/epilogue/thread/activation.h"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/default_gemm_universal_with_visitor.h"
#include "cutlass/epilogue/threadblock/fusion/visitors.hpp"
"""
_ACCUMULATORS = {"f32": "float", "f16": "cutlass::half_t"}


@dataclass(frozen=True, slots=True)
class _Multiply:
    """The K of one instruction, CUTLASS's tag of the operation, and what it does to the operands, in words."""

    depth: int
    operator: str
    words: str


_STORED = _Multiply(16, "OpMultiplyAdd", "")
_ROUNDED = {
    "tf32": _Multiply(8, "OpMultiplyAdd", "read as tf32"),
    "tf32x3": _Multiply(8, "OpMultiplyAddFastF32", "split into two tf32 numbers"),
    "f16": _Multiply(8, "OpMultiplyAddFastF16", "rounded to f16"),
    "bf16": _Multiply(8, "OpMultiplyAddFastBF16", "rounded to bf16"),
}
"""How FP32 data is multiplied, by the knob ``math``."""


class GemmEmitter:
    """Writes one unit. Sizes and strides are run-time arguments; everything else is in the types."""

    def __init__(self, stage: Stage, source: Assign | None) -> None:
        self.stage = stage
        self.origins = Origins(stage, source)
        self.out = SourceWriter()
        self.arguments = Arguments()
        self.batched = stage.op == "bmm"
        self.operands = tuple(matrix(stage.name, value) for value in stage.operands[:2])
        self.lanes = tuple(operand_lanes(operand.value) for operand in self.operands)
        self.multiply = self._multiply()
        self.divided = int(stage.knobs.get("split", 1)) > 1 or stage.knobs.get("schedule") == "streamk"
        self._check_stages()
        self._declare_arguments()
        self.tree = VisitorTree(stage, self.arguments, self.batched, result_lanes(stage.result))
        self.workspace_bytes = divided_bytes(stage)
        if self.divided:
            self.arguments.size("workspace_bytes", self.workspace_bytes)

    def emit(self) -> StageCode:
        """The unit and how to call it."""
        self._write_head()
        self._write_types()
        self._write_kernel()
        self._write_function()
        return stage_code(self.out, self.stage, self.arguments, self.workspace_bytes)

    def _multiply(self) -> _Multiply:
        if self.stage.operands[0].dtype is not DType.F32:
            return _STORED
        math = str(self.stage.attributes["math"])
        if math not in _ROUNDED:
            raise KnobWithoutCode(
                stage=self.stage.name, knob="math", found=math, legal=", ".join(("f32", *_ROUNDED))
            )
        return _ROUNDED[math]

    def _check_stages(self) -> None:
        stages = int(self.stage.knobs["stages"])
        least, most = legal_stages(self.stage.operands[:2])
        if not least <= stages <= most:
            legal = f"{least} to {most} with these operands" if least < most else f"{least} with these operands"
            raise KnobWithoutCode(stage=self.stage.name, knob="stages", found=stages, legal=legal)

    def _declare_arguments(self) -> None:
        m, k = self.stage.operands[0].shape[-2:]
        n = self.stage.operands[1].shape[-1]
        for parameter, value in zip("ab", self.stage.operands, strict=False):
            self.arguments.pointer(parameter, value.name)
        for name, extent in (("m", m), ("n", n), ("k", k)):
            self.arguments.size(name, extent)
        if self.batched:
            self.arguments.size("batch", self.stage.result.shape[0])
        for parameter, operand in zip("ab", self.operands, strict=True):
            self.arguments.size(f"ld_{parameter}", operand.leading)
            if self.batched:
                self.arguments.size(f"batch_{parameter}", operand.batch)

    def _write_head(self) -> None:
        stage, out = self.stage, self.out
        chain = "".join(f" >> {step.text}" for step in stage.chain)
        names = ", ".join(value.name for value in stage.operands[:2])
        out.line("", f"{stage.name} = {stage.op}({names}){chain}, sm_80", self.origins.call)
        out.lines(_INCLUDES)
        out.line()
        out.line(f"namespace {SYMBOL}_types {{")
        out.lines("using namespace cute;\nnamespace visitor = cutlass::epilogue::threadblock;\n")
        out.line("constexpr auto Round = cutlass::FloatRoundStyle::round_to_nearest;")
        out.line()

    def _write_types(self) -> None:
        knobs, out, origins = self.stage.knobs, self.out, self.origins
        tile, warps = list(knobs["tile"]), list(knobs["warps"])
        warp = [tile[0] // warps[0], tile[1] // warps[1], tile[2]]
        accumulator = _ACCUMULATORS[str(knobs["acc"])]
        result = type_name(self.stage.name, self.stage.result, CUTLASS_TYPES, "a gemm's result")
        out.line(f"using Tile = {_shape(tile)};", origins.note("tile"), origins.knob("tile"))
        out.line(f"using Warp = {_shape(warp)};", origins.note("warps"), origins.knob("warps"))
        out.line(f"using Instruction = {_shape([16, 8, self.multiply.depth])};")
        out.line(f"using Accumulator = {accumulator};", origins.note("acc"), origins.knob("acc"))
        out.line(f"using Result = {result};", origins.note("out"), origins.knob("out"))
        out.line(f"constexpr int ResultLanes = {result_lanes(self.stage.result)};", "elements of one store")
        out.line("using ThreadMap = visitor::OutputTileThreadLayout<Tile, Warp, Result, ResultLanes, 1>;")
        out.line()
        self.tree.write_functors(out)
        self.tree.write_types(out, origins.note("out"), origins.knob("out"))
        out.line()

    def _write_kernel(self) -> None:
        knobs, out, origins = self.stage.knobs, self.out, self.origins
        swizzle = f"GemmIdentityThreadblockSwizzle<{knobs['swizzle']}>"
        shown = "swizzle"
        if self.divided:
            swizzle, shown = "ThreadblockSwizzleStreamK", "split" if int(knobs["split"]) > 1 else "schedule"
        out.line(f"using Order = cutlass::gemm::threadblock::{swizzle};", origins.note(shown), origins.knob(shown))
        out.line("using Kernel = typename cutlass::gemm::kernel::DefaultGemmWithVisitor<")
        for index, (operand, lanes) in enumerate(zip(self.operands, self.lanes, strict=True)):
            element = type_name(self.stage.name, operand.value, CUTLASS_TYPES, "the tensor cores")
            major = "RowMajor" if operand.major == "row" else "ColumnMajor"
            note = ", ".join(part for part in (describe(operand.value), self.multiply.words) if part)
            out.line(f"    {element}, cutlass::layout::{major},", note, origins.operand(index))
            out.line(f"    cutlass::ComplexTransform::kNone, {lanes},", "elements of one load")
        out.line("    Result, cutlass::layout::RowMajor, ResultLanes, Accumulator, float,")
        out.line("    cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, Tile, Warp, Instruction, Store, Order,")
        out.line(f"    {knobs['stages']},", origins.note("stages"), origins.knob("stages"))
        operator = f"cutlass::arch::{self.multiply.operator}"
        out.line(f"    {operator}>::GemmKernel;", origins.note("math"), origins.knob("math"))
        out.line("using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;")
        out.line(f"}}  // namespace {SYMBOL}_types")
        out.line()

    def _write_function(self) -> None:
        out = self.out
        out.line("", "Returns 0, 1 (cannot implement), 2 (initialisation), 3 (launch) or 4 (workspace too small).")
        write_signature(out, self.arguments, self.origins, self.stage.result.name)
        out.line("  cudaStream_t on = static_cast<cudaStream_t>(stream);")
        self.tree.write_arguments(out)
        self._write_problem()
        out.line("  if (Gemm::can_implement(arguments) != cutlass::Status::kSuccess) { return 1; }")
        if self.divided:
            out.line("  if (int64_t(Gemm::get_workspace_size(arguments)) > workspace_bytes) { return 4; }")
        out.lines("""
  Gemm gemm;
  if (gemm.initialize(arguments, workspace, on) != cutlass::Status::kSuccess) { return 2; }
  return gemm.run(on) == cutlass::Status::kSuccess ? 0 : 3;
}""")

    def _write_problem(self) -> None:
        out, split = self.out, int(self.stage.knobs.get("split", 1))
        mode, count = ("kBatched", "int(batch)") if self.batched else ("kGemm", str(split))
        note = self.origins.note("split") if split > 1 else ""
        strides = "batch_a, batch_b" if self.batched else "int64_t(0), int64_t(0)"
        out.line("  typename Gemm::Arguments arguments(")
        out.line(f"      cutlass::gemm::GemmUniversalMode::{mode}, {{int(m), int(n), int(k)}}, {count},", note)
        out.line("      store_arguments, a, b, nullptr, nullptr,", "the tree stores; there is no C")
        out.line(f"      {strides}, int64_t(0), int64_t(0),", "from one matrix to the next")
        out.line("      ld_a, ld_b, n, n);")


def _shape(extents: list[int]) -> str:
    return f"cutlass::gemm::GemmShape<{', '.join(map(str, extents))}>"


def emit_gemm(stage: Stage, source: Assign | None) -> StageCode:
    """Tensor-core code of a gemm or bmm stage; raises the errors of ``codegen`` and ``cuda``."""
    return GemmEmitter(stage, source).emit()
