"""Defaults, messages and cautions of sm_80; that each rule trips and passes is in test_rules."""

from __future__ import annotations

import pytest

from kernels.dsl.ir import Stage
from kernels.dsl.sm80_loads import legal_stages, operand_lanes
from kernels.dsl.sm80_resources import block_bytes, blocks_an_sm, stage_bytes, threads
from kernels.problems.inspection import Signature
from kernels.targets import Policy, Target
from tests.dsl.programs import cautions, checked, linear, linear_of, refusals, signature

SM80 = Target.SM80


def gemm(tail: str = "") -> str:
    return f"  y = gemm(x, w.T){tail}\n  return y"


def half(tail: str = "", dtype: str = "f16") -> str:
    return f"program p(x: {dtype}[M, K], w: {dtype}[N, K]) -> {dtype}[M, N]\n{gemm(tail)}"


def stage(
    text: str = gemm(), problem: Signature | None = None, policy: Policy = Policy.HALF
) -> Stage:  # fmt: skip
    return checked(text, problem, SM80, policy).stages[0]


@pytest.mark.parametrize(
    ("text", "problem", "policy", "tile", "warps", "stages", "math"),
    [
        (half(), linear_of("f16", 4096, 4096, 4096), Policy.HALF, [128, 256, 32], [2, 4], 4, "f16"),
        (half(dtype="bf16"), linear_of("bf16", 2048, 1024, 512), Policy.HALF, [128, 128, 32], [2, 2], 4, "bf16"),
        (half(), linear_of("f16", 100, 100, 100), Policy.HALF, [64, 64, 32], [2, 2], 4, "f16"),
        (half(), linear_of("f16", 100, 100, 101), Policy.HALF, [64, 64, 32], [2, 2], 2, "f16"),
        (gemm(), linear(4096, 4096, 4096), Policy.TF32, [128, 256, 16], [2, 4], 4, "tf32"),
        (gemm(), linear(4096, 4096, 4096), Policy.STRICT, [128, 64, 16], [2, 2], 4, "tf32x3"),
        (gemm(), linear(64, 64, 64), Policy.STRICT, [128, 128, 8], [2, 2], 2, "f32"),
    ],
)
def test_knobs_left_out_follow_sizes_types_and_policy(
    text: str, problem: Signature, policy: Policy, tile: list[int], warps: list[int], stages: int, math: str
) -> None:
    knobs = stage(text, problem, policy).knobs
    assert (knobs["tile"], knobs["warps"], knobs["stages"], knobs["math"]) == (tile, warps, stages, math)
    assert (knobs["shared"], knobs["split"], knobs["schedule"], knobs["swizzle"]) == (99, 1, "auto", 8)


def test_what_is_written_stays_and_the_rest_follows_it() -> None:
    made = stage(gemm(".tile(128, 256, 32).shared(163)"))
    assert made.knobs["stages"] == 3
    assert made.knobs["warps"] == [2, 4]
    assert made.written == {"tile", "shared"}


@pytest.mark.parametrize("auto", ["", ".stages(auto)"])
def test_stages_left_to_the_checker_are_as_many_as_fit_up_to_four(auto: str) -> None:
    assert stage(gemm(f".tile(64, 64, 16){auto}")).knobs["stages"] == 4
    assert stage(half(f".tile(128, 256, 64).warps(2, 4){auto}"), linear_of("f16")).knobs["stages"] == 2


def test_102400_bytes_are_refused_where_101376_exist_with_both_numbers() -> None:
    error = refusals(half(".tile(256, 64, 32).stages(5)"), linear_of("f16"), SM80)[0]
    assert error.message == "5 stages need 102,400 bytes of shared memory, and a block has 101,376"
    assert error.mend.startswith("stages(4) fits, and shared(163) does where the card is an A100")
    assert error.column == 37


def test_stages_left_to_the_checker_that_do_not_fit_are_refused_with_both_numbers() -> None:
    error = refusals(gemm(".tile(128, 256, 32)"), None, SM80)[0]
    assert error.rule == "shared-memory"
    assert "3 stages need 147,456 bytes of shared memory, and a block has 101,376" in error.message
    assert error.mend.startswith("a smaller tile than (128, 256, 32), and shared(163) does")


def test_an_a100_has_163_kib_and_no_more() -> None:
    error = refusals(gemm(".tile(128, 256, 32).shared(163).stages(4)"), None, SM80)[0]
    assert "196,608" in error.message
    assert "166,912" in error.message
    assert error.mend == "stages(3) fits"


def test_what_needs_the_larger_memory_is_a_caution_that_names_the_cards() -> None:
    program = checked(gemm(".tile(128, 256, 32).shared(163)"), target=SM80)
    assert cautions(program) == ["shared-memory"]
    assert "147,456" in program.warnings[0].message
    assert "sm_86 and sm_89 have 101,376" in program.warnings[0].message
    assert cautions(checked(gemm(".shared(163)"), target=SM80)) == []


