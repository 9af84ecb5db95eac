"""Convolutions on the host, transposed ones too: a Config and an Epilogue for the loops of ``mu/conv.h``.

Fewer than three spatial dimensions are three with leading extents of one, whose constants stand in the unit. The chain
sees the result's index with its last dimension along the vectors: the width, or the filters of a channels-last result.
"""

from __future__ import annotations

from kernels.codegen.emission import StageCode
from kernels.codegen.host.conv_workspace import block, workspace_bytes
from kernels.codegen.host.expressions import cpp_expression, without_parentheses
from kernels.codegen.host.operands import Operands, collect, declare_members, effective_strides, initialisers
from kernels.codegen.host.places import Places
from kernels.codegen.host.signature import Signature
from kernels.codegen.host.types import cpp_type, gemm_compute, loads
from kernels.codegen.source import SYMBOL, Source
from kernels.dsl.ir import Stage, Value
from kernels.dsl.syntax import Assign

_ROUND = {"f32": "mu::Exact", "bf16": "mu::RoundToBf16", "f16": "mu::RoundToF16"}
_AXES = ("d", "h", "w")

Sizes = list[tuple[str, int]]


def emit_conv(stage: Stage, source: Assign | None) -> StageCode:
    """The unit of a convolution stage and the sizes to call it with."""
    places = Places(stage, source)
    compute = gemm_compute(stage)
    strides = _chain_strides(stage)
    rank = len(next(iter(strides.values()))) if strides else 4
    rank = 5 if stage.knobs["layout"] == "channels_last" else rank
    operands = collect(stage, tuple(f"at[{axis}]" for axis in range(rank)), strides)
    signature = _signature(stage, operands)
    x, weight = stage.operands[:2]
    text = Source()
    call = f"{stage.attributes['kind']}{stage.attributes['dims']}d"
    work = f"{call}({x.name}{list(x.shape)}, {weight.name}{list(weight.shape)})"
    shape = f"{stage.result.dtype}{list(stage.result.shape)}"
    text.add(remark=f"{stage.name} = {work} -> {shape}", mu=places.line)
    text.extend(['#include "mu/conv.h"', "", "namespace {", ""])
    _config(text, stage, places, compute, rank)
    _epilogue(text, stage, operands, compute, rank)
    text.extend(["}  // namespace", ""])
    _entry(text, stage, operands, signature)
    unit = text.finish("conv", "c++", stage.name)
    pointers = tuple(value.name for value in (x, weight, *operands.pointers))
    return StageCode(unit, pointers, signature.values, workspace_bytes(stage, 4 if compute == "float" else 8))


def _names(stage: Stage) -> tuple[str, ...]:
    """The names of the spatial dimensions that are there: "w" alone for conv1d."""
    return _AXES[3 - stage.attributes["dims"] :]


def _chain_strides(stage: Stage) -> dict[Value, tuple[int, ...]]:
    """The strides of the chain's operands over the index that the loops give.

    That is (image, filter, d, h, w), with h and w as one where every operand crosses them with one stride; or, for a
    channels-last result, (image, d, h, w, filter).
    """
    missing = 3 - stage.attributes["dims"]
    output: tuple[int, ...] = stage.attributes["output"]
    *_, height, width = (1, *output)
    values = {load.value: effective_strides(load.value) for step in stage.chain for load in loads(step.expr)}
    full = {value: (*at[:2], *(0,) * missing, *at[2:]) for value, at in values.items()}
    if stage.knobs["layout"] == "channels_last":
        return {value: (at[0], *at[2:], at[1]) for value, at in full.items()}
    if 1 in (height, width) or all(at[3] == at[4] * width for at in full.values()):
        # An extent of one has no stride of its own: the rows' stride then is that of both.
        return {value: (*at[:3], at[3] if width == 1 else at[4]) for value, at in full.items()}
    return full


