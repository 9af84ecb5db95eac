"""Messages and cautions of the rules about targets; that each rule trips and passes is in test_rules."""

from __future__ import annotations

import pytest

from kernels.dsl.resources import SHARED_MEMORY_SM90A, epilogue_bytes, settled_stages, stage_bytes, store_stages
from kernels.dsl.simd import AVX2
from kernels.targets import Policy, Target
from tests.dsl.programs import cautions, checked, linear, linear_of, refusals, signature

SM90A = Target.SM90A
NN = "program p(x: f32[M, K], w: f32[K, N]) -> f32[M, N]\n"
TN = "program p(x: f32[K, M], w: f32[K, N]) -> f32[M, N]\n"
TT = "program p(x: f32[K, M], w: f32[N, K]) -> f32[M, N]\n"
PLAIN = signature("x f32 512 256", "w f32 256 1024", "out f32 512 1024")
TURNED = signature("x f32 256 512", "w f32 256 1024", "out f32 512 1024")
BOTH = signature("x f32 256 512", "w f32 1024 256", "out f32 512 1024")
PAIRS = {
    "KK": ("  y = gemm(x, w.T){0}\n  return y", None),
    "KN": (NN + "  y = gemm(x, w){0}\n  return y", PLAIN),
    "MK": (TT + "  y = gemm(x.T, w.T){0}\n  return y", BOTH),
    "MN": (TN + "  y = gemm(x.T, w){0}\n  return y", TURNED),
}
"""By the contiguous sides of a and b: a body that takes knobs, and its problem."""


def gemm(tail: str = "") -> str:
    return f"  y = gemm(x, w.T){tail}\n  return y"


def test_only_contiguous_extents_must_be_aligned() -> None:
    assert checked(gemm(), linear(m=1471, n=256, k=512), SM90A).stages


@pytest.mark.parametrize(
    ("sizes", "found", "mend"),
    [
        ({"n": 1022}, 1022, "pad N to 1024"),
        ({"k": 254}, 254, "pad K to 256"),
    ],
)
def test_an_alignment_error_names_the_extent_and_the_mend(sizes: dict[str, int], found: int, mend: str) -> None:
    error = refusals(gemm(), linear(**sizes), SM90A)[0]
    assert error.rule == "alignment"
    assert str(found) in error.message
    assert mend in error.mend
    assert "math(f32)" in error.mend


def test_f16_needs_multiples_of_eight() -> None:
    half = "program p(x: f16[M, K], w: f16[N, K]) -> f16[M, N]\n" + gemm()
    assert checked(half, linear_of("f16", k=248), SM90A).stages
    assert refusals(half, linear_of("f16", k=252), SM90A)[0].mend == (
        "pad K to 256: xp = pad(x, (0, 4)), wp = pad(w, (0, 4))"
    )


def test_a_slice_that_begins_off_a_16_byte_boundary_is_refused() -> None:
    body = "  y = gemm(x.slice(1, {0}, {1}), w.slice(1, 0, 128).T)\n  return y"
    assert checked(body.format(4, 132), linear(), SM90A).stages
    error = refusals(body.format(2, 130), linear(), SM90A)[0]
    assert "begins at element 2 of x" in error.message


@pytest.mark.parametrize("math", ["f16", "bf16", "tf32x3", "bf16x3", "bf16x6"])
def test_operands_that_are_copied_in_front_may_lie_in_any_way(math: str) -> None:
    assert checked(gemm(f".math({math})"), linear(k=253), SM90A).stages
    (error,) = refusals(gemm(f".math({math})"), linear(k=253, n=1022), SM90A)
    assert (error.rule, error.found) == ("alignment", "1022")
    cube = signature("x f32 64 64 64", "", "out f32 64 64")
    body = "  a = x.permute(0, 2, 1).select(0, 0)\n  s = x.select(2, 0)\n  y = gemm(s, a)"
    text = f"program p(x: f32[A, B, C]) -> f32[A, C]\n{body}.math({math})\n  return y"
    assert checked(text, cube, SM90A).stages


def test_tf32_operands_that_are_not_k_major_are_a_caution() -> None:
    program = checked(
        NN + "  y = gemm(x, w)\n  return y", signature("x f32 512 256", "w f32 256 1024", "o f32 512 1024"), SM90A
    )
    assert cautions(program) == ["major-ness"]
    assert "w is not K-major" in program.warnings[0].message
    assert cautions(checked(gemm(), target=SM90A)) == []


