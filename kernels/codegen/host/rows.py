"""reduce, softmax and norm on the host: a Config, a statistic and a Body for the loops of ``mu/rows.h``.

A norm's weight and bias are links like any other, put before the chain's own. The chain of a reduction sees one result
at a time, that of the others vectors along the row.
"""

from __future__ import annotations

from dataclasses import replace

from kernels.codegen.emission import StageCode
from kernels.codegen.errors import ElementTypeWithoutCode
from kernels.codegen.host.expressions import cpp_expression, without_parentheses
from kernels.codegen.host.map import merge_extents
from kernels.codegen.host.operands import Operands, collect, declare_members, effective_strides, initialisers
from kernels.codegen.host.places import Places
from kernels.codegen.host.signature import Signature
from kernels.codegen.host.types import cpp_type, loads
from kernels.codegen.source import SYMBOL, Source
from kernels.dsl.ir import Acc, Apply, ChainStep, Load, Stage, Value
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType

_DTYPES = (DType.F64, DType.F32, DType.F16, DType.BF16)

_STATISTICS = {
    "sum": "Sum", "mean": "Mean", "max": "Max", "min": "Min", "prod": "Prod", "sumsq": "SumSq",
    "logsumexp": "LogSumExp", "softmax": "Softmax", "log_softmax": "LogSoftmax",
    "layer_norm": "LayerNorm", "rms_norm": "RmsNorm",
}  # fmt: skip
"""The statistics of ``mu/statistics.h`` by the stage's kind."""

_AFFINE = {"weight": "mul", "bias": "add"}


def emit_rows(stage: Stage, source: Assign | None) -> StageCode:
    """The unit of a reduce, softmax or norm stage and the sizes to call it with."""
    x = stage.operands[0]
    if x.dtype not in _DTYPES:
        raise ElementTypeWithoutCode(
            stage=stage.name, target="host", dtype=x.dtype, role=x.name, legal=", ".join(_DTYPES)
        )
    places = Places(stage, source)
    stage = _with_affine_links(stage, places)
    outer, strides = _outer_extents(stage)
    rank = len(outer) + (stage.op != "reduce")
    operands = collect(stage, tuple(f"at[{axis}]" for axis in range(rank)), strides)
    names = ("rows",) if len(outer) == 1 else tuple(f"n{axis}" for axis in range(len(outer)))
    sizes = [*zip(names, outer, strict=True), ("columns", stage.attributes["columns"])]
    sizes += [*operands.members, ("threads", stage.knobs["threads"])]
    signature = Signature(("x", *(item.name for item in operands.items)), tuple(sizes))
    text = Source()
    shape = f"{stage.result.dtype}{list(stage.result.shape)}"
    work = f"{stage.attributes['kind']}({x.name}{list(x.shape)})"
    text.add(remark=f"{stage.name} = {work} -> {shape}", mu=places.line)
    text.extend(['#include "mu/rows.h"', "", "namespace {", ""])
    _config(text, stage, places, len(outer), rank)
    _body(text, stage, operands, rank)
    text.extend(["}  // namespace", ""])
    _entry(text, operands, signature, names)
    unit = text.finish(stage.op, "c++", stage.name)
    pointers = (x.name, *(value.name for value in operands.pointers))
    return StageCode(unit, pointers, signature.values, 0)


def _with_affine_links(stage: Stage, places: Places) -> Stage:
    """The stage with a norm's weight and bias as the chain's first links."""
    present = [role for role in _AFFINE if stage.attributes[role]]
    links = []
    for position, role in enumerate(present, 1):
        operand = stage.operands[position]
        expr = Apply(_AFFINE[role], (Acc(), Load(_along_rows(operand, stage.result.shape))))
        span = replace(stage.span, line=places.operand(position))
        links.append(ChainStep(f"{role} {operand.name}", expr, span))
    return replace(stage, chain=(*links, *stage.chain))


def _along_rows(vector: Value, shape: tuple[int, ...]) -> Value:
    """A vector of the last extent at the rank of ``shape``."""
    return replace(vector, shape=shape, strides=(*[0] * (len(shape) - 1), vector.strides[-1]))


def _outer_extents(stage: Stage) -> tuple[tuple[int, ...], dict[Value, tuple[int, ...]]]:
    """The extents whose product is the rows, merged where the chain allows, and its operands' strides.

    The strides are those over the index of a result: the column's comes last, except in a reduction.
    """
    values = {load.value: effective_strides(load.value) for step in stage.chain for load in loads(step.expr)}
    if stage.op == "reduce":
        return merge_extents(stage.result.shape, values)
    outer = {value: strides[:-1] for value, strides in values.items()}
    extents, merged = merge_extents(stage.result.shape[:-1], outer)
    return extents, {value: (*merged[value], strides[-1]) for value, strides in values.items()}


def _compute(stage: Stage) -> str:
    return "double" if stage.operands[0].dtype is DType.F64 else "float"


def _config(text: Source, stage: Stage, places: Places, outer: int, rank: int) -> None:
    x = stage.operands[0]
    wanted = stage.knobs["vector"]
    text.add("struct Config {")
    text.add(f"  using X = {cpp_type(x.dtype, stage, x.name)};", mu=places.operand(0), remark=x.name)
    text.add(f"  using Out = {cpp_type(stage.result.dtype, stage, stage.name)};", mu=places.line)
    text.add(f"  using Compute = {_compute(stage)};", mu=places.line)
    text.add(f"  static constexpr int outer = {outer}, rank = {rank};")
    # The knob counts elements; the loops take whole registers.
    vectors = f"({wanted} + mu::lanes<Compute> - 1) / mu::lanes<Compute>" if wanted else "4"
    line = f"  static constexpr int vectors = {vectors};"
    text.add(line, mu=places.knob("vector"), remark=places.remark("vector"))
    if stage.op == "norm":
        text.add(f"  static constexpr double eps = {float(stage.attributes['eps'])!r};", mu=places.line)
    text.extend(["};", ""])
    text.add(f"using Statistic = mu::{_STATISTICS[stage.attributes['kind']]}<Config>;", mu=places.line)
    text.add()


def _body(text: Source, stage: Stage, operands: Operands, rank: int) -> None:
    text.extend(["struct Body {", f"  using C = {_compute(stage)};", "  using V = mu::vec<C>;"])
    declare_members(text, operands)
    text.add()
    text.add("  template <class Extent>")
    text.add(f"  V operator()(V acc, [[maybe_unused]] const int64_t (&at)[{rank}],")
    text.add("               [[maybe_unused]] Extent extent) const {")
    for step in stage.chain:
        expression = without_parentheses(cpp_expression(step.expr, stage, operands))
        text.add(f"    acc = {expression};", mu=step.span.line, remark=f">> {step.text}")
    text.extend(["    return acc;", "  }", "};", ""])


def _entry(text: Source, operands: Operands, signature: Signature, outer: tuple[str, ...]) -> None:
    signature.declare(text, SYMBOL)
    text.add(f"  const int64_t extents[Config::outer] = {{{', '.join(outer)}}};")
    text.add(f"  const Body body{{{', '.join(initialisers(operands))}}};")
    text.add("  mu::Rows<Config, Statistic, Body> rows_of(extents, columns, x, out, body);")
    text.add("  return rows_of.run(threads);")
    text.add("}")
