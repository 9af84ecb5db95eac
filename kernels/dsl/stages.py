"""From one written stage to one checked ``Stage``: operands found, shapes inferred, chain built, knobs filled in.

It decides what a stage computes. Whether the target can do it well or at all is for the rule passes (``layouts``,
``resources``, ``precision``), which run on what this one made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kernels.dsl import defaults, grouped, reducing, sm80_defaults, torch_stages
from kernels.dsl.conv import conv_work
from kernels.dsl.conv_knobs import conv_knobs
from kernels.dsl.errors import ArgumentError, Epilogue, ShapeMismatch, UnknownStage, UnknownType
from kernels.dsl.expressions import chain_values, common_shape, computing_type, expression, loads, widen
from kernels.dsl.ir import ChainStep, Stage, Value
from kernels.dsl.knobs import KnobData, read_knobs
from kernels.dsl.links import chain_step, check_name
from kernels.dsl.maths import sums_type
from kernels.dsl.movement import read_pad, read_relayout
from kernels.dsl.ops import CONVOLUTIONS, EPILOGUE_TYPES, OPS, POOLS, ROW_STAGES
from kernels.dsl.pool import read_pool
from kernels.dsl.printer import format_type, format_value
from kernels.dsl.resolve import among, tensor
from kernels.dsl.rows import PLACES, row_work
from kernels.dsl.scope import Failed, Scope
from kernels.dsl.simd import Simd
from kernels.dsl.syntax import Argument, Assign, Name, Span, TypeExpr
from kernels.dsl.views import channels_last, fresh
from kernels.dtypes import DType
from kernels.targets import Policy, Target


@dataclass(frozen=True, slots=True)
class Setting:
    """What a program is checked for."""

    target: Target
    policy: Policy
    simd: Simd


def build_stage(stage: Assign, scope: Scope, setting: Setting) -> Stage:
    """The checked stage; fails with every error found in its parts noted."""
    op = "torch" if stage.op.startswith("torch.") else stage.op
    if op not in OPS:
        legal = ", ".join(name for name in OPS if name not in ("torch", "view"))
        words = among(stage.op, list(OPS), f"stages are {legal}, and torch.NAME(…)")
        raise scope.fail(UnknownStage(stage.span, found=stage.op, legal=words))
    before = len(scope.errors)
    written = read_knobs(stage, op, setting.target, scope)
    try:
        built = _BUILDERS[op](stage, written, scope, setting)
    except Failed:
        # The chain was not reached: its names, at least, can be told now.
        for link in stage.chain if OPS[op].chained else ():
            check_name(link, scope)
        raise
    _check_annotation(stage, built, scope)
    if len(scope.errors) > before:
        raise Failed
    return built


def stage_view(stage: Assign, scope: Scope) -> Value:
    """The value of a bare view, under the stage's own name."""
    for what, parts in (("knobs", stage.knobs), ("a chain", stage.chain)):
        for part in parts:
            text = f"a view with {what}"
            scope.note(Epilogue(part.span, what=text, mend=f"a view is free: use map({stage.target}) for work"))
    base = tensor(stage.args[0], scope)
    return Value(stage.target, base.dtype, base.shape, base.strides, base.offset, base.storage)


def _cast(stage: Assign, written: dict[str, KnobData], scope: Scope, setting: Setting) -> Stage:
    _refuse_chain(stage, scope)
    _arguments(stage, 2, scope)
    source = tensor(stage.args[0], scope)
    dtype = element_type(stage.args[1], scope)
    knobs = defaults.elementwise(written, setting.target)
    result = fresh(stage.target, dtype, source.shape)
    return _stage(stage, "cast", (source,), (result,), knobs, written, (), {})


