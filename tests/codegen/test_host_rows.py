"""reduce, softmax and norm on the host against torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest
import torch

from kernels.codegen import emit
from kernels.codegen.errors import ElementTypeWithoutCode
from kernels.codegen.host import emit_stage
from kernels.dsl.ir import ChainStep, Load, Stage, Value
from kernels.dtypes import DType
from kernels.problems.inspection import TensorSpec
from tests.codegen.plans import run_program
from tests.codegen.running import Runner, filled, view
from tests.codegen.stages import ACC, SPAN, apply, broadcast, program, step, transposed, value

INF, NAN = float("inf"), float("nan")
REDUCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sum": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(-1),
    "max": lambda x: x.amax(-1),
    "min": lambda x: x.amin(-1),
    "prod": lambda x: x.prod(-1),
    "sumsq": lambda x: x.square().sum(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
}
ROWWISE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x: torch.nn.functional.rms_norm(x, x.shape[-1:], eps=1e-5),
}
KINDS = REDUCTIONS | ROWWISE
TOLERANCE = {"f32": 2e-6, "f64": 1e-13, "f16": 1e-3, "bf16": 8e-3}
SPECIAL = [
    [1.0, 2.0, 3.0, -0.0, 0.5],
    [-INF, -INF, -INF, -INF, -INF],
    [-INF, 1.0, -INF, 2.0, 3.0],
    [INF, 1.0, 2.0, 3.0, 4.0],
    [INF, -INF, 2.0, 3.0, 4.0],
    [INF, INF, 2.0, 3.0, 4.0],
    [NAN, 1.0, 2.0, 3.0, 4.0],
    [1.0, 2.0, 3.0, 4.0, NAN],
    [NAN, INF, -INF, 3.0, 4.0],
    [1e10, 3e10, -1e10, 1.0, 1e-4],
    [88.0, 1e4, -1e4, 100.0, 9.9e3],
    [7.0, 7.0, 7.0, 7.0, 7.0],
]


def _stage(
    kind: str,
    x: Value,
    chain: Sequence[ChainStep] = (),
    affine: Sequence[Value] = (),
    result: Sequence[int] | None = None,
    bias_alone: bool = False,
    **knobs: Any,
) -> Stage:
    """``result`` is the shape of a reduction's result, by default without the last extent."""
    op = "reduce" if kind in REDUCTIONS else "norm" if kind.endswith("_norm") else "softmax"
    shape = tuple(x.shape[:-1] if result is None else result) if op == "reduce" else x.shape
    rows = value("r", shape).elements if op == "reduce" else x.elements // x.shape[-1]
    columns = x.elements // rows
    axes: tuple[int, ...] = ()
    while columns > 1 or not axes:
        axes = (len(x.shape) - 1 - len(axes), *axes)
        columns //= x.shape[axes[0]]
    arguments = [argument for link in chain for argument in getattr(link.expr, "args", ())]
    loaded = [argument.value for argument in arguments if isinstance(argument, Load)]
    return Stage(
        name="y",
        op=op,
        operands=(x, *affine, *loaded),
        results=(value("y", shape, x.dtype),),
        knobs={"threads": 0, "vector": 0, **knobs},
        written=frozenset(knobs),
        chain=tuple(chain),
        attributes={
            "kind": kind,
            "axes": axes,
            "groups": 0,
            "affine": axes if op == "norm" else (),
            "prologue": None,
            "rows": rows,
            "columns": x.elements // rows,
            "eps": 1e-5 if op == "norm" else None,
            "weight": len(affine) > 0 and not bias_alone,
            "bias": len(affine) > 1 or bias_alone,
        },
        once=False,
        span=SPAN,
    )


def _numbers(kind: str, x: Value) -> torch.Tensor:
    # A long product of numbers around one stays in range.
    return filled(x, 1, 0.97, 1.03) if kind == "prod" else filled(x, 1, -2.0, 3.0)


def _same(got: torch.Tensor, exact: torch.Tensor, dtype: str) -> bool:
    near = TOLERANCE[dtype]
    return bool(torch.allclose(got.double(), exact.to(got.dtype).double(), rtol=near, atol=near, equal_nan=True))


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [*product(KINDS, ("f32", "f64")), *product(("sum", "softmax", "layer_norm"), ("f16", "bf16"))],
)
def test_every_kind_means_what_torch_means_at_odd_sizes(runner: Runner, kind: str, dtype: str) -> None:
    for rows, columns in ((1, 1), (5, 7), (9, 17), (3, 31), (1, 1000), (2, 1000), (3, 4097), (1, 4097), (700, 33)):
        x = value("x", (rows, columns), dtype)
        storages = {"x": _numbers(kind, x)}
        y = runner.run(_stage(kind, x), storages)
        assert _same(y, KINDS[kind](view(storages["x"], x).double()), dtype), f"{rows} x {columns}"


