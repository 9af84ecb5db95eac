"""Stages and programs made by hand, so that code generation is tested without parser and checker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernels.dsl.ir import Acc, Apply, ChainStep, CheckedProgram, Const, Expr, Load, Stage, Value
from kernels.dsl.syntax import Program, Span
from kernels.dtypes import DType
from kernels.targets import Policy, Target

SPAN = Span(1, 1, 1, 2)
ACC = Acc()


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)


def value(
    name: str,
    shape: Sequence[int],
    dtype: str = "f32",
    strides: Sequence[int] | None = None,
    offset: int = 0,
    storage: str | None = None,
) -> Value:
    chosen = tuple(strides) if strides is not None else contiguous(shape)
    return Value(name, DType(dtype), tuple(shape), chosen, offset, storage or name)


def transposed(name: str, shape: Sequence[int], dtype: str = "f32") -> Value:
    """A value of ``shape`` that lies in memory as its own last-two transpose."""
    *outer, rows, columns = shape
    inner = contiguous((*outer, columns, rows))
    return value(name, shape, dtype, strides=(*inner[:-2], inner[-1], inner[-2]))


def apply(function: str, *args: Expr | float) -> Apply:
    return Apply(function, tuple(Const(a) if isinstance(a, int | float) else a for a in args))


def step(expr: Expr, text: str = "step", line: int = 1) -> ChainStep:
    return ChainStep(text, expr, Span(line, 1, line, 2))


def broadcast(base: Value, shape: Sequence[int]) -> Load:
    """``base`` read at the rank of ``shape``, as the checker hands it to a chain."""
    missing = len(shape) - len(base.shape)
    strides = [0] * missing + [
        0 if extent == 1 else stride for extent, stride in zip(base.shape, base.strides, strict=True)
    ]
    return Load(Value(base.name, base.dtype, tuple(shape), tuple(strides), base.offset, base.storage))


def gemm_stage(a: Value, b: Value, out: str = "f32", chain: Sequence[ChainStep] = (), **knobs: Any) -> Stage:
    batched = len(a.shape) == 3
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    shape = (*a.shape[:-2], m, n)
    attributes: dict[str, Any] = {"m": m, "n": n, "k": k, "math": "f32", "acc": "f32"}
    if batched:
        attributes["batch"] = a.shape[0]
    filled = {
        "tile": [96, 512, 256], "micro": [12, 32], "stages": 3, "threads": 0, "split": 1,
        "math": "f32", "acc": "f32", "out": out, **knobs,
    }  # fmt: skip
    return Stage(
        name="y",
        op="bmm" if batched else "gemm",
        operands=(a, b, *_loaded(chain)),
        results=(value("y", shape, out),),
        knobs=filled,
        written=frozenset(knobs),
        chain=tuple(chain),
        attributes=attributes,
        once=False,
        span=SPAN,
    )


def map_stage(shape: Sequence[int], chain: Sequence[ChainStep], out: str = "f32", **knobs: Any) -> Stage:
    return Stage(
        name="y",
        op="map",
        operands=_loaded(chain),
        results=(value("y", shape, out),),
        knobs={"threads": 0, "vector": 0, **knobs},
        written=frozenset(knobs),
        chain=tuple(chain),
        attributes={},
        once=False,
        span=SPAN,
    )


def cast_stage(x: Value, out: str, **knobs: Any) -> Stage:
    return Stage(
        name="y",
        op="cast",
        operands=(x,),
        results=(value("y", x.shape, out),),
        knobs={"threads": 0, "vector": 0, **knobs},
        written=frozenset(knobs),
        chain=(),
        attributes={},
        once=False,
        span=SPAN,
    )


def _loaded(chain: Sequence[ChainStep]) -> tuple[Value, ...]:
    found: list[Value] = []

    def walk(expr: Expr) -> None:
        if isinstance(expr, Load) and expr.value not in found:
            found.append(expr.value)
        if isinstance(expr, Apply):
            for argument in expr.args:
                walk(argument)

    for link in chain:
        walk(link.expr)
    return tuple(found)


def program(*stages: Stage, target: Target = Target.HOST, inputs: Sequence[Value] = ()) -> CheckedProgram:
    """Stages in order, the last one's result returned."""
    results = [result for stage in stages for result in stage.results]
    made = {result.name for result in results}
    read = {operand.name: operand for stage in stages for operand in stage.operands if operand.name not in made}
    chosen = tuple(inputs) or tuple(read.values())
    return CheckedProgram(
        name="by_hand",
        target=target,
        policy=Policy.HALF,
        inputs=chosen,
        parameters=(),
        values=(*chosen, *results),
        stages=tuple(stages),
        outputs=(stages[-1].result,),
        warnings=(),
        program=Program("by_hand", (), (), (), (), SPAN),
    )
