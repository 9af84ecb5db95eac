"""cast and map on the host: a Body for the loop of ``mu/map.h``.

Neighbouring extents that every operand crosses with one stride are merged first, so that a map over a contiguous
tensor of any rank is one loop.
"""

from __future__ import annotations

from kernels.codegen.emission import StageCode
from kernels.codegen.host.expressions import cpp_expression, without_parentheses
from kernels.codegen.host.operands import Operands, collect, declare_members, effective_strides, initialisers
from kernels.codegen.host.places import Places
from kernels.codegen.host.signature import Signature
from kernels.codegen.host.types import cpp_type, loads, map_compute
from kernels.codegen.source import SYMBOL, Source
from kernels.dsl.ir import ChainStep, Load, Stage, Value
from kernels.dsl.syntax import Assign


def emit_map(stage: Stage, source: Assign | None) -> StageCode:
    """The unit of a map or cast stage and the sizes to call it with."""
    stage = _with_loaded_cast(stage)
    places = Places(stage, source)
    extents, strides = collapse(stage)
    axes = tuple(f"at[{axis}]" for axis in range(len(extents)))
    operands = collect(stage, axes, strides)
    compute = map_compute(stage)
    sizes = [(f"n{axis}", extent) for axis, extent in enumerate(extents)]
    sizes += [*operands.members, ("threads", stage.knobs["threads"])]
    signature = Signature(tuple(item.name for item in operands.items), tuple(sizes))
    text = Source()
    shape = f"{stage.result.dtype}{list(stage.result.shape)}"
    text.add(remark=f"{stage.name} = {stage.op} -> {shape}", mu=places.line)
    text.extend(['#include "mu/map.h"', "", "namespace {", ""])
    _config(text, stage, places, compute, len(extents))
    _body(text, stage, operands, compute, len(extents))
    text.extend(["}  // namespace", ""])
    _entry(text, operands, signature, len(extents))
    unit = text.finish(stage.op, "c++", stage.name)
    return StageCode(unit, tuple(value.name for value in operands.pointers), signature.values, 0)


def _with_loaded_cast(stage: Stage) -> Stage:
    """A cast as the map that loads its operand; its result's dtype does the rest."""
    if stage.op != "cast":
        return stage
    operand = stage.operands[0]
    step = ChainStep(text=f"cast({operand.name}, {stage.result.dtype})", expr=Load(operand), span=stage.span)
    return Stage(
        name=stage.name,
        op=stage.op,
        operands=stage.operands,
        results=stage.results,
        knobs=stage.knobs,
        written=stage.written,
        chain=(step, *stage.chain),
        attributes=stage.attributes,
        once=stage.once,
        span=stage.span,
    )


def collapse(stage: Stage) -> tuple[tuple[int, ...], dict[Value, tuple[int, ...]]]:
    """The result's extents after merging, and each operand's strides over them. The rank is at least one."""
    values = {load.value: effective_strides(load.value) for step in stage.chain for load in loads(step.expr)}
    return merge_extents(stage.result.shape, values)


def merge_extents(
    shape: tuple[int, ...], values: dict[Value, tuple[int, ...]]
) -> tuple[tuple[int, ...], dict[Value, tuple[int, ...]]]:
    """``shape`` with neighbouring extents merged that all ``values`` cross with one stride, and those strides."""
    extents: list[int] = []
    merged: dict[Value, list[int]] = {value: [] for value in values}
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        if extents and all(merged[value][-1] == strides[axis] * extent for value, strides in values.items()):
            extents[-1] *= extent
            for value, strides in values.items():
                merged[value][-1] = strides[axis]
        else:
            extents.append(extent)
            for value, strides in values.items():
                merged[value].append(strides[axis])
    if not extents:
        extents = [1]
        merged = {value: [0] for value in values}
    return tuple(extents), {value: tuple(strides) for value, strides in merged.items()}


def _config(text: Source, stage: Stage, places: Places, compute: str, rank: int) -> None:
    wanted = stage.knobs["vector"]
    text.add("struct Config {")
    text.add(f"  using Out = {cpp_type(stage.result.dtype, stage, stage.name)};", mu=places.line)
    text.add(f"  using Compute = {compute};", mu=places.line)
    text.add(f"  static constexpr int rank = {rank};")
    # The knob counts elements; the loop takes whole registers.
    vectors = f"({wanted} + mu::lanes<Compute> - 1) / mu::lanes<Compute>" if wanted else "2"
    line = f"  static constexpr int vectors = {vectors};"
    text.add(line, mu=places.knob("vector"), remark=places.remark("vector"))
    text.extend(["};", ""])


def _body(text: Source, stage: Stage, operands: Operands, compute: str, rank: int) -> None:
    text.extend(["struct Body {", f"  using C = {compute};", "  using V = mu::vec<C>;"])
    declare_members(text, operands)
    text.add()
    text.add("  template <class Extent>")
    text.add(f"  V operator()([[maybe_unused]] const int64_t (&at)[{rank}],")
    text.add("               [[maybe_unused]] Extent extent) const {")
    for position, step in enumerate(stage.chain):
        expression = without_parentheses(cpp_expression(step.expr, stage, operands))
        start = "V acc" if position == 0 else "acc"
        link = step.text if position == 0 else f">> {step.text}"
        text.add(f"    {start} = {expression};", mu=step.span.line, remark=link)
    text.extend(["    return acc;", "  }", "};", ""])


def _entry(text: Source, operands: Operands, signature: Signature, rank: int) -> None:
    signature.declare(text, SYMBOL)
    extents = ", ".join(f"n{axis}" for axis in range(rank))
    text.add(f"  const int64_t extents[Config::rank] = {{{extents}}};")
    text.add(f"  const Body body{{{', '.join(initialisers(operands))}}};")
    text.add("  return mu::map<Config>(extents, body, out, threads);")
    text.add("}")
