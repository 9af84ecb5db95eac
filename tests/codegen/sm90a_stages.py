"""Stage records made by hand, as the checker would make them: short helpers for the tests of the sm_90a generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernels.dsl.ir import Acc, Apply, ChainStep, Const, Expr, Load, Stage, Value
from kernels.dsl.maths import sums_type
from kernels.dsl.syntax import Span
from kernels.dtypes import DType

ACC = Acc()
F32, F16, BF16 = DType.F32, DType.F16, DType.BF16


def span(line: int) -> Span:
    """Some columns of a line."""
    return Span(line, 1, line, 9)


def tensor(
    name: str, dtype: DType, shape: Sequence[int], strides: Sequence[int] | None = None, offset: int = 0
) -> Value:
    """A value; row-major unless strides are given."""
    if strides is None:
        row_major: list[int] = []
        step = 1
        for extent in reversed(shape):
            row_major.insert(0, step)
            step *= extent
        strides = row_major
    return Value(name, dtype, tuple(shape), tuple(strides), offset, name.split(".")[0])


def transposed(value: Value) -> Value:
    """``value.T``: the last two extents swapped."""
    *lead, rows, columns = value.shape
    *lead_strides, row, column = value.strides
    return Value(
        f"{value.name}.T",
        value.dtype,
        (*lead, columns, rows),
        (*lead_strides, column, row),
        value.offset,
        value.storage,
    )


def expanded(value: Value, shape: Sequence[int]) -> Value:
    """The value as a chain loads it: the result's shape, stride 0 where it is broadcast."""
    missing = len(shape) - len(value.shape)
    strides = [0] * missing
    strides += [0 if extent == 1 else stride for extent, stride in zip(value.shape, value.strides, strict=True)]
    return Value(value.name, value.dtype, tuple(shape), tuple(strides), value.offset, value.storage)


def call(function: str, *args: Expr | float) -> Apply:
    """``Apply`` with numbers allowed as arguments."""
    return Apply(function, tuple(Const(float(arg)) if isinstance(arg, int | float) else arg for arg in args))


def step(text: str, expr: Expr, line: int = 1) -> ChainStep:
    """One link of a chain."""
    return ChainStep(text, expr, span(line))


def load(value: Value, shape: Sequence[int]) -> Load:
    """An operand of a link, broadcast to the result's shape."""
    return Load(expanded(value, shape))


GEMM_KNOBS: dict[str, Any] = {
    "tile": [128, 128, 64],
    "cluster": [1, 1],
    "schedule": "cooperative",
    "stages": 0,
    "swizzle": 0,
    "raster": "auto",
    "math": "tf32",
    "acc": "f32",
    "out": "f32",
}


def product(
    a: Value, b: Value, chain: Sequence[ChainStep] = (), out: DType = F32, name: str = "y", **knobs: Any
) -> Stage:
    """A gemm, or a bmm where the operands have a batch; ``knobs`` count as written."""
    filled = {**GEMM_KNOBS, "out": out.value, **knobs}
    *batch, m, k = a.shape
    attributes = {"m": m, "n": b.shape[-1], "k": k, "math": filled["math"], "acc": sums_type(filled["acc"])}
    if batch:
        attributes["batch"] = batch[0]
    result = tensor(name, out, (*batch, m, b.shape[-1]))
    return Stage(
        name=name, op="bmm" if batch else "gemm", operands=(a, b), results=(result,), knobs=filled,
        written=frozenset(knobs), chain=tuple(chain), attributes=attributes, once=False, span=span(1),
    )  # fmt: skip


def elementwise(
    shape: Sequence[int], chain: Sequence[ChainStep], operands: Sequence[Value], out: DType = F32, **knobs: Any
) -> Stage:
    """A map."""
    return Stage(
        name="y", op="map", operands=tuple(operands), results=(tensor("y", out, shape),),
        knobs={"threads": 256, "vector": 0, **knobs}, written=frozenset(knobs), chain=tuple(chain), attributes={},
        once=False, span=span(1),
    )  # fmt: skip


def cast(value: Value, dtype: DType, **knobs: Any) -> Stage:
    """A cast."""
    return Stage(
        name="y", op="cast", operands=(value,), results=(tensor("y", dtype, value.shape),),
        knobs={"threads": 256, "vector": 0, **knobs}, written=frozenset(knobs), chain=(), attributes={},
        once=False, span=span(1),
    )  # fmt: skip


def by_rows(
    kind: str, operands: Sequence[Value], dims: int = 1, chain: Sequence[ChainStep] = (), keepdim: bool = False,
    **knobs: Any,
) -> Stage:  # fmt: skip
    """A reduce over the last ``dims`` extents, or a softmax or norm, as ``kind`` says; the norms' eps is 1e-5."""
    x = operands[0]
    op = "softmax" if kind.endswith("softmax") else "norm" if kind.endswith("_norm") else "reduce"
    columns = 1
    for extent in x.shape[len(x.shape) - dims :]:
        columns *= extent
    lead = x.shape[: len(x.shape) - dims]
    shape = x.shape if op != "reduce" else (*lead, *[1] * dims) if keepdim else lead
    axes = tuple(range(len(lead), len(x.shape)))
    attributes = {
        "kind": kind, "axes": axes, "groups": 0, "rows": x.elements // columns, "columns": columns,
        "eps": 1e-5 if op == "norm" else None, "affine": axes if op == "norm" else (),
        "prologue": None,
        "weight": op == "norm" and len(operands) > 1, "bias": op == "norm" and len(operands) > 2,
    }  # fmt: skip
    return Stage(
        name="y", op=op, operands=tuple(operands), results=(tensor("y", x.dtype, shape),),
        knobs={"threads": 0, "vector": 0, **knobs}, written=frozenset(knobs), chain=tuple(chain),
        attributes=attributes, once=False, span=span(1),
    )  # fmt: skip
