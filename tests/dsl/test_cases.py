"""Real cases that a checker must get right, one a test: refused before any compiler runs, or accepted as it is."""

from __future__ import annotations

import pytest

from kernels.codegen import emit
from kernels.problems.inspection import Signature
from kernels.targets import Policy, Target
from tests.dsl.programs import cautions, checked, linear_of, refusals, signature

SM90A = Target.SM90A
HALF = "program p(x: f16[M, K], w: f16[N, K], b: f16[N]) -> f16[M, N]\n"


def gemm(tail: str = "") -> str:
    return f"{HALF}  y = gemm(x, w.T){tail}\n  return y"


def batch(dtype: str, count: int) -> Signature:
    return signature(f"a {dtype} {count} 8 16; b {dtype} {count} 16 8", "", f"y {dtype} {count} 8 8")


def test_odd_f16_extents_are_refused_with_k_and_n_named() -> None:
    errors = refusals(gemm(), linear_of("f16", m=1, n=105, k=107), SM90A)
    assert {error.rule for error in errors} == {"alignment"}
    messages = " | ".join(error.message for error in errors)
    assert "K = 107 is the contiguous extent of x" in messages
    assert "K = 107 is the contiguous extent of w.T" in messages
    assert "N = 105 is the contiguous extent of y" in messages
    assert "M = 1" not in messages


def test_an_odd_m_is_no_contiguous_extent_of_row_major_data() -> None:
    program = checked(gemm(), linear_of("f16", m=1471, n=256, k=512), SM90A)
    assert cautions(program) == []
    row_major = "program p(x: f16[M, K], w: f16[K, N]) -> f16[M, N]\n  y = gemm(x, w)\n  return y"
    assert checked(row_major, signature("x f16 1471 512", "w f16 512 256", "o f16 1471 256"), SM90A).stages


@pytest.mark.parametrize(
    ("head", "body", "dtype", "legal"),
    [
        ("x: f16[M, K], w: f16[N, K]", "gemm(x, w.T)", "f16", True),
        ("x: f32[M, K], w: f32[N, K]", "gemm(x, w.T).math(tf32)", "f32", True),
        ("x: f32[M, K], w: f32[N, K]", "gemm(x, w.T).math(bf16x6)", "f32", True),
        ("x: f8e4m3[M, K], w: f8e4m3[N, K]", "gemm(x, w.T)", "f8e4m3", False),
        ("x: f32[K, M], w: f32[N, K]", "gemm(x.T, w.T).math(tf32)", "f32", False),
    ],
)
def test_a_tile_of_48_along_k_is_refused_where_no_instruction_takes_it(
    head: str, body: str, dtype: str, legal: bool
) -> None:
    out = "f32" if dtype == "f8e4m3" else dtype
    text = f"program p({head}) -> {out}[M, N]\n  y = {body}.tile(128, 128, 48)\n  return y"
    x = "512 256" if "x: f32[K, M]" not in head else "256 512"
    problem = signature(f"x {dtype} {x}", f"w {dtype} 1024 256", f"o {out} 512 1024")
    if legal:
        assert checked(text, problem, SM90A).stages
    else:
        assert [error.rule for error in refusals(text, problem, SM90A)] == ["tile"]


def test_stream_k_without_room_for_a_block_is_refused_with_the_reason() -> None:
    errors = refusals(gemm(".tile(256, 256, 32).schedule(streamk)"), linear_of("f16"), SM90A)
    assert [error.rule for error in errors] == ["registers"]
    assert "no block fits on an SM, and stream-K needs one that does" in errors[0].message
    assert checked(gemm(".tile(256, 128, 32).schedule(streamk)"), linear_of("f16"), SM90A).stages


@pytest.mark.parametrize("count", [65_535, 65_536, 1_000_000])
def test_a_batch_of_any_size_is_legal_where_blocks_take_tiles_in_turn(count: int) -> None:
    text = "program p(a: f16[B, M, K], b: f16[B, K, N]) -> f16[B, M, N]\n  y = bmm(a, b)\n  return y"
    assert checked(text, batch("f16", count), SM90A).stages


def test_the_plain_kernel_launches_a_large_batch_in_pieces_of_the_grids_limit() -> None:
    text = "program p(a: f32[B, M, K], b: f32[B, K, N]) -> f32[B, M, N]\n  y = bmm(a, b).math(f32)\n  return y"
    program = checked(text, batch("f32", 65_536), SM90A, Policy.STRICT)
    source = emit(program).units[0].source
    assert "first < p.matrices; first += 65535" in source


def test_c_is_never_read_where_beta_is_0() -> None:
    source = emit(checked(gemm(" >> bias(b)"), linear_of("f16"), SM90A)).units[0].source
    assert "    void, cutlass::layout::RowMajor, 8," in source
    assert "nullptr, {n, _1{}, m * n}, static_cast<cutlass::half_t*>(y)" in source


def test_tf32_with_an_m_major_operand_is_legal_at_a_price() -> None:
    problem = signature("x f32 256 512", "w f32 1024 256", "o f32 512 1024")
    text = "program p(x: f32[K, M], w: f32[N, K]) -> f32[M, N]\n  y = gemm(x.T, w.T).math(tf32)\n  return y"
    program = checked(text, problem, SM90A, Policy.TF32)
    assert cautions(program) == ["major-ness"]
    assert "x.T is not K-major" in program.warnings[0].message


@pytest.mark.parametrize(("tail", "turned"), [("gemm(x.T, w.T)", "x.T"), ("gemm(y, v)", "v")])
def test_f8_is_read_k_major_alone_and_the_mend_says_how(tail: str, turned: str) -> None:
    head = "program p(x: f8e4m3[K, M], w: f8e4m3[N, K], y: f8e4m3[M, K], v: f8e4m3[K, N]) -> f32[M, N]\n"
    problem = signature("x f8e4m3 64 32; w f8e4m3 48 64; y f8e4m3 32 64; v f8e4m3 64 48", "", "o f32 32 48")
    (error,) = refusals(f"{head}  z = {tail}\n  return z", problem, SM90A)
    assert (error.rule, error.mend.split(",")[0]) == (
        "major-ness",
        "copy it: c = map(x.T)" if turned == "x.T" else "copy it: c = map(v.T)",
    )
    legal = f"{head}  c = map({turned if turned == 'x.T' else 'v.T'})\n"
    legal += "  z = gemm(c, w.T)\n  return z" if turned == "x.T" else "  z = gemm(y, c.T)\n  return z"
    assert checked(legal, problem, SM90A).stages


def test_wide_tiles_of_f8_spill_and_are_a_caution() -> None:
    text = "program p(x: f8e5m2[M, K], w: f8e5m2[N, K]) -> f32[M, N]\n  y = gemm(x, w.T){0}\n  return y"
    problem = signature("x f8e5m2 512 256", "w f8e5m2 1024 256", "o f32 512 1024")
    program = checked(text.format(".tile(128, 256, 64)"), problem, SM90A)
    assert cautions(program) == ["registers"]
    assert cautions(checked(text.format(""), problem, SM90A)) == []
