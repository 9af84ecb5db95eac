"""grouped_gemm: several products of their own sizes in one launch, and what a target asks of them together.

``y = grouped_gemm([a, c], [b, d])`` gives ``y.0`` and ``y.1``. One set of knobs and one chain serve all products; the
chain takes numbers alone, since a tensor would belong to one of them. Each product's own layouts, sizes and memory
are judged as those of a gemm (``layouts``, ``resources``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kernels.dsl import defaults
from kernels.dsl.defaults import Product
from kernels.dsl.errors import ArgumentError, Epilogue, KnobValue, Layout, ShapeMismatch
from kernels.dsl.expressions import chain_values
from kernels.dsl.ir import Stage, Value
from kernels.dsl.knobs import KnobData, knob_rows
from kernels.dsl.maths import copied, element_bytes
from kernels.dsl.ops import OPS
from kernels.dsl.orientation import letter, letters
from kernels.dsl.resolve import tensor
from kernels.dsl.scope import Failed, Scope
from kernels.dsl.simd import Simd
from kernels.dsl.syntax import Argument, Assign, Sequence
from kernels.dtypes import DType
from kernels.targets import Policy, Target

MOST = 32
"""Products of one launch: their pointers and sizes are handed to one kernel as its parameters, 4 KiB at most."""
_TMA_BYTES = 16


@dataclass(frozen=True, slots=True)
class GroupedWork:
    """The operands of each product, a[M, K] and b[K, N], in order."""

    pairs: tuple[tuple[Value, Value], ...]

    @property
    def sizes(self) -> tuple[tuple[int, int, int], ...]:
        """m, n and k of each product."""
        return tuple((a.shape[0], b.shape[1], a.shape[1]) for a, b in self.pairs)

    @property
    def largest(self) -> Product:
        """The product with the most work, for which knobs are chosen."""
        m, n, k = max(self.sizes, key=lambda size: size[0] * size[1] * size[2])
        a, b = self.pairs[self.sizes.index((m, n, k))]
        return Product(len(self.pairs), m, n, k, a, b)


def grouped_work(stage: Assign, scope: Scope) -> GroupedWork:
    """The stage's products; fails with every error of its operands noted."""
    usage = f"write {OPS['grouped_gemm'].usage}"
    if stage.kwargs or len(stage.args) != 2 or not all(isinstance(node, Sequence) for node in stage.args):
        raise scope.fail(ArgumentError(stage.span, what="grouped_gemm takes two lists of tensors", mend=usage))
    first, second = (node.items for node in stage.args if isinstance(node, Sequence))
    if len(first) != len(second) or not 1 <= len(first) <= MOST:
        what = f"grouped_gemm got {len(first)} first and {len(second)} second operands"
        raise scope.fail(ArgumentError(stage.span, what=what, mend=f"as many of both, 1 to {MOST}"))
    pairs = [_pair(a, b, scope) for a, b in zip(first, second, strict=True)]
    found = tuple(pair for pair in pairs if pair is not None)
    if len(found) < len(pairs):
        raise Failed
    start = found[0][0]
    for value in (value for pair in found for value in pair):
        if value.dtype is not start.dtype:
            what = f"{start.name} is {start.dtype} and {value.name} is {value.dtype}"
            mend = f"cast one of them: t = cast({value.name}, {start.dtype})"
            raise scope.fail(ShapeMismatch(stage.span, found=str(value.dtype), what=what, mend=mend))
    return GroupedWork(found)


def _pair(a_node: Argument, b_node: Argument, scope: Scope) -> tuple[Value, Value] | None:
    try:
        a, b = tensor(a_node, scope), tensor(b_node, scope)
    except Failed:
        return None
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0]:
        what = f"{a.name} has shape {list(a.shape)} and {b.name} has shape {list(b.shape)}"
        mend = "each product is of a[M, K] and b[K, N]; write w.T for a weight[N, K]"
        scope.note(ShapeMismatch(b_node.span, found=list(b.shape), what=what, mend=mend))
        return None
    return a, b


def host_knobs(work: GroupedWork, written: dict[str, KnobData], simd: Simd) -> dict[str, Any]:
    """Those of the largest product."""
    return defaults.host_gemm(work.largest, written, simd)


