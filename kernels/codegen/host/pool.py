"""Pooling on the host: a Config and a Body for the loops of ``mu/pool.h``.

The chain sees the index of a result in memory order: [N, C, spatial] row-major, [N, spatial, C] channels-last.
"""

from __future__ import annotations

from kernels.codegen.emission import StageCode
from kernels.codegen.errors import ElementTypeWithoutCode
from kernels.codegen.host.expressions import cpp_expression, without_parentheses
from kernels.codegen.host.operands import Operands, collect, declare_members, initialisers
from kernels.codegen.host.places import Places
from kernels.codegen.host.signature import Signature
from kernels.codegen.host.types import cpp_type
from kernels.codegen.memory_order import in_memory_order
from kernels.codegen.source import SYMBOL, Source
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType

_DTYPES = (DType.F64, DType.F32, DType.F16, DType.BF16)


def emit_pool(stage: Stage, source: Assign | None) -> StageCode:
    """The unit of a pool stage and the sizes to call it with."""
    x, dims = stage.operands[0], stage.attributes["dims"]
    if x.dtype not in _DTYPES:
        raise ElementTypeWithoutCode(
            stage=stage.name, target="host", dtype=x.dtype, role=x.name, legal=", ".join(_DTYPES)
        )
    places = Places(stage, source)
    channels_last = not x.contiguous
    ordered = in_memory_order(stage, (0, *range(2, dims + 2), 1) if channels_last else tuple(range(dims + 2)))
    operands = collect(ordered, tuple(f"at[{axis}]" for axis in range(dims + 2)))
    sizes: list[tuple[str, int]] = [
        ("batch", stage.attributes["batch"]),
        ("channels", stage.attributes["channels"]),
    ]
    sizes += [(f"i{axis}", extent) for axis, extent in enumerate(stage.attributes["input"])]
    sizes += [(f"o{axis}", extent) for axis, extent in enumerate(stage.attributes["output"])]
    sizes += [*operands.members, ("threads", stage.knobs["threads"])]
    signature = Signature(("x", *(item.name for item in operands.items)), tuple(sizes))
    text = Source()
    shape = f"{stage.result.dtype}{list(stage.result.shape)}"
    kind = f"{stage.attributes['kind']}_pool{dims}d"
    text.add(remark=f"{stage.name} = {kind}({x.name}{list(x.shape)}) -> {shape}", mu=places.line)
    text.extend(['#include "mu/pool.h"', "", "namespace {", ""])
    _config(text, stage, places, channels_last)
    _body(text, ordered, operands, dims + 2)
    text.extend(["}  // namespace", ""])
    signature.declare(text, SYMBOL)
    for name, prefix in (("in", "i"), ("result", "o")):
        text.add(f"  const int64_t {name}[{dims}] = {{{', '.join(f'{prefix}{axis}' for axis in range(dims))}}};")
    text.add(f"  const Body body{{{', '.join(initialisers(operands))}}};")
    text.add("  mu::Pool<Config, Body> pool(batch, channels, in, result, x, out, body);")
    text.extend(["  return pool.run(threads);", "}"])
    pointers = (x.name, *(value.name for value in operands.pointers))
    return StageCode(text.finish("pool", "c++", stage.name), pointers, signature.values, 0)


def _config(text: Source, stage: Stage, places: Places, channels_last: bool) -> None:
    x, attributes = stage.operands[0], stage.attributes
    dims = attributes["dims"]

    def truth(value: bool) -> str:
        return "true" if value else "false"

    text.add("struct Config {")
    text.add(f"  using X = {cpp_type(x.dtype, stage, x.name)};", mu=places.operand(0), remark=x.name)
    text.add(f"  using Out = {cpp_type(stage.result.dtype, stage, stage.name)};", mu=places.line)
    text.add(f"  using Compute = {_compute(stage)};", mu=places.line)
    text.add(f"  static constexpr int dims = {dims}, rank = {dims + 2};")
    text.add(f"  static constexpr bool largest = {truth(attributes['kind'] == 'max')};", mu=places.line)
    text.add(f"  static constexpr bool channels_last = {truth(channels_last)};")
    text.add(f"  static constexpr bool counts_border = {truth(attributes['count_include_pad'])};")
    for name in ("kernel", "stride", "padding", "dilation"):
        values = ", ".join(map(str, attributes[name]))
        text.add(f"  static constexpr int64_t {name}[{dims}] = {{{values}}};", mu=places.line)
    text.extend(["};", ""])


def _compute(stage: Stage) -> str:
    return "double" if stage.operands[0].dtype is DType.F64 else "float"


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
