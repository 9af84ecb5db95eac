"""reduce, softmax and norm on the host: a Config, a statistic and a Body for ``mu/rows.h`` or ``mu/row_lanes.h``.

The first goes over rows whose elements lie in pieces, the second over rows that lie side by side. A norm's weight and
bias are links like any other, put before the chain's own. The chain of a reduction sees one result at a time. What the
rows' elements are computed from, where it is not x alone, is an Expression that the loops read in place of x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernels.codegen.emission import StageCode
from kernels.codegen.errors import ElementTypeWithoutCode
from kernels.codegen.host.expressions import cpp_expression, without_parentheses
from kernels.codegen.host.operands import Operands, collect, declare_members, initialisers
from kernels.codegen.host.places import Places
from kernels.codegen.host.signature import Signature
from kernels.codegen.host.types import cpp_type, loads
from kernels.codegen.row_space import (
    Group,
    affine_steps,
    computed_space,
    prologue_steps,
    result_steps,
    row_space,
)
from kernels.codegen.source import SYMBOL, Source
from kernels.dsl.ir import Acc, Apply, ChainStep, Load, Stage, Value
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType

_DTYPES = (DType.F64, DType.F32, DType.F16, DType.BF16)

_STATISTICS = {
    "sum": "Sum", "mean": "Mean", "max": "Max", "min": "Min", "prod": "Prod", "sumsq": "SumSq", "norm1": "Norm1",
    "norm2": "Norm2", "var": "Var", "std": "Std", "argmax": "ArgMax", "argmin": "ArgMin", "logsumexp": "LogSumExp",
    "softmax": "Softmax", "log_softmax": "LogSoftmax", "rms_norm": "RmsNorm",
    **dict.fromkeys(("layer_norm", "group_norm", "instance_norm", "batch_norm"), "LayerNorm"),
}  # fmt: skip
"""The statistics of ``mu/statistics.h`` by the stage's kind; those of ``mu/lane_statistics.h`` begin with Lane."""

_AFFINE = {"weight": "mul", "bias": "add"}


@dataclass(frozen=True, slots=True)
class _Rows:
    """The stage's groups of dimensions, each at least one; ``adjacent`` as in ``RowSpace``; the operands' strides.

    ``strides`` are over the index that the chain sees: of a row alone in a reduction, else with the element's behind it
    (in front of it where rows are adjacent). The last step of every group is the result's, in a reduction.
    """

    kept: tuple[Group, ...]
    reduced: tuple[Group, ...]
    adjacent: bool
    strides: dict[Value, tuple[int, ...]]


def emit_rows(stage: Stage, source: Assign | None) -> StageCode:
    """The unit of a reduce, softmax or norm stage and the sizes to call it with."""
    x = stage.operands[0]
    if x.dtype not in _DTYPES:
        raise ElementTypeWithoutCode(
            stage=stage.name, target="host", dtype=x.dtype, role=x.name, legal=", ".join(_DTYPES)
        )
    places = Places(stage, source)
    stage, steps = _with_affine_links(stage, places)
    rows = _rows(stage, steps)
    rank = len(rows.kept) + (0 if stage.op == "reduce" else len(rows.reduced))
    operands = collect(stage, tuple(f"at[{axis}]" for axis in range(rank)), rows.strides)
    sizes = [*_sizes("kept", rows.kept, stage.op == "reduce"), *_sizes("reduced", rows.reduced, False)]
    computed = _computed(stage)
    if computed is not None:
        sizes += [*computed.sizes, *computed.operands.members]
    sizes += [*operands.members, ("threads", stage.knobs["threads"])]
    read = ("x",) if computed is None else tuple(item.name for item in computed.operands.items)
    signature = Signature((*read, *(item.name for item in operands.items)), tuple(sizes))
    text = Source()
    text.add(remark=_said(stage), mu=places.line)
    header = "row_lanes" if rows.adjacent else "rows"
    text.extend([f'#include "mu/{header}.h"', "", "namespace {", ""])
    if computed is not None:
        _expression(text, stage, computed)
    _config(text, stage, places, rows, rank)
    _body(text, stage, operands, rank)
    text.extend(["}  // namespace", ""])
    _entry(text, stage, operands, signature, rows, computed)
    unit = text.finish(stage.op, "c++", stage.name)
    read_values = (x,) if computed is None else computed.operands.pointers
    pointers = tuple(value.name for value in (*read_values, *operands.pointers))
    return StageCode(unit, pointers, signature.values, 0)