def _map(stage: Assign, written: dict[str, KnobData], scope: Scope, setting: Setting) -> Stage:
    _arguments(stage, 1, scope)
    node = stage.args[0]
    raw = expression(node, scope, acc=False)
    sources = loads(raw)
    if not sources:
        raise scope.fail(ArgumentError(node.span, what="map without a tensor", mend="use at least one tensor"))
    shape = common_shape(sources, node.span, scope)
    first = ChainStep(format_value(node), widen(raw, shape, node.span, scope), node.span)
    chain = (first, *_chain(stage, shape, scope))
    operands = chain_values(chain)
    result = fresh(stage.target, computing_type(operands, chain), shape)
    knobs = defaults.elementwise(written, setting.target)
    return _stage(stage, "map", operands, (result,), knobs, written, chain, {})


def _gemm(stage: Assign, written: dict[str, KnobData], scope: Scope, setting: Setting) -> Stage:
    return _product(stage, written, scope, setting, rank=2)


def _bmm(stage: Assign, written: dict[str, KnobData], scope: Scope, setting: Setting) -> Stage:
    return _product(stage, written, scope, setting, rank=3)


def _product(stage: Assign, written: dict[str, KnobData], scope: Scope, setting: Setting, rank: int) -> Stage:
    a, b = _factors(stage, scope, rank)
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    batch = a.shape[0] if rank == 3 else 1
    shape = (*a.shape[:-2], m, n)
    links, reduction = reducing.split_chain(stage, shape, scope)
    chain = _chain(replace(stage, chain=links), shape, scope)
    on_tensor_cores = all(value.dtype in EPILOGUE_TYPES for value in chain_values(chain))
    product = defaults.Product(batch, m, n, k, a, b, on_tensor_cores, reduction is not None)
    if setting.target is Target.HOST:
        knobs = defaults.host_gemm(product, written, setting.simd)
    elif setting.target is Target.SM80:
        knobs = sm80_defaults.gemm(product, written, setting.policy)
    else:
        knobs = defaults.sm90a_gemm(product, written, setting.policy)
    shape = shape if reduction is None else reducing.reduced(shape, reduction)
    result = fresh(stage.target, DType(knobs["out"]), shape)
    attributes: dict[str, Any] = {"m": m, "n": n, "k": k, "math": knobs["math"], "acc": sums_type(knobs["acc"])}
    if rank == 3:
        attributes["batch"] = batch
    built = _stage(stage, stage.op, (a, b), (result,), knobs, written, chain, attributes)
    return replace(built, reduction=reduction)


def _grouped(stage: Assign, written: dict[str, KnobData], scope: Scope, setting: Setting) -> Stage:
    work = grouped.grouped_work(stage, scope)
    if setting.target is Target.HOST:
        knobs = grouped.host_knobs(work, written, setting.simd)
    else:
        knobs = grouped.sm90a_knobs(work, written, setting.policy)
    several = len(work.sizes) > 1
    results = tuple(
        fresh(f"{stage.target}.{index}" if several else stage.target, DType(knobs["out"]), (m, n))
        for index, (m, n, _) in enumerate(work.sizes)
    )
    attributes = {"sizes": work.sizes, "math": knobs["math"], "acc": sums_type(knobs["acc"])}
    chain = _chain(stage, results[0].shape, scope)
    operands = tuple(value for pair in work.pairs for value in pair)
    return _stage(stage, "grouped_gemm", operands, results, knobs, written, chain, attributes)


def _factors(stage: Assign, scope: Scope, rank: int) -> tuple[Value, Value]:
    _arguments(stage, 2, scope)
    a, b = _both(stage.args, scope)
    form = "[M, K] and [K, N]" if rank == 2 else "[B, M, K] and [B, K, N]"
    for value, node in zip((a, b), stage.args, strict=True):
        if len(value.shape) != rank:
            what = f"{stage.op} takes {form}, and {value.name} has shape {list(value.shape)}"
            mend = "use reshape, or bmm for a batch" if rank == 2 else "use reshape, or gemm without a batch"
            raise scope.fail(ShapeMismatch(node.span, found=list(value.shape), what=what, mend=mend))
    if a.shape[-1] != b.shape[-2]:
        text = format_value(stage.args[1])
        turned = text.removesuffix(".T") if text.endswith(".T") else f"{text}.T"
        swapped = b.shape[-1] == a.shape[-1]
        what = f"{a.name} has K = {a.shape[-1]} and {b.name} has K = {b.shape[-2]}"
        mend = f"write {turned}" if swapped else "a's last extent must be b's last but one"
        raise scope.fail(ShapeMismatch(stage.args[1].span, found=list(b.shape), what=what, mend=mend))
    if rank == 3 and a.shape[0] != b.shape[0]:
        what = f"{a.name} has a batch of {a.shape[0]} and {b.name} of {b.shape[0]}"
        raise scope.fail(
            ShapeMismatch(stage.args[1].span, found=b.shape[0], what=what, mend="the batches must agree")
        )
    if a.dtype is not b.dtype:
        what = f"{a.name} is {a.dtype} and {b.name} is {b.dtype}"
        mend = f"cast one of them: t = cast({b.name}, {a.dtype})"
        raise scope.fail(ShapeMismatch(stage.args[1].span, found=str(b.dtype), what=what, mend=mend))
    return a, b


