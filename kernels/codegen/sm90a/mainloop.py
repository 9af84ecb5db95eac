"""Parts of a mainloop's type that gemm and grouped_gemm share: its stages, and where its sums are added up.

The tensor cores truncate their FP32 sums. ``acc(f32)`` of 8-bit products and of the splits that stand for FP32 promotes
them: every few instructions they are added, rounded, to a second set of registers.
"""

from __future__ import annotations

from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.writer import SourceWriter
from kernels.dsl.ir import Stage
from kernels.dsl.maths import WAYS, element_bytes, promoted
from kernels.dsl.resources import SHARED_MEMORY_SM90A, settled_stages, stage_bytes
from kernels.dtypes import FP8

_PROMOTED = """
// The same mainloop, its sums added up outside the tensor cores: CUTLASS has it for FP8, and it is as good for others.
template <class>
struct PromotedOf;
template <int Stages, class Shape_, class Schedule, class... Rest>
struct PromotedOf<cutlass::gemm::collective::CollectiveMma<
    cutlass::gemm::MainloopSm90@ARRAY@TmaGmmaWarpSpecialized<Stages, Shape_, Schedule>, Rest...>> {
  using type = cutlass::gemm::collective::CollectiveMma<
      cutlass::gemm::MainloopSm90@ARRAY@TmaGmmaWarpSpecializedFP8<Stages, Shape_, Schedule>, Rest...>;
};
using Mainloop = typename PromotedOf<Plain>::type;
"""


def _split_promoted(stage: Stage) -> bool:
    """Whether the builder's mainloop is to be exchanged; for 8-bit operands it is the right one by itself."""
    math = str(stage.attributes["math"])
    return math in WAYS and promoted(math, str(stage.knobs["acc"]))


def mainloop_name(stage: Stage) -> str:
    """What the collective that the builder gives is called."""
    return "Plain" if _split_promoted(stage) else "Mainloop"


def fast_tag(stage: Stage) -> str:
    """Ends the schedule's tag of 8-bit products whose sums stay in the tensor cores."""
    eight_bits = str(stage.attributes["math"]) not in WAYS and stage.operands[0].dtype in FP8
    return "FP8FastAccum" if eight_bits and stage.knobs["acc"] == "fast" else ""


def write_promotion(out: SourceWriter, stage: Stage, array: str) -> None:
    """Exchanges ``Plain`` for the mainloop that promotes; ``array`` is "Array" for pointer arrays."""
    if _split_promoted(stage):
        out.lines(_PROMOTED.replace("@ARRAY@", array))
        out.line()


def promotion_argument(stage: Stage) -> str:
    """The mainloop's last argument: instructions between promotions, whole tiles of K and four at least."""
    if not promoted(str(stage.attributes["math"]), str(stage.knobs["acc"])):
        return ""
    an_instruction = 32 // element_bytes(str(stage.attributes["math"]))
    blocks = int(stage.knobs["tile"][2]) // an_instruction
    return f", {blocks * max(1, 4 // blocks)}"


def write_stages(out: SourceWriter, stage: Stage, origins: Origins) -> None:
    """The mainloop's number of stages; ``stage`` is a gemm or bmm, or one product of a grouped_gemm."""
    stages, settled = int(stage.knobs["stages"]), settled_stages(stage)
    note, mu = origins.note("stages"), origins.knob("stages")
    if stages:
        out.line(f"    cutlass::gemm::collective::StageCount<{stages}>,", note, mu)
        return
    out.line("    cutlass::gemm::collective::StageCountAutoCarveout<", note, mu)
    if settled:
        # CUTLASS rounds a carve-out up, to 1024 bytes where an operand is turned.
        rest = (SHARED_MEMORY_SM90A - settled * stage_bytes(stage)) // 1024 * 1024
        out.line(f"        {rest}>,", f"what {settled} stages leave: of so small a tile not any number fits", mu)
    else:
        out.line("        static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,", mu=mu)
