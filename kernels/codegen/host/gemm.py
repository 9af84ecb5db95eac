"""gemm and bmm on the host: a Config and an Epilogue for the loops of ``mu/gemm.h``."""

from __future__ import annotations

from kernels.codegen.emission import StageCode
from kernels.codegen.host.expressions import cpp_expression, without_parentheses
from kernels.codegen.host.operands import Operands, collect, declare_members, effective_strides, initialisers
from kernels.codegen.host.places import Places
from kernels.codegen.host.signature import Signature
from kernels.codegen.host.types import cpp_type, gemm_compute
from kernels.codegen.host.workspace import GemmShape, workspace_bytes
from kernels.codegen.source import SYMBOL, Source
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign

_COMBINE = {"sum": "mu::Adding", "mean": "mu::Adding", "max": "mu::Greatest", "min": "mu::Least"}
_ROUND = {"f32": "mu::Exact", "bf16": "mu::RoundToBf16", "f16": "mu::RoundToF16"}


def emit_gemm(stage: Stage, source: Assign | None) -> StageCode:
    """The unit of a gemm or bmm stage and the sizes to call it with."""
    places = Places(stage, source)
    axes = ("b", "i", "j") if stage.op == "bmm" else ("i", "j")
    operands = collect(stage, axes)
    compute = gemm_compute(stage)
    signature = _signature(stage, operands)
    text = Source()
    text.add(remark=f"{stage.name} = {stage.op}{_shape_remark(stage)}", mu=places.line)
    text.extend(['#include "mu/gemm.h"', "", "namespace {", ""])
    write_config(text, stage, places, compute, effective_strides(stage.operands[1])[-1] == 1)
    write_epilogue(text, stage, operands, compute)
    text.extend(["}  // namespace", ""])
    _entry(text, stage, operands, signature)
    unit = text.finish(stage.op, "c++", stage.name)
    pointers = tuple(value.name for value in (*stage.operands[:2], *operands.pointers))
    return StageCode(unit, pointers, signature.values, gemm_workspace(stage, compute))


def _shape_remark(stage: Stage) -> str:
    a, b = stage.operands[:2]
    return f"({a.name}{list(a.shape)}, {b.name}{list(b.shape)}) -> {stage.result.dtype}{list(stage.result.shape)}"


def write_config(text: Source, stage: Stage, places: Places, compute: str, b_unit: bool) -> None:
    """The Config of ``mu::Gemm``; ``b_unit`` says whether the columns of b lie side by side."""
    a, b = stage.operands[:2]
    knobs = stage.knobs
    tile_m, tile_n, tile_k = knobs["tile"]
    micro_m, micro_n = knobs["micro"]
    packed = knobs["stages"]
    rounding = _ROUND[knobs["math"]] if compute == "float" else "mu::Exact"
    text.add("struct Config {")
    text.add(f"  using A = {cpp_type(a.dtype, stage, a.name)};", mu=places.operand(0), remark=a.name)
    text.add(f"  using B = {cpp_type(b.dtype, stage, b.name)};", mu=places.operand(1), remark=b.name)
    out = cpp_type(stage.result.dtype, stage, stage.name)
    text.add(f"  using Out = {out};", mu=places.knob("out"), remark=places.remark("out"))
    text.add(f"  using Compute = {compute};", mu=places.knob("acc"), remark=places.remark("acc"))
    text.add(f"  using Round = {rounding};", mu=places.knob("math"), remark=places.remark("math"))
    line = f"  static constexpr int64_t tile_m = {tile_m}, tile_n = {tile_n}, tile_k = {tile_k};"
    text.add(line, mu=places.knob("tile"), remark=places.remark("tile"))
    line = f"  static constexpr int micro_m = {micro_m}, micro_n = {micro_n};"
    text.add(line, mu=places.knob("micro"), remark=places.remark("micro"))
    line = f"  static constexpr bool pack_a = {_bool(packed >= 3)}, pack_b = {_bool(packed >= 2)};"
    text.add(line, mu=places.knob("stages"), remark=places.remark("stages"))
    text.add(f"  static constexpr bool b_unit = {_bool(b_unit)};", mu=places.operand(1))
    text.add(
        f"  static constexpr int split = {knobs['split']};", mu=places.knob("split"), remark=places.remark("split")
    )
    text.extend(["};", ""])


def _bool(value: bool) -> str:
    return "true" if value else "false"