def _both(args: tuple[Argument, ...], scope: Scope) -> tuple[Value, Value]:
    """Both operands, so that the second's error is told too."""
    found: list[Value] = []
    for node in args:
        try:
            found.append(tensor(node, scope))
        except Failed:
            continue
    if len(found) < 2:
        raise Failed
    return found[0], found[1]


def _rows(stage: Assign, written: dict[str, KnobData], scope: Scope, setting: Setting) -> Stage:
    work = row_work(stage, scope)
    if work.attributes["kind"] in PLACES:
        _refuse_chain_on_places(stage, work.attributes["kind"], scope)
        chain: tuple[ChainStep, ...] = ()
    else:
        chain = _chain(stage, work.result.shape, scope)
    knobs = defaults.rows(written)
    op = ROW_STAGES[stage.op]
    return _stage(stage, op, work.operands, (work.result,), knobs, written, chain, work.attributes)


def _convolution(stage: Assign, written: dict[str, KnobData], scope: Scope, setting: Setting) -> Stage:
    work = conv_work(stage, scope)
    chain = _chain(stage, work.shape, scope)
    knobs = conv_knobs(work, written, setting.target, setting.policy, setting.simd, chain)
    made = channels_last if knobs["layout"] == "channels_last" else fresh
    result = made(stage.target, DType(knobs["out"]), work.shape)
    attributes = work.attributes | {"math": knobs["math"], "acc": DType(knobs["acc"])}
    return _stage(stage, "conv", (work.x, work.weight), (result,), knobs, written, chain, attributes)


def _relayout(stage: Assign, written: dict[str, KnobData], scope: Scope, setting: Setting) -> Stage:
    _refuse_chain(stage, scope)
    x, result, layout = read_relayout(stage, scope)
    knobs = defaults.elementwise(written, setting.target)
    return _stage(stage, "relayout", (x,), (result,), knobs, written, (), {"layout": layout})


def _pad(stage: Assign, written: dict[str, KnobData], scope: Scope, setting: Setting) -> Stage:
    _refuse_chain(stage, scope)
    x, result, attributes = read_pad(stage, scope)
    knobs = defaults.moving(written, setting.target)
    return _stage(stage, "pad", (x,), (result,), knobs, written, (), attributes)


def _pool(stage: Assign, written: dict[str, KnobData], scope: Scope, setting: Setting) -> Stage:
    work = read_pool(stage, scope)
    chain = _chain(stage, work.result.shape, scope)
    knobs = defaults.moving(written, setting.target)
    return _stage(stage, "pool", (work.x,), (work.result,), knobs, written, chain, work.attributes)


def _torch(stage: Assign, written: dict[str, KnobData], scope: Scope, setting: Setting) -> Stage:
    _refuse_chain(stage, scope)
    call = torch_stages.read_call(stage, scope)
    results = torch_stages.results(stage, call, scope)
    attributes: dict[str, Any] = {"function": stage.op, "args": call.args, "kwargs": call.kwargs}
    return _stage(stage, "torch", tuple(call.values.values()), results, {}, written, (), attributes)