def test_two_operands_that_are_not_k_major_take_a_tile_of_32() -> None:
    body = TN + "  y = gemm(x.T, w).tile(128, 128, {0})\n  return y"
    assert checked(body.format(32), TURNED, SM90A).stages
    error = refusals(body.format(64), TURNED, SM90A)[0]
    assert (error.rule, error.mend) == ("major-ness", "write tile(128, 128, 32)")


@pytest.mark.parametrize(
    ("pair", "knobs", "rules"),
    [
        *[("KK", f"tile(128, 128, {k})", []) for k in (8, 16, 24, 48)],
        *[(pair, f"tile(128, 128, {k})", ["tile"]) for pair in ("KN", "MK") for k in (8, 16, 24, 48)],
        *[(pair, f"tile(128, 128, {k})", []) for pair in ("KN", "MK") for k in (32, 64)],
        *[(pair, f"tile(128, 128, {k}).math(f16)", []) for pair in PAIRS for k in (16, 48)],
        ("KN", "tile(128, 128, 12)", ["tile"]),
        ("MN", "tile(128, 128, 16)", ["major-ness"]),
        *[("MN", f"tile(128, {n}, 32)", ["tile"]) for n in (8, 16, 24, 48)],
        *[("MN", f"tile(128, {n}, 32)", []) for n in (32, 96)],
        *[(pair, f"tile(128, {n}, 32)", []) for pair in ("KN", "MK") for n in (8, 16, 32)],
        ("MN", "tile(128, 16, 64).math(f16)", []),
        ("KN", "tile(128, 96, 32).cluster(8, 1)", ["cluster"]),
        ("KN", "tile(128, 96, 32).cluster(4, 1)", []),
        *[
            ("KN", f"tile(128, {n}, 32).cluster({m}, 1)", ["cluster"])
            for n, m in ((8, 2), (8, 4), (16, 4), (16, 8), (32, 8))
        ],
        *[
            ("MK", f"tile(128, {n}, 32).cluster({m}, 1)", ["cluster"])
            for n, m in ((8, 2), (16, 4), (16, 8), (32, 16))
        ],
        *[("MK", f"tile(128, {n}, 32).cluster({m}, 1)", ["cluster"]) for n, m in ((96, 8), (160, 8))],
        *[(pair, "tile(128, 48, 32).cluster(4, 1)", ["tile", "cluster"]) for pair in ("KN", "MK")],
        ("KN", "tile(128, 16, 32).cluster(2, 1)", []),
        ("KN", "tile(64, 128, 32).cluster(1, 16)", []),
        ("KN", "tile(128, 12, 32)", ["tile"]),
        ("MN", "tile(128, 96, 32).cluster(8, 1)", []),
    ],
)
def test_tf32_tiles_follow_the_contiguous_sides(pair: str, knobs: str, rules: list[str]) -> None:
    body, problem = PAIRS[pair]
    text = body.format(f".{knobs}")
    if rules:
        assert [error.rule for error in refusals(text, problem, SM90A)] == rules
    else:
        assert checked(text, problem, SM90A).stages


@pytest.mark.parametrize(
    ("pair", "knobs", "column", "mend"),
    [
        ("KN", ".tile(128, 96, 48)", 17, "write tile(128, 96, 64), or a K-major operand"),
        ("MN", ".tile(128, 16, 32)", 19, "write tile(128, 32, 32); n is a multiple of 32"),
        ("KN", ".cluster(8, 1).tile(128, 96, 32)", 17, "make n of tile a multiple of 64, or write cluster(1, 1)"),
    ],
)
def test_a_tile_that_cannot_be_turned_is_told_at_its_knob(pair: str, knobs: str, column: int, mend: str) -> None:
    body, problem = PAIRS[pair]
    error = refusals(body.format(knobs), problem, SM90A)[0]
    assert (error.line, error.column, error.mend) == (2, column, mend)


@pytest.mark.parametrize("pair", PAIRS)
def test_only_a_k_major_with_b_n_major_is_said_to_be_multiplied_transposed(pair: str) -> None:
    body, problem = PAIRS[pair]
    messages = " ".join(caution.message for caution in checked(body.format(""), problem, SM90A).warnings)
    assert ("multiplied transposed, at no extra copy" in messages) == (pair == "KN")


def test_the_waste_of_a_transposed_product_is_counted_on_the_exchanged_grid() -> None:
    knobs = ".tile(128, 256, 32).cluster{0}"
    for pair, wasteful, whole in (("KK", (1, 8), (4, 1)), ("KN", (1, 4), (8, 1))):
        body, problem = PAIRS[pair]
        program = checked(body.format(knobs.format(wasteful)), problem, SM90A)
        assert "50 % of it idles" in next(c.message for c in program.warnings if c.rule == "cluster")
        assert "cluster" not in cautions(checked(body.format(knobs.format(whole)), problem, SM90A))


