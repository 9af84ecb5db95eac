from __future__ import annotations

import pytest

from kernels.dsl.ir import Acc, Apply, Const, Load
from kernels.dtypes import DType
from tests.dsl.programs import checked, refusals, signature

BATCH = signature("a f32 3 8 4; c f32 3 4 6", "", "out f32 3 8 6")
HEAD = "program p(a: f32[B, M, K], c: f32[B, K, N]) -> f32[B, M, N]\n"


def test_a_gemm_has_its_sizes_and_operands() -> None:
    stage = checked("  y = gemm(x, w.T) >> relu()\n  return y").stages[0]
    assert (stage.attributes["m"], stage.attributes["n"], stage.attributes["k"]) == (512, 1024, 256)
    assert (stage.attributes["math"], stage.attributes["acc"]) == ("f32", DType.F32)
    assert [value.name for value in stage.operands] == ["x", "w.T"]
    assert stage.result.shape == (512, 1024)
    assert stage.result.contiguous


def test_a_bmm_has_a_batch() -> None:
    stage = checked(HEAD + "  y = bmm(a, c)\n  return y", BATCH).stages[0]
    assert stage.attributes["batch"] == 3
    assert stage.result.shape == (3, 8, 6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("gemm(a, c)", "use reshape, or bmm"),
        ("bmm(a.select(0, 0), c)", "use reshape, or gemm"),
        ("bmm(a.slice(0, 0, 2), c)", "the batches must agree"),
        ("bmm(a, c.T)", "write c"),
        ("bmm(c.T, a)", "write a.T"),
        ("bmm(a, a.slice(1, 0, 2).slice(2, 0, 3))", "last but one"),
        ("bmm(a, a)", "write a.T"),
    ],
)
def test_it_says_how_factors_would_fit(call: str, words: str) -> None:
    error = refusals(HEAD + f"  y = {call}\n  return y", BATCH)[0]
    assert error.rule == "shape-mismatch"
    assert words in error.mend


def test_factors_have_one_element_type() -> None:
    error = refusals("  h = cast(x, f16)\n  y = gemm(h, w.T)\n  return y")[0]
    assert error.rule == "shape-mismatch"
    assert error.mend == "cast one of them: t = cast(w.T, f16)"


def test_a_map_loads_its_operands_with_the_result_s_shape() -> None:
    body = "  y = gemm(x, w.T)\n  z = map(b * y - 2) >> mul(y) >> rsub(1)\n  return z"
    stage = checked(body).stages[1]
    assert [value.name for value in stage.operands] == ["b.expand(512, 1024)", "y"]
    wide, y = stage.operands
    assert stage.chain[0].expr == Apply("sub", (Apply("mul", (Load(wide), Load(y))), Const(2.0)))
    assert stage.chain[1].expr == Apply("mul", (Acc(), Load(y)))
    assert stage.chain[2].expr == Apply("sub", (Const(1.0), Acc()))
    assert [step.text for step in stage.chain] == ["b * y - 2", "mul(y)", "rsub(1)"]


def test_functions_arrive_with_every_parameter() -> None:
    body = (
        "  y = gemm(x, w.T) >> clamp(min=0) >> leaky_relu(0.2) >> softplus(threshold=5) >> hardtanh()\n  return y"
    )
    chain = checked(body).stages[0].chain
    numbers = [[arg.value for arg in step.expr.args[1:]] for step in chain]  # type: ignore[union-attr]
    assert numbers == [[0.0, float("inf")], [0.2], [1.0, 5.0], [-1.0, 1.0]]


def test_scale_and_expr_speak_of_acc() -> None:
    chain = (
        checked("  y = gemm(x, w.T) >> scale(M / 2) >> expr(max(acc, 0) + -acc * b)\n  return y").stages[0].chain
    )
    assert chain[0].expr == Apply("mul", (Acc(), Const(256.0)))
    assert isinstance(chain[1].expr, Apply)
    assert chain[1].expr.args[0] == Apply("max", (Acc(), Const(0.0)))