_BUILDERS: dict[str, Callable[[Assign, dict[str, KnobData], Scope, Setting], Stage]] = {
    "cast": _cast,
    "map": _map,
    "gemm": _gemm,
    "bmm": _bmm,
    "grouped_gemm": _grouped,
    **dict.fromkeys(CONVOLUTIONS, _convolution),
    **dict.fromkeys(ROW_STAGES, _rows),
    "relayout": _relayout,
    "pad": _pad,
    **dict.fromkeys(POOLS, _pool),
    "torch": _torch,
}


def _stage(
    stage: Assign,
    op: str,
    operands: tuple[Value, ...],
    results: tuple[Value, ...],
    knobs: dict[str, Any],
    written: dict[str, KnobData],
    chain: tuple[ChainStep, ...],
    attributes: dict[str, Any],
) -> Stage:
    names = frozenset(written)
    return Stage(stage.target, op, operands, results, knobs, names, chain, attributes, stage.once, stage.span)


def _chain(stage: Assign, shape: tuple[int, ...], scope: Scope) -> tuple[ChainStep, ...]:
    steps = []
    for link in stage.chain:
        if link.name == reducing.NAME:
            reducing.refuse_place(stage, link, f"stands behind {stage.op}", scope)
            continue
        try:
            steps.append(chain_step(link, shape, scope, bias_axis=1 if stage.op in CONVOLUTIONS else -1))
        except Failed:
            continue
    return tuple(steps)


def _refuse_chain(stage: Assign, scope: Scope) -> None:
    for link in stage.chain[:1]:
        if link.name == reducing.NAME:
            reducing.refuse_place(stage, link, f"stands behind {stage.op}", scope)
            continue
        what = f"a chain behind {stage.op}"
        work = f"next = map({stage.target}) >> {link.name}(…)"
        mend = f"chains stand behind all stages but cast, relayout, pad and torch: {work}"
        scope.note(Epilogue(link.span, found=link.name, what=what, mend=mend))


def _refuse_chain_on_places(stage: Assign, kind: str, scope: Scope) -> None:
    for link in stage.chain[:1]:
        what = f"a chain behind {kind}, which gives i64"
        mend = f"work on its result: next = map({stage.target}) >> {link.name}(…)"
        scope.note(Epilogue(link.span, found=link.name, what=what, mend=mend))


def _arguments(stage: Assign, count: int, scope: Scope) -> None:
    usage = OPS[stage.op].usage
    if stage.kwargs:
        what = f"{stage.op} has no argument {stage.kwargs[0].name!r}"
        raise scope.fail(ArgumentError(stage.kwargs[0].span, what=what, mend=f"write {usage}"))
    if len(stage.args) != count:
        what = f"{stage.op} takes {count} argument(s) and got {len(stage.args)}"
        raise scope.fail(ArgumentError(stage.span, what=what, mend=f"write {usage}"))


def element_type(node: Argument, scope: Scope) -> DType:
    """The element type that ``node`` names."""
    found = node.text if isinstance(node, Name) else format_value(node)
    return dtype_named(found, node.span, scope)


def dtype_named(found: str, span: Span, scope: Scope) -> DType:
    """The element type called ``found``; fails with ``unknown-type``."""
    if found not in set(DType):
        raise scope.fail(UnknownType(span, found=found, legal=", ".join(DType)))
    return DType(found)


def _check_annotation(stage: Assign, built: Stage, scope: Scope) -> None:
    if built.op == "torch":
        return
    for written, value in zip(stage.results, built.results, strict=False):
        check_type(written, value, scope)


def check_type(written: TypeExpr, value: Value, scope: Scope) -> None:
    """Note where an annotation says another type than the stage gives; sizes it names must be known."""
    shape = torch_stages.extents(written, scope)
    if dtype_named(written.dtype, written.span, scope) is not value.dtype or shape != value.shape:
        what = f"{value.name} is {value.dtype}{list(value.shape)}, and is annotated {format_type(written)}"
        mend = "take the annotation away, or mend the stage"
        scope.note(ShapeMismatch(written.span, found=format_type(written), what=what, mend=mend))
