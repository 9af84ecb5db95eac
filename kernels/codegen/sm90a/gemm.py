"""gemm and bmm on the tensor cores: a CUTLASS 3.x collective with the chain as its epilogue visitor tree.

What it does not do: choose knobs (the checker has filled them), or copy operands that are read as they are stored and
that TMA cannot read; those are refused by name. FP32 data that is rounded or split is copied into the workspace first,
in the same launch (``cuda.split``). Layouts that CUTLASS multiplies only the other way round are handed to it
transposed: see ``orientation``.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.codegen.cuda.frame import stage_code, write_signature
from kernels.codegen.cuda.layout import CUTLASS_TYPES, TMA_BYTES, describe, matrix, require_tma, type_name
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.split import SplitCopy, plan_copy, write_copy_kernels, write_depth
from kernels.codegen.cuda.writer import SYMBOL, SourceWriter
from kernels.codegen.emission import StageCode
from kernels.codegen.sm90a.epilogue import write_stores
from kernels.codegen.sm90a.mainloop import (
    fast_tag,
    mainloop_name,
    promotion_argument,
    write_promotion,
    write_stages,
)
from kernels.codegen.sm90a.orientation import k_major, orient
from kernels.codegen.sm90a.reduction import ALIGNMENT, Joining, plan_joining
from kernels.codegen.sm90a.scheduling import write_hardware, write_multiprocessors, write_scheduling
from kernels.codegen.sm90a.visitor import VisitorTree
from kernels.codegen.sm90a.workspace import stream_k_bytes
from kernels.dsl.ir import Stage
from kernels.dsl.maths import WAYS
from kernels.dsl.resources import settled_schedule, store_stages
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType

INCLUDES = """
#include <cstdint>

#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/epilogue/fusion/operations.hpp"
#include "cutlass/epilogue/thread/activation.h"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/gemm/kernel/tile_scheduler.hpp"
#include "cutlass/kernel_hardware_info.h"
"""
ACCUMULATORS = {"f32": "float", "fast": "float", "f16": "cutlass::half_t"}


@dataclass(frozen=True, slots=True)
class _Schedule:
    """The knob's value with ``auto`` settled, and the CUTLASS tags that belong to it."""

    name: str
    mainloop: str
    epilogue: str
    scheduler: str


def schedule(stage: Stage) -> _Schedule:
    """The schedule of a stage; raises KnobWithoutCode for another word."""
    name = settled_schedule(stage)
    if name not in ("cooperative", "pingpong", "streamk"):
        raise KnobWithoutCode(
            stage=stage.name, knob="schedule", found=name, legal="auto, cooperative, pingpong or streamk"
        )
    if name == "pingpong":
        scheduler = "cutlass::gemm::PersistentScheduler"
        return _Schedule(name, "KernelTmaWarpSpecializedPingpong", "TmaWarpSpecialized", scheduler)
    tag = "StreamKScheduler" if name == "streamk" else "PersistentScheduler"
    return _Schedule(
        name, "KernelTmaWarpSpecializedCooperative", "TmaWarpSpecializedCooperative", f"cutlass::gemm::{tag}"
    )