def _said(stage: Stage) -> str:
    """What the stage computes, in a line."""
    x = stage.operands[0]
    shape = f"{stage.result.dtype}{list(stage.result.shape)}"
    axes = ", ".join(map(str, stage.attributes["axes"]))
    prologue = stage.attributes["prologue"]
    work = f"{stage.attributes['kind']}({prologue.text if prologue else x.name}{list(x.shape)}) along ({axes})"
    return f"{stage.name} = {work} -> {shape}"


@dataclass(frozen=True, slots=True)
class _Computed:
    """What the rows' elements are computed from: tensors over x's dimensions in memory order, merged to ``extents``."""

    operands: Operands
    extents: tuple[int, ...]

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """The extents that travel at run time: all but the outermost."""
        return tuple((f"inner{axis}", extent) for axis, extent in enumerate(self.extents) if axis)


def _computed(stage: Stage) -> _Computed | None:
    prologue = stage.attributes["prologue"]
    if prologue is None:
        return None
    inputs = tuple(dict.fromkeys(load.value for load in loads(prologue.expr)))
    groups = computed_space(stage, inputs)
    extents = tuple(group.extent for group in groups)
    strides = {value: tuple(group.steps[index] for group in groups) for index, value in enumerate(inputs)}
    axes = tuple(f"at[{axis}]" for axis in range(len(extents)))
    found = collect(replace(stage, chain=(prologue,)), axes, strides)
    items = tuple(replace(item, name=f"e{position}") for position, item in enumerate(found.items))
    return _Computed(Operands(items), extents)


def _expression(text: Source, stage: Stage, computed: _Computed) -> None:
    """``struct Expression``: the elements at a place of x, and on along its innermost extent."""
    prologue, rank = stage.attributes["prologue"], len(computed.extents)
    text.extend(["struct Expression {", f"  using C = {_compute(stage)};", "  using V = mu::vec<C>;"])
    declare_members(text, computed.operands)
    if computed.sizes:
        text.add(f"  int64_t {', '.join(name for name, _ in computed.sizes)};")
    text.add()
    text.add("  template <class Extent>")
    text.add("  V operator()(int64_t place, [[maybe_unused]] Extent extent) const {")
    text.add(f"    [[maybe_unused]] int64_t at[{rank}];")
    for axis in range(rank - 1, 0, -1):
        text.add(f"    at[{axis}] = place % inner{axis};")
        text.add(f"    place /= inner{axis};")
    text.add("    at[0] = place;")
    expression = without_parentheses(cpp_expression(prologue.expr, stage, computed.operands))
    text.add(f"    return {expression};", mu=prologue.span.line, remark=prologue.text)
    text.extend(["  }", "};", ""])


def _with_affine_links(stage: Stage, places: Places) -> tuple[Stage, dict[Value, tuple[int, ...]]]:
    """The stage with a norm's weight and bias as the chain's first links; the strides over x of all that it loads."""
    present = [role for role in _AFFINE if stage.attributes[role]]
    links, steps = [], {}
    for position, role in enumerate(present, 1):
        operand = stage.operands[position]
        strides = affine_steps(stage, operand)
        # At the result's rank, so that it is not taken for an operand of the chain that has the same name.
        shown = replace(operand, shape=stage.result.shape, strides=strides)
        span = replace(stage.span, line=places.operand(position))
        links.append(ChainStep(f"{role} {operand.name}", Apply(_AFFINE[role], (Acc(), Load(shown))), span))
        steps[shown] = strides
    for step in stage.chain:
        for load in loads(step.expr):
            steps[load.value] = result_steps(stage, load.value)
    return replace(stage, chain=(*links, *stage.chain)), steps