def sm90a_knobs(work: GroupedWork, written: dict[str, KnobData], policy: Policy) -> dict[str, Any]:
    """Those of the largest product, with a way to multiply that takes every product's layout."""
    math = written.get("math", _sm90a_math(work, policy))
    tile = written.get("tile", [128, 128, 128 // element_bytes(str(math))])
    assert isinstance(tile, list)
    knobs: dict[str, Any] = {
        "tile": tile,
        "cluster": [1, 1],
        "schedule": "cooperative" if tile[0] >= 128 else "pingpong",
        "stages": 0,
        "swizzle": 0,
        "raster": "auto",
        "math": math,
        "acc": defaults.split_sums(str(math)),
        "out": str(work.pairs[0][0].dtype),
    }
    knobs |= written
    if knobs["schedule"] == "auto":
        knobs["schedule"] = "cooperative" if tile[0] >= 128 else "pingpong"
    return knobs


def _sm90a_math(work: GroupedWork, policy: Policy) -> str:
    dtype = work.pairs[0][0].dtype
    if dtype is not DType.F32:
        return str(dtype)
    if policy is Policy.STRICT:
        return defaults.STRICT_WAY
    in_place = all(letters(pair) == "KK" and all(map(_aligned, pair)) for pair in work.pairs)
    return "tf32" if in_place else "bf16x3"


def _aligned(value: Value) -> bool:
    unit = _TMA_BYTES // value.dtype.bytes
    sides = list(zip(value.strides, value.shape, strict=True))
    numbers = [extent if stride == 1 else stride for stride, extent in sides if stride == 1 or extent > 1]
    return all(number % unit == 0 for number in (*numbers, value.offset))


def members(stage: Stage) -> tuple[Stage, ...]:
    """The stage's products, each as the gemm stage that it would be alone."""
    made = []
    for index, (m, n, k) in enumerate(stage.attributes["sizes"]):
        sizes = {"m": m, "n": n, "k": k, "math": stage.attributes["math"], "acc": stage.attributes["acc"]}
        pair = stage.operands[2 * index : 2 * index + 2]
        result = (stage.results[index],)
        made.append(replace(stage, op="gemm", operands=pair, results=result, attributes=sizes))
    return tuple(made)


def check_chain(stage: Stage, scope: Scope) -> None:
    """A chain of numbers alone, on any target."""
    for step in stage.chain:
        for value in chain_values((step,)):
            what = f"{value.name} in the chain of {stage.name}, which belongs to {len(stage.results)} products"
            mend = f"add it in a stage of its own: z = map({stage.name}.0) >> {step.text}"
            scope.note(Epilogue(step.span, found=value.name, what=what, mend=mend))


def check_knobs(stage: Stage, scope: Scope) -> None:
    """sm_90a: the group scheduler has no stream-K, and there is no grouped kernel on the CUDA cores."""
    for knob, found in (("schedule", "streamk"), ("math", "f32")):
        if stage.knobs[knob] == found:
            legal = [word for word in knob_rows("grouped_gemm", Target.SM90A)[knob].words if word != found]
            place, words = scope.place(stage, knob), f"{' | '.join(legal)} in a grouped_gemm"
            scope.note(KnobValue(place, knob=knob, found=found, legal=words))


def check_sides(stage: Stage, scope: Scope) -> None:
    """sm_90a: one collective reads all first operands alike, and all second ones; tf32 is read K-major alone."""
    math = stage.attributes["math"]
    if math == "f32" or copied(math, stage.operands[0].dtype):
        return
    for role, values in (("a", stage.operands[::2]), ("b", stage.operands[1::2])):
        sides = [letter(value, role) for value in values]
        wanted = "K" if math == "tf32" else sides[0]
        for value, side in zip(values, sides, strict=True):
            if side != wanted:
                read = "K-major, as tf32 is read" if math == "tf32" else f"{wanted}-major, as {values[0].name} is"
                what = f"{value.name} is not {read}"
                row_major = (wanted == "K") == (role == "a")
                copy = f"c = map({value.name})" if row_major else f"c = map({value.name}.T), and write c.T"
                mend = f"copy it: {copy}"
                if stage.operands[0].dtype is DType.F32:
                    mend += ", or write math(tf32x3), which copies operands of any layout"
                scope.note(Layout(stage.span, found=side, what=what, mend=mend))
                break