def test_the_default_tile_and_cluster_of_a_transposed_product_are_those_of_the_transposed_problem() -> None:
    problem = signature("x f32 192 256", "w f32 256 1024", "out f32 192 1024")
    few = signature("x f32 64 256", "w f32 256 8192", "out f32 64 8192")
    knobs = checked(PAIRS["KN"][0].format(".tile(64, 64, 32)"), problem, SM90A).stages[0].knobs
    assert knobs["cluster"] == [2, 1]
    straight = checked(PAIRS["KK"][0].format(".tile(64, 64, 32)"), linear(192, 1024, 256), SM90A).stages[0].knobs
    assert straight["cluster"] == [1, 2]
    turned = checked(PAIRS["KN"][0].format(""), few, SM90A)
    assert (turned.stages[0].knobs["tile"], turned.stages[0].knobs["cluster"]) == ([64, 64, 32], [2, 1])
    assert cautions(turned) == ["major-ness"]


def test_the_mend_for_too_much_shared_memory_is_legal_itself() -> None:
    body, problem = PAIRS["MK"]
    error = refusals(body.format(".tile(128, 256, 96)"), problem, SM90A)[0]
    assert (error.rule, error.mend) == ("shared-memory", "tile(128, 256, 32) takes less")
    assert checked(body.format(".tile(128, 256, 32)"), problem, SM90A).stages


def test_shared_memory_errors_show_both_numbers() -> None:
    error = refusals(gemm(".tile(128, 256, 32).stages(5)"), linear(), SM90A)[0]
    need = 5 * ((128 + 256) * 32 * 4 + 16) + 2 * 128 * 32 * 4
    assert f"{need:,}" in error.message
    assert f"{SHARED_MEMORY_SM90A:,}" in error.message
    assert error.mend == "stages(4) fits"
    assert (error.line, error.column) == (2, 38)


def test_stages_left_to_the_compiler_must_leave_room_for_two() -> None:
    error = refusals(gemm(".tile(256, 128, 128)"), linear(), SM90A)[0]
    assert error.rule == "shared-memory"
    assert error.mend == "tile(256, 128, 64) takes half of it"


def test_the_epilogue_s_memory_counts_its_source() -> None:
    body = "  r = map(w.slice(0, 0, 512) * 1)\n  y = gemm(x, w.T).tile(128, 128, 32){0}\n  return y"
    plain = checked(body.format(""), target=SM90A).stages[1]
    added = checked(
        "  r = gemm(x, w.T)\n  y = gemm(x, w.T).tile(128, 128, 32) >> add(r)\n  return y", target=SM90A
    ).stages[1]
    assert epilogue_bytes(plain) == 2 * 128 * 32 * 4
    assert epilogue_bytes(added) == 4 * 128 * 32 * 4
    assert stage_bytes(plain) == 256 * 32 * 4 + 16


@pytest.mark.parametrize(
    ("knobs", "stores"),
    [
        # 4 stages of 48 KB leave 35 KB, parts of a half result take 8 KB, of a float 16 KB.
        (".tile(128, 256, 64).out(f16)", 4),
        (".tile(128, 256, 64).out(f16).schedule(streamk)", 4),
        (".tile(128, 256, 64).out(f16).stages(4)", 4),
        (".tile(128, 128, 64).out(f16).schedule(pingpong)", 0),
        (".tile(128, 256, 64)", 0),
        (".tile(128, 256, 64).stages(3)", 4),
        # Of 64 rows two warp groups take turns; of so few columns there are no four parts.
        (".tile(64, 256, 64).out(f16)", 0),
        (".tile(128, 64, 64).out(f16)", 0),
        (".tile(128, 256, 64).out(f16) >> add(r)", 0),
        # A vector of 256 floats takes 1 KB, and there is room for one.
        (".tile(128, 256, 64).out(f16) >> bias(b)", 4),
        (".tile(128, 256, 64).out(f16) >> bias(b) >> mul(b)", 0),
    ],
)
def test_four_parts_of_a_result_leave_at_once_where_no_stage_goes_for_them(knobs: str, stores: int) -> None:
    result = "f16" if ".out(f16)" in knobs else "f32"
    knobs += "" if result == "f16" else ".out(f32)"
    head, vector = "program p(x: f16[M, K], w: f16[N, K]", "; b f32 512" if "bias" in knobs else ""
    problem = signature("x f16 512 512", f"w f16 512 512{vector}", f"out {result} 512 512")
    head += ", b: f32[N])" if vector else ")"
    other = "  r = gemm(x, w.T)\n" if "add(r)" in knobs else ""
    text = f"{head} -> {result}[M, N]\n{other}  y = gemm(x, w.T){knobs}\n  return y\n"
    assert store_stages(checked(text, problem, SM90A).stages[-1]) == stores


