"""The ways to multiply FP32 data: what each costs in exactness, what a policy allows, and what is chosen."""

from __future__ import annotations

from math import log2
from pathlib import Path

import pytest

from kernels.dsl.maths import (
    PROMOTED,
    SPLITS,
    WAYS,
    allowed,
    allowed_words,
    copied,
    element_bytes,
    promoted,
    sums_type,
)
from kernels.dtypes import DType
from kernels.targets import Policy, Target
from sol.bounds.rates import EMULATED_F32, EMULATED_TF32
from tests.dsl.programs import checked, linear, linear_of, refusals

SM90A = Target.SM90A


def gemm(tail: str = "") -> str:
    return f"  y = gemm(x, w.T){tail}\n  return y"


def test_a_split_sums_its_smallest_products_first_and_leaves_out_the_smallest_of_all() -> None:
    assert SPLITS == ("tf32x3", "bf16x3", "bf16x6")
    for word in SPLITS:
        way = WAYS[word]
        orders = [first + second for first, second in way.products]
        assert orders == sorted(orders, reverse=True)
        assert set(way.products) == {(i, j) for i in range(way.parts) for j in range(way.parts - i)}
        assert len(way.products) == int(word[-1])


def test_the_number_of_products_is_that_of_the_bounds() -> None:
    assert len(WAYS["tf32x3"].products) == EMULATED_F32["tf32"]
    assert len(WAYS["bf16x6"].products) == EMULATED_F32["bf16"]
    assert len(WAYS["bf16x3"].products) == EMULATED_TF32["bf16"]


def test_each_policy_allows_what_its_error_class_covers() -> None:
    assert allowed_words(Policy.STRICT) == ["f32", "bf16x6", "tf32x3"]
    assert allowed_words(Policy.TF32) == ["f32", "bf16x6", "tf32x3", "bf16x3", "tf32"]
    assert set(allowed_words(Policy.HALF)) == set(WAYS)
    for policy in Policy:
        worst = max(WAYS[word].error for word in allowed_words(policy))
        refused = [way.error for word, way in WAYS.items() if not allowed(word, policy) and word != "f16"]
        assert all(error > worst for error in refused)


def test_only_what_is_rounded_or_split_is_copied() -> None:
    assert [word for word in WAYS if not copied(word, DType.F32)] == ["f32", "tf32"]
    assert not any(copied(word, DType.F16) for word in WAYS)
    assert (element_bytes("tf32x3"), element_bytes("bf16x6"), element_bytes("f8e4m3")) == (4, 2, 1)


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("word", WAYS)
def test_a_way_is_refused_where_the_policy_forbids_it_and_the_fast_legal_ones_are_named(
    word: str, policy: Policy
) -> None:
    if allowed(word, policy):
        assert checked(gemm(f".math({word})"), target=SM90A, policy=policy).stages[0].attributes["math"] == word
        return
    (error,) = refusals(gemm(f".math({word})"), target=SM90A, policy=policy)
    assert (error.rule, error.found) == ("precision", word)
    for legal in allowed_words(policy):
        assert legal == "f32" or f"math({legal})" in error.mend


@pytest.mark.parametrize("word", SPLITS)
def test_the_host_has_no_splits(word: str) -> None:
    (error,) = refusals(gemm(f".math({word})"))
    assert (error.rule, error.mend) == ("knob-value", "math takes f32 | bf16 | f16")


@pytest.mark.parametrize(
    ("sizes", "tail", "math"),
    [
        ((4096, 4096, 4096), "", "bf16x6"),
        ((1, 4096, 4096), "", "bf16x6"),
        ((512, 1024, 16), "", "bf16x6"),
        ((512, 4096, 15), "", "f32"),
        ((512, 4096, 1 << 14), "", "bf16x6"),
        ((512, 4096, (1 << 14) + 8), "", "f32"),
        ((64, 64, 64), "", "f32"),
        ((4096, 4094, 4096), "", "f32"),
        ((4096, 4096, 4095), "", "bf16x6"),
        ((4096, 4096, 4096), ".math(f32)", "f32"),
        ((1 << 16, 1 << 14, 1 << 14), "", "f32"),
    ],
)
def test_a_strict_run_splits_where_that_pays_and_is_legal(  # type: ignore[no-untyped-def]
    sizes, tail, math
) -> None:
    program = checked(gemm(tail), linear(*sizes), SM90A, Policy.STRICT)
    assert program.stages[0].attributes["math"] == math


def test_a_chain_that_no_epilogue_reads_keeps_a_strict_product_on_the_cuda_cores() -> None:
    body = "  i = cast(b, i32)\n" + gemm(" >> mul(i)")
    assert checked(body, target=SM90A, policy=Policy.STRICT).stages[1].attributes["math"] == "f32"


def test_sums_are_promoted_where_the_products_are_worth_it() -> None:
    assert PROMOTED == ("tf32x3", "bf16x6", "f8e4m3", "f8e5m2")
    assert promoted("bf16x6", "f32")
    assert not promoted("bf16x6", "fast")
    assert not promoted("bf16x3", "f32")
    assert (sums_type("fast"), sums_type("f16")) == (DType.F32, DType.F16)


def test_fast_sums_leave_room_for_a_wider_tile_and_are_no_knob_of_other_products() -> None:
    for acc, tile in ((".acc(f32)", [128, 128, 64]), (".acc(fast)", [128, 256, 64]), ("", [128, 256, 64])):
        knobs = checked(gemm(f".math(bf16x6){acc}"), linear(4096, 4096, 4096), SM90A).stages[0].knobs
        assert knobs["tile"] == tile
    (caution,) = checked(gemm(".math(tf32x3).tile(128, 256, 32).acc(f32)"), target=SM90A).warnings
    assert (caution.rule, "or write acc(fast)" in caution.message) == ("registers", True)
    assert checked(gemm(".math(tf32x3).tile(128, 256, 32).acc(fast)"), target=SM90A).warnings == ()
    (error,) = refusals(gemm(".math(tf32).acc(fast)"), target=SM90A)
    assert (error.rule, error.mend) == ("math", "write acc(f32)")


def test_the_documentation_tells_the_same_classes() -> None:
    text = (Path(__file__).parents[2] / "docs" / "concepts.md").read_text(encoding="utf-8")
    digits = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    for word, way in WAYS.items():
        (row,) = (line for line in text.splitlines() if line.startswith(f"| `{word}` |"))
        power = str(int(log2(way.error))).translate(digits)
        assert row.endswith(f"| 2{power} | {way.policy} |")


def test_f16_data_has_no_splits() -> None:
    half = "program p(x: f16[M, K], w: f16[N, K]) -> f16[M, N]\n"
    assert refusals(half + gemm(".math(bf16x3)"), linear_of("f16"), SM90A)[0].rule == "math"
