"""pad on the host: a Config for the loop of ``mu/pad.h``, over the merged dimensions of ``codegen.borders``."""

from __future__ import annotations

from kernels.codegen.borders import border_of
from kernels.codegen.emission import StageCode
from kernels.codegen.host.expressions import cpp_number
from kernels.codegen.host.places import Places
from kernels.codegen.host.signature import Signature
from kernels.codegen.host.types import cpp_type
from kernels.codegen.source import SYMBOL, Source
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType


def emit_pad(stage: Stage, source: Assign | None) -> StageCode:
    """The unit of a pad stage and the sizes to call it with."""
    places, border, x = Places(stage, source), border_of(stage), stage.operands[0]
    rank = len(border.inside)
    groups = (("n", border.extents), ("inside", border.inside), ("before", border.before), ("x", border.strides))
    sizes = [(f"{name}{axis}", value) for name, values in groups for axis, value in enumerate(values)]
    signature = Signature(("x",), (*sizes, ("threads", stage.knobs["threads"])))
    text = Source()
    text.add(remark=f"{stage.name} = pad -> {stage.result.dtype}{list(stage.result.shape)}", mu=places.line)
    text.extend(['#include "mu/pad.h"', "", "namespace {", "", "struct Config {"])
    text.add(f"  using Element = {cpp_type(x.dtype, stage, x.name)};", mu=places.operand(0), remark=x.name)
    text.add(f"  using Compute = {_compute(x.dtype)};")
    text.add(f"  static constexpr int rank = {rank};")
    unit = border.strides[-1] == 1 or border.inside[-1] == 1
    text.add(f"  static constexpr bool unit = {'true' if unit else 'false'};")
    value = cpp_number(stage.attributes["value"])
    text.add(f"  static constexpr double value = {value};", mu=places.operand(2), remark="the border")
    text.extend(["};", "", "}  // namespace", ""])
    signature.declare(text, SYMBOL)
    for name, prefix in (("extent", "n"), ("inside", "inside"), ("before", "before"), ("stride", "x")):
        values = ", ".join(f"{prefix}{axis}" for axis in range(rank))
        text.add(f"  const int64_t {name}_of[Config::rank] = {{{values}}};")
    text.add("  return mu::pad<Config>(extent_of, inside_of, before_of, stride_of, x, out, threads);")
    text.add("}")
    return StageCode(text.finish("pad", "c++", stage.name), (x.name,), signature.values, 0)


def _compute(dtype: DType) -> str:
    """The type in which the border's value is converted without loss."""
    if not dtype.is_float:
        return "int64_t"
    return "double" if dtype is DType.F64 else "float"