def test_cluster_waste_is_a_caution_with_its_percentage() -> None:
    program = checked(gemm(".tile(128, 256, 32).cluster(1, 8)"), target=SM90A)
    assert cautions(program) == ["cluster"]
    assert "50 %" in program.warnings[0].message


@pytest.mark.parametrize(
    ("knobs", "rules"),
    [
        ("tile(128, 8, 32).cluster(2, 1)", []),
        ("tile(128, 16, 32).cluster(2, 1)", []),
        ("tile(128, 16, 32).cluster(8, 1)", []),
        ("tile(64, 16, 32).cluster(16, 1)", []),
        ("tile(64, 96, 32).cluster(16, 1)", []),
        ("tile(128, 8, 32).cluster(16, 1)", ["cluster"]),
        ("tile(128, 96, 32).cluster(8, 1)", []),
        ("tile(64, 128, 32).cluster(1, 16)", []),
        ("tile(64, 128, 32).cluster(1, 8)", []),
        *[(f"tile(128, 8, 32).stages({count})", []) for count in (2, 4, 8, 12)],
        *[(f"tile(128, 8, 32).stages({count})", ["stages"]) for count in (3, 6, 7)],
        *[(f"tile(128, 16, 32).stages({count})", []) for count in (2, 6, 12)],
        ("tile(128, 16, 32).stages(5)", ["stages"]),
        ("tile(128, 8, 64).stages(5)", ["stages"]),
        ("tile(128, 8, 64).stages(6)", []),
        ("tile(128, 8, 64).math(f16).stages(5)", ["stages"]),
        ("tile(128, 16, 64).math(f16).stages(5)", []),
        ("tile(128, 16, 16).math(f16).stages(6)", []),
        ("tile(128, 40, 32)", ["tile"]),
        ("tile(128, 48, 32)", ["tile"]),
        ("tile(128, 160, 32)", []),
        ("tile(128, 48, 64).math(f16)", []),
        ("tile(128, 40, 64).math(f16)", ["tile"]),
        ("tile(128, 80, 48).math(f16)", []),
    ],
)
def test_tiles_are_legal_where_they_were_seen_to_compile(knobs: str, rules: list[str]) -> None:
    if rules:
        assert [error.rule for error in refusals(gemm(f".{knobs}"), target=SM90A)] == rules
    else:
        assert checked(gemm(f".{knobs}"), target=SM90A).stages


def test_the_stages_of_a_small_tile_are_settled_where_cutlass_would_take_too_many() -> None:
    program = checked(gemm(".tile(128, 8, 32)"), target=SM90A)
    assert settled_stages(program.stages[0]) == 12
    assert settled_stages(checked(gemm(".tile(128, 8, 32).stages(4)"), target=SM90A).stages[0]) == 0
    assert settled_stages(checked(gemm(".tile(128, 128, 32)"), target=SM90A).stages[0]) == 0


def test_n_major_16_bit_tiles_may_have_any_width() -> None:
    problem = signature("x f32 512 256", "w f32 256 1024", "o f32 512 1024")
    halves = signature("x f16 512 256", "w f16 256 1024", "o f16 512 1024")
    body = NN + "  y = gemm(x, w).tile(128, {0}, {1}).math({2})\n  return y"
    assert checked(body.format(72, 64, "f16").replace("f32", "f16"), halves, SM90A).stages
    assert refusals(body.format(80, 32, "tf32"), problem, SM90A)[0].rule == "tile"
    assert refusals(body.format(72, 64, "f16"), problem, SM90A)[0].rule == "tile", "copies are K-major"


def test_a_cluster_of_sixteen_is_legal_and_not_portable() -> None:
    assert cautions(checked(gemm(".tile(128, 64, 32).cluster(4, 4)"), target=SM90A)) == ["cluster"]


@pytest.mark.parametrize(
    ("tile", "rule"),
    [
        ("tile(96, 128, 32)", "tile"),
        ("tile(192, 128, 32).schedule(cooperative)", "tile"),
        ("tile(64, 128, 32).schedule(streamk)", "schedule"),
        ("tile(64, 260, 32)", "tile"),
        ("tile(64, 12, 32)", "tile"),
        ("tile(64, 24, 32)", "tile"),
        ("tile(64, 128, 12)", "tile"),
        ("tile(128, 256, 32).schedule(pingpong)", "registers"),
    ],
)
def test_tiles_follow_the_schedule(tile: str, rule: str) -> None:
    assert [error.rule for error in refusals(gemm(f".{tile}"), target=SM90A)] == [rule]