def write_epilogue(text: Source, stage: Stage, operands: Operands, compute: str) -> None:
    """The chain as the Epilogue of ``mu::Gemm``."""
    text.extend(["struct Epilogue {", f"  using C = {compute};", "  using V = mu::vec<C>;"])
    write_reduction(text, stage)
    declare_members(text, operands)
    text.add()
    text.add("  template <class Extent>")
    text.add("  V operator()(V acc, [[maybe_unused]] int64_t b, [[maybe_unused]] int64_t i,")
    text.add("               [[maybe_unused]] int64_t j, [[maybe_unused]] Extent extent) const {")
    for step in stage.chain:
        expression = without_parentheses(cpp_expression(step.expr, stage, operands))
        text.add(f"    acc = {expression};", mu=step.span.line, remark=f">> {step.text}")
    text.extend(["    return acc;", "  }", "};", ""])


def write_reduction(text: Source, stage: Stage) -> None:
    """How the epilogue reduces, where it does; the loops then store no product."""
    if stage.reduction is not None:
        columns, mean = _bool(reduced_extent(stage) == "columns"), _bool(stage.reduction.kind == "mean")
        line = f"  using Reduce = mu::Reduce<{_COMBINE[stage.reduction.kind]}, {columns}, {mean}>;"
        text.add(line, mu=stage.reduction.span.line, remark=f">> {stage.reduction.text}")


def reduced_extent(stage: Stage) -> str:
    """``columns`` or ``rows``, whichever the reduction goes over; "" without one."""
    if stage.reduction is None:
        return ""
    return "columns" if stage.reduction.axis == len(stage.operands[0].shape) - 1 else "rows"


def _signature(stage: Stage, operands: Operands) -> Signature:
    a, b = stage.operands[:2]
    batched = stage.op == "bmm"
    sizes: list[tuple[str, int]] = [("batch", stage.attributes["batch"])] if batched else []
    sizes += [(name, stage.attributes[name]) for name in ("m", "n", "k")]
    for name, operand in (("a", a), ("b", b)):
        axes = ("batch", "row", "col") if batched else ("row", "col")
        # A lone row or column has no stride of its own: the packing reads it as the cheap case.
        sizes += [(f"{name}_{axis}", stride) for axis, stride in zip(axes, effective_strides(operand), strict=True)]
    sizes += operands.members
    sizes.append(("threads", stage.knobs["threads"]))
    return Signature(("a", "b", *(item.name for item in operands.items)), tuple(sizes))


def _entry(text: Source, stage: Stage, operands: Operands, signature: Signature) -> None:
    batched = stage.op == "bmm"
    signature.declare(text, SYMBOL)
    text.add(f"  const mu::Extents size{{{'batch' if batched else '1'}, m, n, k}};")
    for name in ("a", "b"):
        batch = f"{name}_batch" if batched else "0"
        kind = name.upper()
        text.add(
            f"  const mu::View<Config::{kind}> view_{name}"
            f"{{static_cast<const Config::{kind}*>({name}), {batch}, {name}_row, {name}_col}};"
        )
    text.add(f"  const Epilogue epilogue{{{', '.join(initialisers(operands))}}};")
    text.add("  mu::Gemm<Config, Epilogue> gemm(size, view_a, view_b, out, epilogue);")
    text.add("  return gemm.run(workspace, threads);")
    text.add("}")


def gemm_workspace(stage: Stage, compute: str) -> int:
    """Bytes of scratch memory of one gemm or bmm."""
    knobs, attributes = stage.knobs, stage.attributes
    result = {"float": "f32", "double": "f64"}[compute]
    tile_m, tile_n, tile_k = knobs["tile"]
    micro_m, micro_n = knobs["micro"]
    return workspace_bytes(
        GemmShape(
            batch=attributes.get("batch", 1) if stage.op == "bmm" else 1,
            m=attributes["m"],
            n=attributes["n"],
            k=attributes["k"],
            tile=(tile_m, tile_n, tile_k),
            micro=(micro_m, micro_n),
            split=knobs["split"],
            threads=knobs["threads"],
            element=4 if compute == "float" else 8,
            pack_a=knobs["stages"] >= 3,
            pack_b=knobs["stages"] >= 2,
            sums_in_result=stage.result.dtype == result and knobs["split"] == 1 and stage.reduction is None,
            reduced=reduced_extent(stage),
        )
    )
