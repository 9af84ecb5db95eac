"""What keeps a convolution from the tensor cores of sm_90a, and the rules of the plain kernel that takes any.

One list serves both ways: a convolution whose ``math`` is left out goes to the plain kernel where the list is not
empty, with its first entry as a caution; one that asks for the tensor cores is refused with all of it. The figures are
those of TMA's im2col mode, as CUTLASS 4.2 checks them (``sm90_implicit_gemm_gmma_ss_warpspecialized.hpp``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kernels.dsl.conv_product import READ_BYTES, TMA_BYTES, copied, plain_window, row_strides
from kernels.dsl.conv_tiles import SIMT_DEPTHS, SIMT_LEGAL, SIMT_SIDES, SIMT_TILES
from kernels.dsl.errors import Alignment, DslError, Epilogue, Layout, Math, Tile
from kernels.dsl.expressions import chain_values
from kernels.dsl.ir import ChainStep, Stage, Value
from kernels.dsl.ops import EPILOGUE_TYPES
from kernels.dsl.scope import Scope
from kernels.dsl.syntax import Span
from kernels.dtypes import DType

_CORNER = {1: 2**15, 2: 2**7, 3: 2**4}
"""By spatial dimensions: the im2col box begins and ends within -c to c - 1 of the input's ends."""
_MOST_PADDING = {1: 2**16, 2: 2**8, 3: 2**4}
_MOST_STRIDE = 8
_DEPTH_BYTES = (32, 64, 128, 256)
_PLAIN = "write math(f32)"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason, as the error that it is; ``span`` is its place where that is not the stage or a knob of it."""

    error: type[DslError]
    what: str
    mend: str
    found: object
    knobs: tuple[str, ...] = ()
    span: Span | None = None
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """A convolution that is to go to the tensor cores: its attributes without ``math`` and ``acc``, and its knobs."""

    name: str
    x: Value
    w: Value
    attributes: dict[str, Any]
    math: str
    out: DType
    layout: str
    chain: tuple[ChainStep, ...]


def plan_of(stage: Stage, word: str) -> Plan:
    """The plan of a checked stage, multiplied as ``word`` says."""
    x, w = stage.operands[:2]
    layout = str(stage.knobs["layout"])
    return Plan(stage.name, x, w, stage.attributes, word, stage.result.dtype, layout, stage.chain)


def obstacles(plan: Plan) -> list[Obstacle]:
    """Everything that keeps it from the tensor cores; empty where it can go there."""
    found = _kind(plan)
    if found:
        return found
    return [*_window(plan), *_loads(plan), *_result(plan), *_chain(plan)]


def _impossible(plan: Plan, why: str) -> Obstacle:
    return Obstacle(Math, f"math({plan.math}): {why}", _PLAIN, plan.math, ("math",), more={"why": why})


def _kind(plan: Plan) -> list[Obstacle]:
    attributes = plan.attributes
    if attributes["groups"] > 1:
        return [_impossible(plan, f"groups is {attributes['groups']}, and the tensor cores' loads take one group")]
    if attributes["kind"] == "conv_transpose" and any(step > 1 for step in attributes["stride"]):
        stride = ", ".join(map(str, attributes["stride"]))
        return [_impossible(plan, f"the stride of a transposed convolution is {stride}, and only 1 can go there")]
    return []


def _window(plan: Plan) -> list[Obstacle]:
    attributes = plan.attributes
    window, corner = plain_window(attributes), _CORNER[attributes["dims"]]
    for axis, taps in enumerate(attributes["kernel"]):
        reach = window.dilation[axis] * (taps - 1)
        before, behind = window.padding[axis], window.behind[axis]
        name = f"dimension {axis + 2}"
        read = attributes["input"][axis] + before + behind - reach
        if before < 0 or (read - 1) // window.stride[axis] + 1 != attributes["output"][axis]:
            return [_impossible(plan, f"padding takes away more of {name} than the kernel adds")]
        if window.stride[axis] > _MOST_STRIDE:
            return [
                _impossible(plan, f"the stride of {name} is {window.stride[axis]}, and loads step by at most 8")
            ]
        far = behind > _MOST_PADDING[attributes["dims"]] or not -corner <= behind - reach < corner
        if before > corner or far or reach > 2 * corner - 2:
            why = f"the kernel reaches over {reach + 1} elements of {name} with a padding of {before}"
            return [_impossible(plan, f"{why}, and loads of {attributes['dims']} dimensions see {corner}")]
    pixels = max(math.prod(attributes["output"]), math.prod(attributes["input"]))
    if attributes["batch"] * pixels >= 2**31:
        return [_impossible(plan, "x or the result has 2^31 pixels or more")]
    return []


def _loads(plan: Plan) -> list[Obstacle]:
    """What TMA cannot read where it lies."""
    if copied(plan.math, plan.x):
        return []
    found = _in_place(plan, plan.x, "x")
    if plan.attributes["kind"] != "conv_transpose":
        found += _in_place(plan, plan.w, "w")
    return found


def _in_place(plan: Plan, value: Value, role: str) -> list[Obstacle]:
    unit = TMA_BYTES // READ_BYTES[plan.math]
    channels, once = value.shape[1], " @once" if role == "w" else ""
    others = [axis for axis, extent in enumerate(value.shape) if axis != 1 and extent > 1]
    if channels % unit:
        padded = -(-channels // unit) * unit
        border = f"({'0, 0, ' * plan.attributes['dims']}0, {padded - channels})"
        what = f"C = {channels} is the contiguous extent of {value.name}, and TMA needs multiples of {unit}"
        mend = f"pad C of both to {padded}, p = pad({value.name}, {border}){once}, or {_PLAIN}"
        return [Obstacle(Alignment, f"{what} for {plan.math} (16 bytes)", mend, channels)]
    if value.strides[1] != 1:
        what = f"the channels of {value.name} do not lie innermost, as the tensor cores read them"
        mend = f"t = relayout({value.name}, channels_last){once}, or {_PLAIN}"
        return [Obstacle(Layout, what, mend, list(value.strides))]
    for number in (*(value.strides[axis] for axis in others), value.offset):
        if number % unit:
            what = f"{value.name} has a stride or an offset of {number}, and TMA needs multiples of {unit}"
            mend = f"copy it: t = relayout({value.name}, channels_last){once}, or {_PLAIN}"
            return [Obstacle(Alignment, f"{what} for {plan.math} (16 bytes)", mend, number)]
    return []


def _result(plan: Plan) -> list[Obstacle]:
    filters, unit = plan.attributes["filters"], TMA_BYTES // plan.out.bytes
    found = []
    if plan.layout != "channels_last":
        what = f"the tensor cores write the channels of {plan.name} innermost"
        mend = f"write layout(channels_last), with relayout({plan.name}, row_major) behind it, or {_PLAIN}"
        found.append(Obstacle(Layout, what, mend, plan.layout, ("layout", "math")))
    if filters % unit:
        needed = f"TMA needs multiples of {unit} for {plan.out} (16 bytes)"
        what = f"K = {filters} is the contiguous extent of {plan.name}, and {needed}"
        mend = f"pad the filters of {plan.w.name} to {-(-filters // unit) * unit} and slice the result, or {_PLAIN}"
        found.append(Obstacle(Alignment, what, mend, filters))
    return found


def _chain(plan: Plan) -> list[Obstacle]:
    found = []
    for step in plan.chain:
        for value in chain_values((step,)):
            if value.dtype not in EPILOGUE_TYPES:
                legal = ", ".join(EPILOGUE_TYPES)
                what = f"{value.name} is {value.dtype}, and the epilogue of {plan.name} reads {legal}"
                mend = f"cast it first: t = cast({value.storage}, f32), or {_PLAIN}"
                found.append(Obstacle(Epilogue, what, mend, value.dtype, span=step.span))
            elif row_strides(value) is None:
                what = f"the epilogue of {plan.name} goes over rows of pixels, and those of {value.name} lie apart"
                mend = f"t = relayout({value.storage}, channels_last), a map behind {plan.name}, or {_PLAIN}"
                found.append(Obstacle(Epilogue, what, mend, list(value.strides), span=step.span))
    return found


def check_tensor_core(stage: Stage, scope: Scope) -> bool:
    """Whether a convolution that asks for the tensor cores can go there; every reason why not is noted."""
    found = obstacles(plan_of(stage, stage.attributes["math"]))
    for obstacle in found:
        place = obstacle.span or scope.place(stage, *obstacle.knobs)
        given = {"found": obstacle.found, "what": obstacle.what, "mend": obstacle.mend, **obstacle.more}
        scope.note(obstacle.error(place, **given))
    return not found


def check_depth(stage: Stage, scope: Scope) -> None:
    """What im2col's loads ask of the tile's k beside the instruction; other multiples of 32 bytes do not compile.

    CUTLASS says "Stride Divisibility Condition" for three or more rows of its shared memory that are no power of two.
    """
    m, n, k = stage.knobs["tile"]
    size = READ_BYTES[stage.attributes["math"]]
    if k * size % 32 == 0 and k * size not in _DEPTH_BYTES:
        why = f"k is {k}, which is {k * size} bytes, and im2col loads take {_words(_DEPTH_BYTES)} of channels"
        mend = f"k is {_words([each // size for each in _DEPTH_BYTES])}"
        scope.note(Tile(scope.place(stage, "tile"), found=f"{m}, {n}, {k}", why=why, mend=mend))
    stages = stage.knobs["stages"]
    if n == 8 and (stages == 0 or stages % 4):
        why = f"n is 8 with stages({stages or 'auto'}), and im2col's loads take so narrow a tile in fours of stages"
        mend = f"write stages(4), or tile({m}, 16, {k})"
        scope.note(Tile(scope.place(stage, "tile"), found=f"{m}, {n}, {k}", why=why, mend=mend))


def _words(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} or {numbers[-1]}"


def check_simt(stage: Stage, strict: bool, scope: Scope) -> None:
    """The plain kernel's tile, knobs that it does not read, and why a convolution goes there without asking for it."""
    rows, columns, depth = stage.knobs["tile"]
    fits = rows in SIMT_SIDES and columns in SIMT_SIDES and rows * columns in SIMT_TILES and depth in SIMT_DEPTHS
    if not fits:
        why = "256 threads of the plain kernel share a tile"
        mend = f"with math(f32) it takes {SIMT_LEGAL}"
        found = f"{rows}, {columns}, {depth}"
        scope.note(Tile(scope.place(stage, "tile"), found=found, why=why, mend=mend))
    ignored = ("cluster", "schedule", "stages", "swizzle", "raster")
    depthwise = stage.attributes["groups"] == stage.attributes["channels"] > 1
    for knob in (*ignored, "tile") if depthwise else ignored:
        if knob in stage.written:
            message = (
                f"math(f32) is a plain kernel{', here for one channel a group' * depthwise}: {knob} is ignored"
            )
            scope.caution("knob-ignored", message, scope.place(stage, knob))
    x = stage.operands[0]
    if "math" in stage.written or (strict and x.dtype is DType.F32):
        return
    for obstacle in obstacles(plan_of(stage, "tf32" if x.dtype is DType.F32 else str(x.dtype)))[:1]:
        mend = obstacle.mend.removesuffix(_PLAIN).removesuffix(", or ")
        message = f"{stage.name} goes to the plain kernel, math(f32): {obstacle.more.get('why', obstacle.what)}"
        scope.caution("math", f"{message}; {mend}" if mend else message, stage.span)