@pytest.mark.parametrize(
    "tile",
    ["tile(192, 128, 32).schedule(pingpong)", "tile(256, 128, 32).schedule(streamk)", "tile(64, 256, 8)"],
)
def test_unusual_tiles_that_work_are_legal(tile: str) -> None:
    assert checked(gemm(f".{tile}"), target=SM90A).stages


def test_the_plain_kernel_says_which_knobs_it_does_not_read() -> None:
    program = checked(gemm(".tile(64, 64, 16).cluster(2, 1).math(f32)"), linear(n=1022, k=255), SM90A)
    assert cautions(program) == ["knob-ignored"]
    assert "cluster is ignored" in program.warnings[0].message


def test_register_tiles_are_those_of_the_cpu() -> None:
    assert checked(gemm(".micro(6, 16)"), simd=AVX2).stages
    error = refusals(gemm(".micro(7, 16)"), simd=AVX2)[0]
    assert (error.rule, error.mend) == ("registers", "micro(6, 16) fits")
    assert refusals(gemm(".micro(6, 12)"), simd=AVX2)[0].mend == "write micro(6, 16)"
    assert refusals(gemm(".micro(1, 256)"), simd=AVX2)[0].mend == "write micro(6, 16)"


def test_host_blocks_have_a_largest_size() -> None:
    assert refusals(gemm(".tile(12, 65536, 65536)"))[0].rule == "tile"


def test_f8_has_no_code_on_any_target() -> None:
    problem = signature("x f8e4m3 8 16; w f8e4m3 8 16", "", "out f8e4m3 8 8")
    text = "program p(x: f8e4m3[M, K], w: f8e4m3[M, K]) -> f8e4m3[M, M] y = gemm(x, w.T) return y"
    assert refusals(text, problem)[0].rule == "target"


@pytest.mark.parametrize(
    ("body", "policy", "target", "found"),
    [
        ("  h = cast(x, f16)\n", Policy.STRICT, Target.HOST, "f16"),
        ("  h = cast(x, bf16)\n", Policy.TF32, Target.HOST, "bf16"),
        ("  h = cast(x, i8)\n", Policy.HALF, Target.HOST, "i8"),
        ("  h = torch.foo(x) -> f16[1]\n", Policy.STRICT, Target.HOST, "f16"),
        ("  h = gemm(x, w.T).out(f16)\n", Policy.STRICT, Target.HOST, "f16"),
        ("  h = gemm(x, w.T).math(bf16)\n", Policy.TF32, Target.HOST, "bf16"),
        ("  h = gemm(x, w.T).math(f16).acc(f16)\n", Policy.TF32, SM90A, "f16"),
    ],
)
def test_the_policy_is_named_where_it_is_broken(body: str, policy: Policy, target: Target, found: str) -> None:
    errors = refusals(body + gemm(), target=target, policy=policy)
    assert {error.rule for error in errors} == {"precision"}
    assert f"the policy is {policy}" in errors[0].message
    assert found in {error.found for error in errors}


def test_types_of_the_problem_itself_are_always_allowed() -> None:
    problem = signature("x f32 8 16", "w f16 8 16", "out f32 8 8")
    text = "program p(x: f32[M, K], w: f16[N, K]) -> f32[M, N] h = cast(x, f16) y = gemm(h, w.T).out(f32) return y"
    assert checked(text, problem, policy=Policy.STRICT).stages


def test_integers_may_be_cast_to_whatever_holds_them() -> None:
    problem = signature("i i64 8", "", "out f32 8")
    assert checked("program p(i: i64[N]) -> f32[N] j = cast(i, u8) y = cast(j, f32) return y", problem).stages


def test_rounded_products_on_the_host_are_a_caution() -> None:
    program = checked(gemm(".math(bf16)"))
    assert cautions(program) == ["math"]
    assert program.stages[0].attributes["math"] == "bf16"


def test_half_operands_are_multiplied_as_they_are() -> None:
    half = "program p(x: f16[M, K], w: f16[N, K]) -> f16[M, N]\n"
    assert refusals(half + gemm(".math(bf16)"), linear_of("f16"))[0].rule == "math"
    assert refusals(half + gemm(".math(tf32)"), linear_of("f16"), SM90A)[0].rule == "math"
    assert checked(half + gemm(".math(f16).acc(f16)"), linear_of("f16"), SM90A).stages