class GemmEmitter:
    """Writes one unit. Sizes and strides are run-time arguments; everything else is in the types."""

    joining: Joining | None = None
    """What the reduction behind the product needs, where there is one."""

    def __init__(self, stage: Stage, source: Assign | None) -> None:
        self.stage = stage
        self.origins = Origins(stage, source)
        self.out = SourceWriter()
        self.arguments = Arguments()
        self.batched = stage.op == "bmm"
        self.schedule = schedule(stage)
        self.math = str(stage.attributes.get("math", stage.knobs["math"]))
        self.copies = self._plan_copies()
        self.operands = tuple(
            copy.as_matrix() if copy else matrix(stage.name, value)
            for copy, value in zip(self.copies, stage.operands[:2], strict=True)
        )
        tf32 = any(operand.value.dtype is DType.F32 for operand in self.operands)
        self.orientation = orient(stage, self.operands, tf32)
        self._declare_arguments()
        self.joining = plan_joining(stage, self.orientation)
        self.tree = VisitorTree(stage, self.arguments, self.batched, self.orientation, self.joining)
        self._check_alignment()
        self.workspace_bytes = self._plan_workspace()

    def emit(self) -> StageCode:
        """The unit and how to call it."""
        self._write_head()
        self._write_types()
        self._write_function()
        return stage_code(self.out, self.stage, self.arguments, self.workspace_bytes)

    def _plan_copies(self) -> tuple[SplitCopy | None, SplitCopy | None]:
        first, second = self.stage.operands[:2]
        a = plan_copy(first, "a", self.math, 0)
        b = plan_copy(second, "b", self.math, a.end if a else 0)
        return a, b

    def _declare_arguments(self) -> None:
        m, k = self.stage.operands[0].shape[-2:]
        n = self.stage.operands[1].shape[-1]
        for parameter, value in zip("ab", self.stage.operands, strict=False):
            self.arguments.pointer(parameter, value.name)
        for name, extent in (("m", m), ("n", n), ("k", k)):
            self.arguments.size(name, extent)
        if self.batched:
            self.arguments.size("batch", self.stage.result.shape[0])
        for parameter, operand, copy in zip("ab", self.operands, self.copies, strict=True):
            if copy is not None:
                copy.declare(self.arguments, self.batched)
                continue
            self.arguments.size(f"ld_{parameter}", operand.leading)
            if self.batched:
                self.arguments.size(f"batch_{parameter}", operand.batch)

    def _check_alignment(self) -> None:
        for operand in self.operands:
            pitches = (operand.leading, operand.batch)
            require_tma(self.stage.name, operand.value, operand.contiguous_extent, pitches)
        result = self.stage.result
        if self.joining is None:
            require_tma(self.stage.name, result, result.shape[-1], ())

    def _plan_workspace(self) -> int:
        copied = max((copy.end for copy in self.copies if copy), default=0)
        for copy in self.copies:
            if copy is not None:
                self.arguments.size(f"offset_{copy.role}", copy.start)
        return self._plan_scratch(copied)

    def _plan_scratch(self, copied: int) -> int:
        """Room for the scheduler or partial results behind the copies; gives the bytes of all of it."""
        if self.joining is not None:
            start = -(-copied // ALIGNMENT) * ALIGNMENT
            self.arguments.size("offset_partials", start)
            return start + self.joining.bytes
        scheduler = stream_k_bytes(self.stage, self.orientation) if self.schedule.name == "streamk" else 0
        if scheduler:
            self.arguments.size("offset_scratch", copied)
            self.arguments.size("workspace_bytes", copied + scheduler)
        return copied + scheduler

    def _write_head(self) -> None:
        stage, out = self.stage, self.out
        links = [step.text for step in stage.chain] + ([stage.reduction.text] if stage.reduction else [])
        chain = "".join(f" >> {text}" for text in links)
        names = ", ".join(value.name for value in stage.operands[:2])
        out.line("", f"{stage.name} = {stage.op}({names}){chain}, sm_90a", self.origins.call)
        if self.orientation.transposed:
            out.line(
                "", "Multiplied as y^T = b^T a^T, as b is not K-major, which tf32 takes in the first place alone;"
            )
            out.line("", "the m of tile, cluster and raster runs along the columns of y.")
        if any(self.copies):
            out.lines("#include <algorithm>\n#include <cmath>\n#include <cstring>")
        out.lines(INCLUDES)
        out.line()
        out.line(f"namespace {SYMBOL}_types {{")
        out.lines("using namespace cute;\nnamespace fusion = cutlass::epilogue::fusion;\n")
        out.line("constexpr auto Round = cutlass::FloatRoundStyle::round_to_nearest;")
        out.line()

    def _write_types(self) -> None:
        knobs, out, origins = self.stage.knobs, self.out, self.origins
        tile, cluster = list(knobs["tile"]), list(knobs["cluster"])
        accumulator = ACCUMULATORS[str(knobs["acc"])]
        out.line(f"using Tile = Shape<{shape_text(tile)}>;", origins.note("tile"), origins.knob("tile"))
        out.line(
            f"using Cluster = Shape<{shape_text([*cluster, 1])}>;", origins.note("cluster"), origins.knob("cluster")
        )
        out.line(f"using Accumulator = {accumulator};", origins.note("acc"), origins.knob("acc"))
        out.line()
        self.tree.write_functors(out)
        if any(self.copies):
            write_copy_kernels(out, WAYS[self.math])
        self.tree.write_types(out)
        out.line()
        self._write_epilogue()
        self._write_mainloop()
        self._write_kernel()

    def _write_epilogue(self) -> None:
        stage, out, origins, source = self.stage, self.out, self.origins, self.tree.source
        result = type_name(stage.name, stage.result, CUTLASS_TYPES, "a gemm's result")
        lanes, layout = TMA_BYTES // stage.result.dtype.bytes, self.orientation.row_major
        stores = store_stages(stage) if source is None else 0
        name = "Built" if stores else "Epilogue"
        out.line(f"using {name} = typename cutlass::epilogue::collective::CollectiveBuilder<")
        out.line("    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,")
        out.line("    cutlass::epilogue::collective::EpilogueTileAuto, Accumulator, float,")
        if source is None:
            out.line(f"    void, {layout}, {lanes},", "no C: it is never read")
        else:
            lanes_c = TMA_BYTES // source.value.dtype.bytes
            out.line(f"    {source.element}, {layout}, {lanes_c},", f"C = {source.value.name}")
        if self.joining is None:
            out.line(f"    {result}, {layout}, {lanes},", origins.note("out"), origins.knob("out"))
        else:
            out.line(f"    void, {layout}, 4,", "no D: the product is not stored")
        note, mu = origins.note("schedule"), origins.knob("schedule")
        out.line(f"    cutlass::epilogue::{self.schedule.epilogue}, {self.tree.root}>::CollectiveOp;", note, mu)
        out.line()
        write_stores(out, stores)

    def _write_mainloop(self) -> None:
        out, origins = self.out, self.origins
        out.line(f"using {mainloop_name(self.stage)} = typename cutlass::gemm::collective::CollectiveBuilder<")
        out.line("    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp,")
        for index in self.orientation.pair(0, 1):
            operand, copy = self.operands[index], self.copies[index]
            element = type_name(self.stage.name, operand.value, CUTLASS_TYPES, "the tensor cores")
            note = describe(self.stage.operands[index])
            if copy is not None:
                note += f", {copy.way_text}"
            elif operand.value.dtype is DType.F32:
                note += ", read as tf32"
            tag = f"{self.orientation.tag(operand.major)}, {TMA_BYTES // operand.value.dtype.bytes},"
            out.line(f"    {element}, {tag}", note, origins.operand(index))
        out.line("    Accumulator, Tile, Cluster,")
        write_stages(out, self.stage, origins)
        note, mu = origins.note("schedule"), origins.knob("schedule")
        out.line(f"    cutlass::gemm::{self.schedule.mainloop}{fast_tag(self.stage)}>::CollectiveOp;", note, mu)
        out.line()
        write_promotion(out, self.stage, "")

    def _write_kernel(self) -> None:
        out, origins = self.out, self.origins
        out.line("using Kernel = cutlass::gemm::kernel::GemmUniversal<")
        out.line("    Shape<int, int, int, int>, Mainloop, Epilogue,")
        out.line(f"    {self.schedule.scheduler}>;", origins.note("schedule"), origins.knob("schedule"))
        out.line("using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;")
        out.line()
        write_multiprocessors(out, self.stage)
        if self.joining is not None:
            self.joining.write_kernel(out)
        out.line(f"}}  // namespace {SYMBOL}_types")
        out.line()

    def _write_function(self) -> None:
        out = self.out
        out.line("", "Returns 0, 1 (cannot implement), 2 (initialisation), 3 (launch) or 4 (workspace too small).")
        write_signature(out, self.arguments, self.origins, self.stage.result.name)
        out.line("  cudaStream_t on = static_cast<cudaStream_t>(stream);")
        if any(self.copies):
            write_depth(out, WAYS[self.math])
        for copy in self.copies:
            if copy is not None:
                copy.write_launch(out, self.batched)
        tree_arguments = self.tree.write_arguments(out)
        self._write_problem(tree_arguments)
        write_scheduling(self.out, self.stage, self.origins)
        self._write_run()

    def _write_problem(self, tree_arguments: str) -> None:
        out, source = self.out, self.tree.source
        batch = "batch" if self.batched else "1"
        mode = "kBatched" if self.batched else "kGemm"
        rows, columns = self.orientation.pair("m", "n")
        write_hardware(out, self.stage, (rows, columns, batch))
        out.line("  typename Gemm::Arguments arguments{")
        out.line(f"      cutlass::gemm::GemmUniversalMode::{mode},")
        depth = "depth" if any(self.copies) else "k"
        out.line(f"      {{int({rows}), int({columns}), int({depth}), int({batch})}},")
        first, second = (self._operand_arguments(index) for index in self.orientation.pair(0, 1))
        out.line(f"      {{{first},")
        out.line(f"       {second}{promotion_argument(self.stage)}}},")
        result = CUTLASS_TYPES[self.stage.result.dtype]
        dense = ", ".join(self.orientation.pair("n", "_1{}"))
        stored = f"static_cast<{result}*>(y)" if self.joining is None else "nullptr"
        output = f"{stored}, {{{dense}, m * n}}"
        if source is None:
            out.line(f"      {{{tree_arguments}, nullptr, {{{dense}, m * n}}, {output}}},")
        else:
            pointer = f"static_cast<{source.element} const*>({source.parameter})"
            strides = f"{{{', '.join(self.orientation.pair(source.leading, '_1{}'))}, {source.batch}}}"
            out.line(f"      {{{tree_arguments}, {pointer}, {strides},", f"C = {source.value.name}")
            out.line(f"       {output}}},")
        out.line("      hardware};")

    def _operand_arguments(self, index: int) -> str:
        parameter, operand = "ab"[index], self.operands[index]
        pointer, leading, batch = parameter, f"ld_{parameter}", f"batch_{parameter}"
        if self.copies[index] is not None:
            pointer, leading, batch = f"split_{parameter}", "depth", f"split_batch_{parameter}"
        batch = batch if self.batched else "int64_t(0)"
        # CUTLASS's strides are (M, K, L) of A and (N, K, L) of B, so that either operand can stand in either place.
        pair = f"{leading}, _1{{}}" if k_major(operand, index) else f"_1{{}}, {leading}"
        return f"static_cast<{CUTLASS_TYPES[operand.value.dtype]} const*>({pointer}), {{{pair}, {batch}}}"

    def _write_run(self) -> None:
        out = self.out
        out.lines("""
  if (Gemm::can_implement(arguments) != cutlass::Status::kSuccess) { return 1; }""")
        if self.schedule.name == "streamk":
            out.lines("""
  void* scratch = static_cast<char*>(workspace) + offset_scratch;
  if (int64_t(Gemm::get_workspace_size(arguments)) > workspace_bytes - offset_scratch) { return 4; }""")
        else:
            out.line("  void* scratch = nullptr;", "this scheduler needs no workspace")
        out.lines("""
  Gemm gemm;
  if (gemm.initialize(arguments, scratch, on) != cutlass::Status::kSuccess) { return 2; }""")
        if self.joining is not None:
            out.line("  if (gemm.run(on) != cutlass::Status::kSuccess) { return 3; }")
            self.joining.write_launch(out)
            return
        out.lines("  return gemm.run(on) == cutlass::Status::kSuccess ? 0 : 3;\n}")


def shape_text(extents: list[int]) -> str:
    """``_128, _96, Int<320>``: extents as the types that cute has, or makes, for them."""
    known = {*range(1, 11), 12, 16, *range(24, 257, 8), 512}
    return ", ".join(f"_{extent}" if extent in known else f"Int<{extent}>" for extent in extents)


def emit_gemm(stage: Stage, source: Assign | None) -> StageCode:
    """Tensor-core code of a gemm or bmm stage; raises the errors of ``codegen`` and ``sm90a``."""
    return GemmEmitter(stage, source).emit()