@pytest.mark.parametrize(
    ("chain", "rule"),
    [
        ("bias(x)", "shape-mismatch"),
        ("add(x)", "shape-mismatch"),
        ("bias(b, b)", "argument-error"),
        ("add()", "argument-error"),
        ("scale(b)", "argument-error"),
        ("scale(zz)", "unknown-name"),
        ("clamp(0, 1, 2)", "argument-error"),
        ("clamp(0, lo=1)", "argument-error"),
        ("clamp(low=1)", "argument-error"),
        ("threshold(1)", "argument-error"),
        ("where(acc, 0, 1)", "unknown-function"),
        ("add(acc)", "unknown-name"),
        ("expr(where(acc, 0))", "argument-error"),
        ("expr(foo(acc))", "unknown-function"),
        ("expr(acc.T)", "unknown-name"),
        ("expr([acc])", "argument-error"),
        ('expr("acc")', "argument-error"),
        ("add(1 / 0)", "shape-mismatch"),
        ("scale(1 / 0)", "argument-error"),
    ],
)
def test_links_are_refused_with_their_rule(chain: str, rule: str) -> None:
    if chain == "add(1 / 0)":
        assert checked(f"  y = gemm(x, w.T) >> {chain}\n  return y").stages[0].chain
        return
    assert [error.rule for error in refusals(f"  y = gemm(x, w.T) >> {chain}\n  return y")] == [rule]


@pytest.mark.parametrize(
    ("types", "expression", "result"),
    [
        ("f16 f16", "p + q", "f16"),
        ("f16 bf16", "p + q", "f32"),
        ("f16 f32", "p + q", "f32"),
        ("f64 f32", "p + q", "f64"),
        ("i64 f16", "p + q", "f16"),
        ("i64 i32", "p * 2 - q", "i64"),
        ("i64 i32", "p / q", "f32"),
        ("i64 i32", "p * 0.5 + q", "f32"),
        ("u8 i8", "p + q", "i16"),
        ("bool bool", "p * q", "f32"),
        ("i32 bool", "p * q", "i32"),
        ("bool u8", "p * q", "u8"),
    ],
)
def test_a_map_gives_the_widest_type_of_its_tensors(types: str, expression: str, result: str) -> None:
    p, q = types.split()
    problem = signature(f"p {p} 8; q {q} 8", "", f"out {result} 8")
    program = checked(f"program f(p: {p}[N], q: {q}[N]) -> {result}[N] y = map({expression}) return y", problem)
    assert program.stages[0].result.dtype == result


@pytest.mark.parametrize("expression", ["1 + 2", "inf", "M"])
def test_a_map_needs_a_tensor(expression: str) -> None:
    errors = refusals(f"  z = map({expression})\n  y = gemm(x, w.T)\n  return y")
    assert [error.rule for error in errors] == ["argument-error"]


@pytest.mark.parametrize(
    "stage",
    ["cast(x)", "cast(x, f16, f16)", "map(x, x)", "gemm(x)", "gemm(x, w.T, out=1)", "bmm()", "cast(x + 1, f16)"],
)
def test_stages_take_their_own_arguments(stage: str) -> None:
    errors = refusals(f"  z = {stage}\n  y = gemm(x, w.T)\n  return y")
    assert [error.rule for error in errors] == ["argument-error"]


def test_an_annotation_must_be_what_the_stage_gives() -> None:
    assert checked("  y = gemm(x, w.T) -> f32[M, N]\n  return y").stages
    assert refusals("  y = gemm(x, w.T) -> f32[N, M]\n  return y")[0].rule == "shape-mismatch"
    assert refusals("  t = w.T -> f32[N, M]\n  y = gemm(x, t)\n  return y")[0].rule == "shape-mismatch"
    assert refusals("  y = gemm(x, w.T) -> f32[M, Q]\n  return y")[0].rule == "symbol"


def test_a_cast_is_contiguous_whatever_it_reads() -> None:
    stage = checked("  v = cast(w.T, f32)\n  y = gemm(x, v)\n  return y").stages[0]
    assert stage.result.strides == (1024, 1)
    assert stage.operands[0].strides == (1, 256)


@pytest.mark.parametrize("tail", [">> relu()", ".threads(4)"])
def test_a_view_takes_no_chain_and_no_knob(tail: str) -> None:
    assert refusals(f"  t = w.T.reshape(4, 4){tail}\n  y = gemm(x, w.T)\n  return y")[0].rule in (
        "epilogue",
        "view",
    )
