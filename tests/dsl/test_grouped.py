"""grouped_gemm: its results, its knobs, and what is refused of its operands and its chain."""

from __future__ import annotations

import pytest

from kernels.dsl.grouped import MOST, members
from kernels.problems.inspection import Signature
from kernels.targets import Policy, Target
from tests.dsl.programs import checked, refusals, signature

SM90A = Target.SM90A


def two(dtype: str = "f32", sizes: tuple[int, ...] = (100, 96, 64, 33, 128, 40)) -> Signature:
    """a[m, k], b[k, n] and c[l, j], d[p, j]."""
    m, n, k, rows, columns, j = sizes
    tensors = f"a {dtype} {m} {k}; b {dtype} {k} {n}; c {dtype} {rows} {j}; d {dtype} {columns} {j}; t {dtype} {n}"
    return signature(tensors, "", f"y {dtype} {m} {n}; z {dtype} {rows} {columns}")


def program(stage: str, dtype: str = "f32") -> str:
    head = f"a: {dtype}[M, K], b: {dtype}[K, N], c: {dtype}[L, J], d: {dtype}[P, J], t: {dtype}[N]"
    return f"program p({head}) -> {dtype}[M, N], {dtype}[L, P]\n  y = {stage}\n  return y.0, y.1"


PAIR = "grouped_gemm([a, c], [b, d.T])"


@pytest.mark.parametrize("target", [Target.HOST, SM90A])
def test_each_product_has_a_result_of_its_own(target: Target) -> None:
    (stage,) = checked(program(f"{PAIR} >> relu() >> scale(2)"), two(), target).stages
    assert [(value.name, value.shape) for value in stage.results] == [("y.0", (100, 96)), ("y.1", (33, 128))]
    assert stage.attributes["sizes"] == ((100, 96, 64), (33, 128, 40))
    assert [value.name for value in stage.operands] == ["a", "b", "c", "d.T"]
    first, second = members(stage)
    assert (first.op, first.operands, second.result.name) == ("gemm", stage.operands[:2], "y.1")
    assert second.attributes["k"] == 40


def test_one_product_is_called_by_the_stages_own_name() -> None:
    text = (
        program("grouped_gemm([a], [b])")
        .replace("-> f32[M, N], f32[L, P]", "-> f32[M, N]")
        .replace("y.0, y.1", "y")
    )
    problem = two()
    alone = Signature(problem.inputs, (), problem.outputs[:1], {})
    assert checked(text, alone).outputs[0].name == "y"


@pytest.mark.parametrize(
    ("policy", "sizes", "math"),
    [
        (Policy.STRICT, (100, 96, 64, 33, 128, 40), "bf16x6"),
        (Policy.TF32, (100, 96, 64, 33, 128, 40), "bf16x3"),
        (Policy.HALF, (100, 96, 64, 33, 128, 41), "bf16x3"),
    ],
)
def test_f32_data_is_multiplied_in_a_way_that_every_layout_takes(  # type: ignore[no-untyped-def]
    policy, sizes, math
) -> None:
    assert checked(program(PAIR), two(sizes=sizes), SM90A, policy).stages[0].attributes["math"] == math


def test_tf32_is_chosen_where_all_operands_are_k_major() -> None:
    text = program("grouped_gemm([a, c], [b.T, d.T])").replace("b: f32[K, N]", "b: f32[N, K]")
    problem = signature(
        "a f32 8 64; b f32 96 64; c f32 33 40; d f32 128 40; t f32 96", "", "y f32 8 96; z f32 33 128"
    )
    assert checked(text, problem, SM90A, Policy.TF32).stages[0].attributes["math"] == "tf32"


@pytest.mark.parametrize(
    ("stage", "rule"),
    [
        ("grouped_gemm(a, b)", "argument-error"),
        ("grouped_gemm([a, c], [b])", "argument-error"),
        ("grouped_gemm([], [])", "argument-error"),
        ("grouped_gemm([a, c], [b, d])", "shape-mismatch"),
        ("grouped_gemm([a, t], [b, d.T])", "shape-mismatch"),
        (f"{PAIR} >> bias(t)", "epilogue"),
    ],
)
@pytest.mark.parametrize("target", [Target.HOST, SM90A])
def test_what_is_no_group_of_products_is_refused(stage: str, rule: str, target: Target) -> None:
    assert {error.rule for error in refusals(program(stage), two(), target)} == {rule}


def test_there_is_a_most_of_products() -> None:
    def many(count: int) -> str:
        names = ", ".join(["a"] * count), ", ".join(["b"] * count)
        head = "program p(a: f32[8, 8], b: f32[8, 8]) -> f32[8, 8]\n"
        return f"{head}  y = grouped_gemm([{names[0]}], [{names[1]}])\n  return y.0"

    problem = signature("a f32 8 8; b f32 8 8", "", "y f32 8 8")
    assert len(checked(many(MOST), problem).stages[0].results) == MOST
    assert refusals(many(MOST + 1), problem)[0].mend == f"as many of both, 1 to {MOST}"


@pytest.mark.parametrize(
    ("stage", "dtype", "rule", "mend"),
    [
        (PAIR, "f16", "layout", "copy it: c = map(d.T)"),
        (
            "grouped_gemm([a, c], [b, d.T]).math(tf32)",
            "f32",
            "layout",
            "copy it: c = map(b.T), and write c.T, or write",
        ),
        ("grouped_gemm([a, c], [b, d.T]).math(f32)", "f32", "knob-value", "math takes tf32 | f16"),
        ("grouped_gemm([a, c], [b, d.T]).schedule(streamk)", "f32", "knob-value", "auto | cooperative | pingpong"),
        ("grouped_gemm([a, c], [b, d.T]).tile(128, 100, 64)", "f32", "tile", "multiple of 8"),
        ("grouped_gemm([a, c], [b, d.T]).tile(256, 256, 64)", "f32", "registers", "fits"),
    ],
)
def test_sm90a_refuses_what_its_collective_cannot(stage: str, dtype: str, rule: str, mend: str) -> None:
    errors = refusals(program(stage, dtype), two(dtype), SM90A)
    assert errors[0].rule == rule
    assert mend in errors[0].mend


def test_every_products_extents_must_be_aligned() -> None:
    text = program("grouped_gemm([a, c], [b, d.T])")
    found = refusals(text, two(sizes=(100, 94, 64, 33, 126, 40)), SM90A)
    assert [(error.rule, error.found) for error in found] == [("alignment", "94"), ("alignment", "126")]


def test_sm80_has_none() -> None:
    (error,) = refusals(program(PAIR), two(), Target.SM80)
    assert error.rule == "target"
