"""cast, map and relayout on the host: a Body for the loops of ``mu/map.h`` and ``mu/turn.h``.

Neighbouring extents that every operand crosses with one stride are merged first, so that a map over a contiguous
tensor of any rank is one loop. Where operands lie side by side along another extent than the last (``x.T``), the map
goes over tiles and turns them. What only moves elements moves them as integers of their size.
"""

from __future__ import annotations

from dataclasses import replace

from kernels.codegen.emission import StageCode
from kernels.codegen.host.expressions import cpp_expression, without_parentheses
from kernels.codegen.host.operands import (
    Operand,
    Operands,
    collect,
    declare_members,
    effective_strides,
    initialisers,
)
from kernels.codegen.host.places import Places
from kernels.codegen.host.signature import Signature
from kernels.codegen.host.types import cpp_type, loads, map_compute
from kernels.codegen.memory_order import in_memory_order, is_turned, turned_axis
from kernels.codegen.source import SYMBOL, Source
from kernels.dsl.ir import ChainStep, Load, Stage, Value
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType


def emit_map(stage: Stage, source: Assign | None) -> StageCode:
    """The unit of a map or cast stage and the sizes to call it with."""
    stage = as_integers(_with_loaded_operand(stage))
    places = Places(stage, source)
    extents, strides = collapse(stage)
    axes = tuple(f"at[{axis}]" for axis in range(len(extents)))
    turned = turned_axis(extents, tuple(strides.values()))
    operands = collect(stage, axes, strides)
    if turned is not None:
        operands = _turned(operands, extents, turned)
    compute = cpp_type(stage.result.dtype, stage, stage.name) if moves_only(stage) else map_compute(stage)
    sizes = [(f"n{axis}", extent) for axis, extent in enumerate(extents)]
    sizes += [*operands.members, ("threads", stage.knobs["threads"])]
    signature = Signature(tuple(item.name for item in operands.items), tuple(sizes))
    text = Source()
    shape = f"{stage.result.dtype}{list(stage.result.shape)}"
    text.add(remark=f"{stage.name} = {stage.op} -> {shape}", mu=places.line)
    text.extend([f'#include "mu/{"map" if turned is None else "turn"}.h"', "", "namespace {", ""])
    _config(text, stage, places, compute, len(extents), turned)
    _body(text, stage, operands, compute, len(extents))
    text.extend(["}  // namespace", ""])
    _entry(text, operands, signature, len(extents), turned)
    unit = text.finish(stage.op, "c++", stage.name)
    return StageCode(unit, tuple(value.name for value in operands.pointers), signature.values, 0)


def _with_loaded_operand(stage: Stage) -> Stage:
    """A cast or relayout as the map that loads its operand; its result's dtype and memory order do the rest."""
    if stage.op == "map":
        return stage
    operand = stage.operands[0]
    target = stage.result.dtype if stage.op == "cast" else stage.attributes["layout"]
    step = ChainStep(text=f"{stage.op}({operand.name}, {target})", expr=Load(operand), span=stage.span)
    return in_memory_order(replace(stage, chain=(step, *stage.chain)))


_OF_BYTES = {1: DType.I8, 2: DType.I16, 4: DType.I32, 8: DType.I64}


def moves_only(stage: Stage) -> bool:
    """Whether the result's elements are one operand's, in the same type."""
    first = stage.chain[0].expr
    return len(stage.chain) == 1 and isinstance(first, Load) and first.value.dtype is stage.result.dtype


def as_integers(stage: Stage) -> Stage:
    """A stage that only moves elements, with integers of their size in place of them."""
    first = stage.chain[0].expr
    if not moves_only(stage) or not isinstance(first, Load):
        return stage
    dtype = _OF_BYTES[stage.result.dtype.bytes]
    operand, result = replace(first.value, dtype=dtype), replace(stage.result, dtype=dtype)
    step = replace(stage.chain[0], expr=Load(operand))
    return replace(stage, operands=(operand,), results=(result,), chain=(step,))


def _turned(operands: Operands, extents: tuple[int, ...], axis: int) -> Operands:
    """The operands, those marked that are read from tiles over ``axis`` and the last extent."""
    items = (
        replace(item, turned=axis) if is_turned(extents, item.strides, axis) else item for item in operands.items
    )
    return Operands(tuple(items))


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


def _config(text: Source, stage: Stage, places: Places, compute: str, rank: int, turned: int | None) -> None:
    wanted = stage.knobs["vector"]
    text.add("struct Config {")
    text.add(f"  using Out = {cpp_type(stage.result.dtype, stage, stage.name)};", mu=places.line)
    text.add(f"  using Compute = {compute};", mu=places.line)
    text.add(f"  static constexpr int rank = {rank};")
    if turned is not None:
        text.add(f"  static constexpr int turned = {turned};")
    # The knob counts elements; the loop takes whole registers.
    vectors = f"({wanted} + mu::lanes<Compute> - 1) / mu::lanes<Compute>" if wanted else "2"
    line = f"  static constexpr int vectors = {vectors};"
    text.add(line, mu=places.knob("vector"), remark=places.remark("vector"))
    text.extend(["};", ""])


def _body(text: Source, stage: Stage, operands: Operands, compute: str, rank: int) -> None:
    text.extend(["struct Body {", f"  using C = {compute};", "  using V = mu::vec<C>;"])
    declare_members(text, operands)
    text.add()
    tiles = [item for item in operands.items if item.turned is not None]
    if tiles:
        _tiles(text, tiles, rank)
    text.add("  template <class Extent>")
    text.add(f"  V operator()([[maybe_unused]] const int64_t (&at)[{rank}],")
    parts = ", const Tiles& tiles" if tiles else ""
    text.add(f"               [[maybe_unused]] Extent extent{parts}) const {{")
    for position, step in enumerate(stage.chain):
        expression = without_parentheses(cpp_expression(step.expr, stage, operands))
        start = "V acc" if position == 0 else "acc"
        link = step.text if position == 0 else f">> {step.text}"
        text.add(f"    {start} = {expression};", mu=step.span.line, remark=link)
    text.extend(["    return acc;", "  }", "};", ""])


def _tiles(text: Source, tiles: list[Operand], rank: int) -> None:
    text.add("  struct Tiles {")
    for item in tiles:
        text.add(f"    alignas(64) {item.type} {item.name}[mu::tile_side * mu::tile_side];", remark=item.value.name)
    text.extend(["    int64_t row, column;", "  };", ""])
    text.add(f"  void turn(const int64_t (&at)[{rank}], int64_t rows, int64_t columns, Tiles& tiles) const {{")
    for item in tiles:
        pitch = f"{item.name}_{len(item.axes) - 1}"
        text.add(f"    mu::turn({item.place()}, {pitch}, tiles.{item.name}, rows, columns);")
    text.extend(["  }", ""])


def _entry(text: Source, operands: Operands, signature: Signature, rank: int, turned: int | None) -> None:
    signature.declare(text, SYMBOL)
    extents = ", ".join(f"n{axis}" for axis in range(rank))
    text.add(f"  const int64_t extents[Config::rank] = {{{extents}}};")
    text.add(f"  const Body body{{{', '.join(initialisers(operands))}}};")
    text.add(f"  return mu::map{'' if turned is None else '_turned'}<Config>(extents, body, out, threads);")
    text.add("}")