@pytest.mark.parametrize("kind", KINDS)
def test_threads_that_share_long_rows_give_the_same_results(runner: Runner, kind: str) -> None:
    for rows in (1, 3):
        x = value("x", (rows, 40_003), "f64")
        storages = {"x": filled(x, 1, 0.9999, 1.0001) if kind == "prod" else _numbers(kind, x)}
        y = runner.run(_stage(kind, x, threads=3), storages)
        exact = KINDS[kind](view(storages["x"], x))
        assert torch.allclose(y, exact, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_infinities_and_nans_come_out_as_in_torch(runner: Runner, kind: str) -> None:
    x = torch.tensor(SPECIAL, dtype=torch.float32)
    y = runner.run(_stage(kind, value("x", tuple(x.shape))), {"x": x.reshape(-1)})
    for row, got, exact in zip(SPECIAL, y, KINDS[kind](x), strict=True):
        assert torch.allclose(got, exact, rtol=1e-5, atol=1e-6, equal_nan=True), f"{row}: {got}, torch {exact}"


@pytest.mark.parametrize("kind", ["logsumexp", "softmax", "log_softmax", "max", "sum"])
@pytest.mark.parametrize("threads", [1, 3])
def test_infinities_in_one_piece_of_a_long_row_come_out_as_in_torch(
    runner: Runner, kind: str, threads: int
) -> None:
    columns = 36_000
    x = filled(value("x", (5, columns)), 1).reshape(5, columns)
    x[0, :20_000] = -INF
    x[1, 20_000:] = -INF
    x[2, :] = -INF
    x[3, 30_000] = INF
    x[4, 9_000] = NAN
    y = runner.run(_stage(kind, value("x", (5, columns)), threads=threads), {"x": x.reshape(-1)})
    assert torch.allclose(y, KINDS[kind](x), rtol=1e-5, atol=1e-5, equal_nan=True)


def test_a_sum_of_large_numbers_loses_no_more_than_torch(runner: Runner) -> None:
    x = value("x", (1, 300_000))
    numbers = filled(x, 1, 0.0, 1.0) + 1000.0
    y = runner.run(_stage("sum", x), {"x": numbers})
    assert torch.allclose(y.double(), numbers.double().sum(), rtol=1e-6)


@pytest.mark.parametrize("columns", [50, 5000])
def test_a_variance_far_from_zero_is_stable(runner: Runner, columns: int) -> None:
    x = value("x", (3, columns))
    numbers = filled(x, 1) + 1000.0
    y = runner.run(_stage("layer_norm", x), {"x": numbers})
    assert torch.allclose(y.double(), ROWWISE["layer_norm"](numbers.double().reshape(3, -1)), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("dtype", "affine_dtype"), [("f32", "f32"), ("f16", "f32"), ("bf16", "bf16")])
def test_norms_take_weight_and_bias(runner: Runner, dtype: str, affine_dtype: str) -> None:
    x = value("x", (2, 3, 70), dtype)
    weight, bias = value("w", (70,), affine_dtype), value("b", (70,), affine_dtype)
    storages = {"x": filled(x, 1), "w": filled(weight, 2), "b": filled(bias, 3)}
    wide = view(storages["x"], x).double()
    w, b = storages["w"].double(), storages["b"].double()
    y = runner.run(_stage("layer_norm", x, affine=(weight, bias)), storages)
    assert _same(y, torch.nn.functional.layer_norm(wide, (70,), w, b, 1e-5), dtype)
    y = runner.run(_stage("layer_norm", x, affine=(weight,)), storages)
    assert _same(y, torch.nn.functional.layer_norm(wide, (70,), w, None, 1e-5), dtype)
    y = runner.run(_stage("rms_norm", x, affine=(weight,)), storages)
    assert _same(y, torch.nn.functional.rms_norm(wide, (70,), w, 1e-5), dtype)


def test_a_strided_bias_is_read_in_place(runner: Runner) -> None:
    x, bias = value("x", (4, 20)), value("b", (20,), strides=(3,), offset=2)
    storages = {"x": filled(x, 1), "b": filled(bias, 2)}
    y = runner.run(_stage("layer_norm", x, affine=(bias,), bias_alone=True), storages)
    exact = torch.nn.functional.layer_norm(view(storages["x"], x), (20,), None, view(storages["b"], bias))
    assert torch.allclose(y, exact, rtol=1e-5, atol=1e-6)


def test_a_chain_follows_each_element_of_a_softmax(runner: Runner) -> None:
    shape = (2, 3, 5, 40)
    x, mask, scale = value("x", shape), value("mask", (5, 40)), value("scale", (3, 1, 1))
    strided = transposed("s", shape)
    chain = [
        step(apply("mul", ACC, broadcast(scale, shape))),
        step(apply("add", ACC, broadcast(mask, shape))),
        step(apply("sub", ACC, Load(strided))),
        step(apply("relu", ACC)),
    ]
    storages = {
        "x": filled(x, 1), "mask": filled(mask, 2), "scale": filled(scale, 3), "s": filled(strided, 4),
    }  # fmt: skip
    y = runner.run(_stage("softmax", x, chain, threads=2), storages)
    inner = view(storages["x"], x).softmax(-1) * storages["scale"].reshape(3, 1, 1)
    exact = (inner + storages["mask"].reshape(5, 40) - view(storages["s"], strided)).relu()
    assert torch.allclose(y, exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("columns", [40, 33_000])
def test_a_chain_follows_each_result_of_a_reduction(runner: Runner, columns: int) -> None:
    x, row, strided = value("x", (3, 4, columns)), value("row", (4,)), transposed("s", (3, 4))
    chain = [step(apply("add", ACC, broadcast(row, (3, 4)))), step(apply("mul", ACC, Load(strided)))]
    storages = {"x": filled(x, 1), "row": filled(row, 2), "s": filled(strided, 3)}
    y = runner.run(_stage("mean", x, chain, threads=2), storages)
    exact = (view(storages["x"], x).mean(-1) + storages["row"]) * view(storages["s"], strided)
    assert torch.allclose(y, exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("result", [(3,), (3, 1, 1), ()])
def test_several_dimensions_are_reduced_at_once(runner: Runner, result: tuple[int, ...]) -> None:
    x = value("x", (3, 5, 11) if result else (5, 11))
    storages = {"x": filled(x, 1)}
    y = runner.run(_stage("sum", x, result=result), storages)
    assert torch.allclose(y, view(storages["x"], x).sum((-2, -1)).reshape(result), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["sum", "softmax", "layer_norm"])
def test_the_vector_knob_changes_no_meaning(runner: Runner, kind: str) -> None:
    x = value("x", (6, 301))
    storages = {"x": filled(x, 1)}
    y = runner.run(_stage(kind, x, vector=128), storages)
    assert _same(y, KINDS[kind](view(storages["x"], x).double()), "f32")


def test_a_program_of_row_stages_means_what_torch_means(runner: Runner) -> None:
    text = """
    program rows(x: f32[B, M, N], w: f32[N], b: f32[N]) -> f32[B, M]
      n = layer_norm(x, w, b, eps=1e-6) >> gelu()
      p = softmax(n) >> add(x)
      r = rms_norm(p, w)
      l = log_softmax(r)
      y = reduce(l, max) >> scale(2)
      return y
    """
    x, w, b = (filled(value("v", shape), 5).reshape(shape) for shape in ((2, 9, 70), (70,), (70,)))
    y = run_program(text, {"x": x}, {"w": w, "b": b}, TensorSpec("out", DType.F32, (2, 9)), runner.cache)
    n = torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, (70,), w, b, 1e-6))
    r = torch.nn.functional.rms_norm(n.softmax(-1) + x, (70,), w, 1e-5)
    assert torch.allclose(y, r.log_softmax(-1).amax(-1) * 2, rtol=1e-4, atol=1e-5)


def test_stages_that_differ_in_sizes_share_a_unit() -> None:
    shapes = ((4, 5), (9, 1000), (2, 3, 7))
    symbols = {emit_stage(_stage("softmax", value("x", shape)), None).unit.symbol for shape in shapes}
    assert len(symbols) == 1
    (symbol,) = symbols
    assert symbol.startswith("mu_softmax_")
    assert emit_stage(_stage("max", value("x", (4, 5))), None).unit.symbol.startswith("mu_reduce_")
    assert emit_stage(_stage("rms_norm", value("x", (4, 5))), None).unit.symbol.startswith("mu_norm_")


def test_it_refuses_integers() -> None:
    with pytest.raises(ElementTypeWithoutCode, match="i32"):
        emit_stage(_stage("sum", value("x", (4, 5), "i32")), None)


def test_layer_norm_with_weight_bias_and_a_residual(golden: Callable[[str], None]) -> None:
    shape = (2, 8, 64)
    x, weight, bias = value("x", shape, "f16"), value("weight", (64,)), value("bias", (64,))
    chain = [step(apply("add", ACC, broadcast(value("r", (8, 64), "f16"), shape)), "add(r)")]
    golden(emit(program(_stage("layer_norm", x, chain, (weight, bias), vector=32))).units[0].source)


def test_a_sum_with_a_chain(golden: Callable[[str], None]) -> None:
    chain = [step(apply("sqrt", ACC), "sqrt()")]
    golden(emit(program(_stage("sumsq", value("x", (6, 64)), chain))).units[0].source)