def _config(text: Source, stage: Stage, places: Places, compute: str, rank: int) -> None:
    x, weight = stage.operands[:2]
    knobs, attributes = stage.knobs, stage.attributes
    micro_m, micro_n = knobs["micro"]
    last = knobs["layout"] == "channels_last"
    rounding = _ROUND[knobs["math"]] if compute == "float" else "mu::Exact"
    text.add("struct Config {")
    text.add(f"  using X = {cpp_type(x.dtype, stage, x.name)};", mu=places.operand(0), remark=x.name)
    text.add(f"  using W = {cpp_type(weight.dtype, stage, weight.name)};", mu=places.operand(1), remark=weight.name)
    out = cpp_type(stage.result.dtype, stage, stage.name)
    text.add(f"  using Out = {out};", mu=places.knob("out"), remark=places.remark("out"))
    text.add(f"  using Compute = {compute};", mu=places.knob("acc"), remark=places.remark("acc"))
    text.add(f"  using Round = {rounding};", mu=places.knob("math"), remark=places.remark("math"))
    for name, role in (("kernel", "kernel"), ("stride", "stride")):
        numbers = (1,) * (3 - attributes["dims"]) + tuple(attributes[role])
        shown = ", ".join(f"{name}_{axis} = {number}" for axis, number in zip(_AXES, numbers, strict=True))
        text.add(f"  static constexpr int {shown};", mu=places.line)
    text.add(
        f"  static constexpr bool transposed = {_bool(attributes['kind'] == 'conv_transpose')};", mu=places.line
    )
    line = f"  static constexpr bool channels_last = {_bool(last)};"
    text.add(line, mu=places.knob("layout"), remark=places.remark("layout"))
    text.add(f"  static constexpr bool merged = {_bool(rank == 4)};", remark="h and w are one index of the chain")
    line = f"  static constexpr int micro_m = {micro_m}, micro_n = {micro_n};"
    text.add(line, mu=places.knob("micro"), remark=places.remark("micro"))
    text.extend(["};", ""])


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _epilogue(text: Source, stage: Stage, operands: Operands, compute: str, rank: int) -> None:
    text.extend(["struct Epilogue {", f"  using C = {compute};", "  using V = mu::vec<C>;"])
    declare_members(text, operands)
    text.add()
    text.add("  template <class Extent>")
    text.add(f"  V operator()(V acc, [[maybe_unused]] const int64_t (&at)[{rank}],")
    text.add("               [[maybe_unused]] Extent extent) const {")
    for step in stage.chain:
        expression = without_parentheses(cpp_expression(step.expr, stage, operands))
        text.add(f"    acc = {expression};", mu=step.span.line, remark=f">> {step.text}")
    text.extend(["    return acc;", "  }", "};", ""])


def _signature(stage: Stage, operands: Operands) -> Signature:
    attributes, names = stage.attributes, _names(stage)
    sizes: Sizes = [("batch", attributes["batch"]), ("groups", attributes["groups"])]
    sizes += [(name, attributes[name] // attributes["groups"]) for name in ("channels", "filters")]
    for role in ("input", "output", "padding", "dilation"):
        sizes += [(f"{role}_{name}", number) for name, number in zip(names, attributes[role], strict=True)]
    sizes += list(zip(("rows", "columns", "depth"), block(stage), strict=True))
    sizes += _strides("x", ("batch", "channel", *names), effective_strides(stage.operands[0]))
    sizes += _strides("k", ("group", "filter", "channel", *names), _weight_strides(stage))
    sizes += operands.members
    sizes.append(("threads", stage.knobs["threads"]))
    return Signature(("x", "weight", *(item.name for item in operands.items)), tuple(sizes))


def _strides(tensor: str, axes: tuple[str, ...], strides: tuple[int, ...]) -> Sizes:
    return [(f"{tensor}_{axis}", stride) for axis, stride in zip(axes, strides, strict=True)]


def _weight_strides(stage: Stage) -> tuple[int, ...]:
    """Over (group, filter, channel, *kernel): a transposed weight has its channels first."""
    weight, groups = stage.operands[1], stage.attributes["groups"]
    first, second, *taps = weight.strides
    group = weight.shape[0] // groups * first
    if stage.attributes["kind"] == "conv_transpose":
        return (group, second, first, *taps)
    return (group, first, second, *taps)


def _entry(text: Source, stage: Stage, operands: Operands, signature: Signature) -> None:
    signature.declare(text, SYMBOL)
    missing = 3 - stage.attributes["dims"]
    names = _names(stage)
    axes = ["{1, 1, 0, 1}"] * missing
    axes += [f"{{input_{name}, output_{name}, padding_{name}, dilation_{name}}}" for name in names]
    text.add("  const mu::ConvSize size{batch, groups, channels, filters,")
    text.add(f"                          {{{', '.join(axes)}}}, rows, columns, depth}};")
    x_at = ", ".join(["0"] * missing + [f"x_{name}" for name in names])
    k_at = ", ".join(["0"] * missing + [f"k_{name}" for name in names])
    text.add("  const mu::ConvView<Config::X> view_x{static_cast<const Config::X*>(x), x_batch, x_channel,")
    text.add(f"                                       {{{x_at}}}}};")
    text.add("  const mu::ConvWeight<Config::W> view_k{static_cast<const Config::W*>(weight), k_group, k_filter,")
    text.add(f"                                         k_channel, {{{k_at}}}}};")
    text.add(f"  const Epilogue epilogue{{{', '.join(initialisers(operands))}}};")
    text.add("  mu::Convolution<Config, Epilogue> convolution(size, view_x, view_k, out, epilogue);")
    text.add("  return convolution.run(workspace, threads);")
    text.add("}")