def test_any_extents_are_legal_and_narrow_loads_are_a_caution() -> None:
    program = checked(half(), linear_of("f16", 1, 105, 107), SM80)
    assert cautions(program) == ["alignment", "alignment"]
    assert "x is loaded 1 element(s) at a time, as its K, strides and offset allow" in program.warnings[0].message
    assert cautions(checked(half(), linear_of("f16", 1471, 256, 512), SM80)) == []


def test_loads_are_as_wide_as_extent_pitch_batch_and_offset_allow() -> None:
    def lanes(body: str, k: int = 256) -> tuple[int, ...]:
        made = stage(body, linear(k=k))
        return tuple(operand_lanes(value) for value in made.operands)

    assert lanes(gemm()) == (4, 4)
    assert lanes(gemm(), 254) == (2, 2)
    assert lanes("  y = gemm(x.slice(1, 4, 132), w.slice(1, 0, 128).T)\n  return y") == (4, 4)
    assert lanes("  y = gemm(x.slice(1, 2, 130), w.slice(1, 0, 128).T)\n  return y") == (2, 4)


def test_the_pipeline_follows_from_what_is_loaded() -> None:
    assert legal_stages(stage().operands) == (3, 16)
    assert legal_stages(stage(half(), linear_of("f16", k=98)).operands) == (2, 16)
    assert legal_stages(stage(half(), linear_of("f16", k=99)).operands) == (2, 2)


def test_a_batch_past_the_grid_is_refused_with_its_limit() -> None:
    text = "program p(x: f32[B, M, K], w: f32[B, K, N]) -> f32[B, M, N]\n  y = bmm(x, w){0}\n  return y"
    many = signature("x f32 65536 8 8; w f32 65536 8 8", "", "out f32 65536 8 8")
    error = refusals(text.format(""), many, SM80)[0]
    assert error.message == "a batch of 65536 gives a grid of 65536 blocks in z, and a card takes 65535"
    assert "math(f32)" in error.mend
    assert checked(text.format(".math(f32)"), many, SM80).stages


def test_stream_k_of_a_tile_that_no_sm_can_hold_is_refused() -> None:
    error = refusals(half(".tile(256, 256, 32).schedule(streamk)"), linear_of("f16"), SM80)[0]
    assert error.rule == "registers"
    assert "no block fits on an SM" in error.message
    assert error.mend == "write tile(256, 128, 32)"


def test_the_mend_for_warps_is_legal_itself() -> None:
    error = refusals(gemm(".tile(128, 32, 16).warps(8, 1)"), None, SM80)[0]
    assert error.mend == "warps(4, 1) fits"
    assert stage(gemm(".tile(128, 32, 16).warps(4, 1)")).knobs["warps"] == [4, 1]


def test_sizes_of_a_block_are_those_of_compiled_kernels() -> None:
    wide = stage(half(".tile(256, 128, 32).warps(4, 2).stages(2)"), linear_of("f16"))
    assert (threads(wide), stage_bytes(wide)) == (256, 384 * 32 * 2)
    assert block_bytes(wide) == 49_152
    deep = stage(half(".tile(128, 128, 64).stages(3).acc(f16)"), linear_of("f16"))
    assert block_bytes(deep) == 98_304
    assert blocks_an_sm(deep) == 2


@pytest.mark.parametrize(
    ("knobs", "word"),
    [(".split(4).schedule(streamk)", "streamk"), (".split(32)", "split(32) makes 16 part(s)")],
)
def test_divisions_that_do_nothing_are_cautions(knobs: str, word: str) -> None:
    program = checked(gemm(f".tile(64, 64, 16){knobs}"), target=SM80)
    assert cautions(program) == ["knob-ignored"]
    assert word in program.warnings[0].message


def test_a_batched_product_has_no_split() -> None:
    text = "program p(x: f32[B, M, K], w: f32[B, K, N]) -> f32[B, M, N]\n  y = bmm(x, w).split(2)\n  return y"
    program = checked(text, signature("x f32 8 64 64; w f32 8 64 64", "", "out f32 8 64 64"), SM80)
    assert cautions(program) == ["knob-ignored"]
    assert "bmm has no knob split on sm_80" in program.warnings[0].message


def test_the_plain_kernel_says_which_knobs_it_does_not_read() -> None:
    program = checked(gemm(".math(f32).warps(2, 2).stages(4)"), target=SM80)
    assert cautions(program) == ["knob-ignored", "knob-ignored"]


def test_knobs_of_sm_90a_are_ignored_with_a_caution() -> None:
    assert cautions(checked(gemm(".cluster(2, 1).raster(m)"), target=SM80)) == ["knob-ignored", "knob-ignored"]