def _rows(stage: Stage, steps: dict[Value, tuple[int, ...]]) -> _Rows:
    reduces = stage.op == "reduce"
    result = result_steps(stage, stage.result) if reduces else stage.result.strides
    count = len(steps) + 1
    space = row_space(stage, [*steps.values(), result, *prologue_steps(stage)])
    space = replace(space, kept=_first(space.kept, count), reduced=_first(space.reduced, count))
    nothing = Group(1, 1, (0,) * (len(steps) + 1))
    kept, reduced = space.kept or (nothing,), space.reduced or (nothing,)
    order = (*kept, *(() if reduces else reduced))
    if space.adjacent and not reduces:
        order = (*reduced, *kept)
    strides = {value: tuple(group.steps[index] for group in order) for index, value in enumerate(steps)}
    return _Rows(kept, reduced, space.adjacent, strides)


def _first(groups: Sequence[Group], count: int) -> tuple[Group, ...]:
    """The groups with the steps of the first ``count`` operands alone."""
    return tuple(replace(group, steps=group.steps[:count]) for group in groups)


def _sizes(prefix: str, groups: Sequence[Group], result: bool) -> list[tuple[str, int]]:
    """The run-time sizes of some groups: extents, x's steps, and the result's of a reduction."""
    sizes = [(f"{prefix}{axis}", group.extent) for axis, group in enumerate(groups)]
    sizes += [(f"{prefix}{axis}_step", group.step) for axis, group in enumerate(groups)]
    return sizes + [(f"result{axis}_step", group.steps[-1]) for axis, group in enumerate(groups) if result]


def _compute(stage: Stage) -> str:
    return "double" if stage.operands[0].dtype is DType.F64 else "float"


def _config(text: Source, stage: Stage, places: Places, rows: _Rows, rank: int) -> None:
    x = stage.operands[0]
    wanted = stage.knobs["vector"]
    text.add("struct Config {")
    text.add(f"  using X = {cpp_type(x.dtype, stage, x.name)};", mu=places.operand(0), remark=x.name)
    text.add(f"  using Out = {cpp_type(stage.result.dtype, stage, stage.name)};", mu=places.line)
    if stage.attributes["prologue"] is not None:
        text.add("  using Expression = ::Expression;", mu=places.operand(0))
    text.add(f"  using Compute = {_compute(stage)};", mu=places.line)
    text.add(f"  static constexpr int kept = {len(rows.kept)}, reduced = {len(rows.reduced)}, rank = {rank};")
    # The knob counts elements; the loops take whole registers.
    vectors = f"({wanted} + mu::lanes<Compute> - 1) / mu::lanes<Compute>" if wanted else "4"
    line = f"  static constexpr int vectors = {vectors};"
    text.add(line, mu=places.knob("vector"), remark=places.remark("vector"))
    if stage.op == "norm":
        text.add(f"  static constexpr double eps = {float(stage.attributes['eps'])!r};", mu=places.line)
    text.extend(["};", ""])
    statistic = _STATISTICS[stage.attributes["kind"]]
    if not rows.adjacent:
        text.add(f"using Statistic = mu::{statistic}<Config>;", mu=places.line)
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


def _entry(
    text: Source, stage: Stage, operands: Operands, signature: Signature, rows: _Rows, computed: _Computed | None
) -> None:
    signature.declare(text, SYMBOL)

    def listed(prefix: str, groups: Sequence[Group], suffix: str = "") -> str:
        return f"{{{', '.join(f'{prefix}{axis}{suffix}' for axis in range(len(groups)))}}}"

    result = listed("result", rows.kept, "_step") if stage.op == "reduce" else "{}"
    text.add("  const mu::RowSpace<Config> space{")
    text.add(f"      {listed('kept', rows.kept)}, {listed('kept', rows.kept, '_step')}, {result},")
    text.add(f"      {listed('reduced', rows.reduced)}, {listed('reduced', rows.reduced, '_step')}}};")
    text.add(f"  const Body body{{{', '.join(initialisers(operands))}}};")
    x = "x"
    if computed is not None:
        given = [*initialisers(computed.operands), *(name for name, _ in computed.sizes)]
        text.add(f"  const Expression expression{{{', '.join(given)}}};")
        x = "mu::Computed<Expression>{&expression, 0}"
    statistic = f"mu::Lane{_STATISTICS[stage.attributes['kind']]}" if rows.adjacent else "Statistic"
    loops = "RowLanes" if rows.adjacent else "Rows"
    text.add(f"  mu::{loops}<Config, {statistic}, Body> rows_of(space, {x}, out, body);")
    text.add("  return rows_of.run(threads);")
    text.add("}")
