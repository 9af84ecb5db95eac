from __future__ import annotations

from typing import Any

import pytest

from kernels.dsl.knobs import KNOBS, knob_rows
from kernels.dsl.simd import AVX2, AVX512, BASELINE, NEON, Simd, detect, from_flags
from kernels.targets import Policy, Target
from tests.dsl.programs import cautions, checked, linear, linear_of, refusals, signature


def knobs(body: str, target: Target = Target.HOST, simd: Simd = AVX512, **sizes: int) -> dict[str, Any]:
    return checked(body, linear(**sizes), target, Policy.TF32, simd).stages[0].knobs


def gemm(tail: str = "") -> str:
    return f"  y = gemm(x, w.T){tail}\n  return y"


@pytest.mark.parametrize("target", list(KNOBS))
def test_every_knob_of_a_stage_is_filled_in(target: Target) -> None:
    program = checked("  v = map(w)\n  c = cast(v, f32)\n  y = gemm(x, c.T)\n  return y", target=target)
    for stage in program.stages:
        assert set(stage.knobs) == set(knob_rows(stage.op, target))
        assert stage.written == frozenset()


def test_host_defaults_are_plain_values() -> None:
    assert knobs(gemm(), m=512, n=2048, k=1024) == {
        "tile": [132, 1024, 256],
        "micro": [12, 32],
        "stages": 3,
        "threads": 0,
        "split": 1,
        "math": "f32",
        "acc": "f32",
        "out": "f32",
    }


def test_what_is_written_stays_and_is_marked() -> None:
    stage = checked(gemm(".tile(48, 64, 32).threads(2).stages(auto).split(4)")).stages[0]
    assert stage.knobs["tile"] == [48, 64, 32]
    assert stage.knobs["threads"] == 2
    assert stage.knobs["split"] == 4
    assert stage.written == {"tile", "threads", "split"}


def test_auto_leaves_any_knob_to_its_default() -> None:
    assert knobs(gemm(".tile(auto).micro(auto).math(auto)")) == knobs(gemm())


def test_a_list_may_stand_for_several_numbers() -> None:
    assert knobs(gemm(".tile([48, 64, 32])"))["tile"] == [48, 64, 32]


@pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 7, 3), (130, 300, 4096), (4096, 4096, 4096), (3, 50_000, 17)])
@pytest.mark.parametrize("simd", [AVX512, AVX2, NEON, BASELINE])
def test_host_tiles_hold_whole_register_tiles_and_fit_the_cache(sizes: tuple[int, int, int], simd: Simd) -> None:
    m, n, k = sizes
    made = knobs(gemm(), simd=simd, m=m, n=n, k=k)
    tile, micro = made["tile"], made["micro"]
    assert micro[1] % simd.lanes == 0
    assert tile[0] % micro[0] == 0
    assert tile[1] % micro[1] == 0
    assert tile[1] * tile[2] * 4 <= 2**20
    assert tile[0] < m + micro[0]
    assert tile[1] < n + micro[1]


def test_few_rows_are_read_in_place() -> None:
    few = "program p(x: f32[M, K], w: f32[K, N]) -> f32[M, N] y = gemm(x, w) return y"
    problem = signature("x f32 4 256", "w f32 256 512", "out f32 4 512")
    assert checked(few, problem).stages[0].knobs["stages"] == 1
    assert knobs(gemm(), m=4)["stages"] == 2


def test_doubles_get_half_as_wide_a_register_tile() -> None:
    stage = checked(
        "program p(x: f64[M, K], w: f64[N, K]) -> f64[M, N] y = gemm(x, w.T) return y", linear_of("f64")
    ).stages[0]
    assert (stage.knobs["micro"], stage.knobs["acc"], stage.knobs["out"]) == ([12, 16], "f64", "f64")


def test_sm90a_fills_the_card_before_it_takes_large_tiles() -> None:
    large = knobs(gemm(), Target.SM90A, m=4096, n=4096, k=4096)
    small = knobs(gemm(), Target.SM90A, m=256, n=256, k=4096)
    assert (large["tile"], large["schedule"], large["cluster"]) == ([128, 256, 32], "cooperative", [2, 1])
    assert (small["tile"], small["schedule"]) == ([64, 128, 32], "pingpong")


def test_sm90a_multiplies_f32_as_the_policy_allows() -> None:
    strict = checked(gemm(), target=Target.SM90A, policy=Policy.STRICT).stages[0]
    assert strict.attributes["math"] == "bf16x6"
    assert strict.knobs["tile"][2] == 64
    small = checked(gemm(), linear(64, 64, 64), Target.SM90A, Policy.STRICT).stages[0]
    assert small.attributes["math"] == "f32"
    assert small.knobs["tile"] == [128, 128, 8]
    assert checked(gemm(), target=Target.SM90A, policy=Policy.HALF).stages[0].attributes["math"] == "tf32"
    half = "program p(x: f16[M, K], w: f16[N, K]) -> f16[M, N] y = gemm(x, w.T) return y"
    stage = checked(half, linear_of("f16"), Target.SM90A, Policy.STRICT).stages[0]
    assert (stage.attributes["math"], stage.knobs["out"], stage.knobs["tile"][2]) == ("f16", "f16", 64)


def test_a_knob_of_another_target_is_ignored_with_a_caution() -> None:
    program = checked(gemm(".micro(6, 16).tile(64, 64, 32)"), target=Target.SM90A)
    assert cautions(program) == ["knob-ignored"]
    assert "micro" not in program.stages[0].knobs


BAD_VALUES = """tile(1, 2); tile(0, 1, 1); tile(1.5, 2, 3); tile(M, 1, 1); tile(1, 2, 99999); micro(x, 1); threads(65)
stages(0); stages(); split(0); math(f8); math(3); acc(f16); out(i32); math("f32"); threads(-1)"""


@pytest.mark.parametrize("knob", BAD_VALUES.replace("\n", "; ").split("; "))
def test_values_outside_the_table_are_refused_with_the_legal_ones(knob: str) -> None:
    errors = refusals(gemm(f".{knob}"))
    assert [error.rule for error in errors] == ["knob-value"]
    name = knob.partition("(")[0]
    assert errors[0].mend == f"{name} takes {knob_rows('gemm', Target.HOST)[name].legal}"


def test_an_unknown_knob_names_those_of_the_stage() -> None:
    error = refusals("  v = map(w).tile(1, 2, 3)\n" + gemm())[0]
    assert (error.rule, error.mend) == ("unknown-knob", "its knobs are threads, vector")
    assert refusals("  v = torch.relu(w).threads(4)\n" + gemm())[0].mend == "its knobs are none"


@pytest.mark.parametrize(
    ("flags", "simd"),
    [
        ("avx2 fma avx512f", AVX512),
        ("avx2 fma", AVX2),
        ("avx2", BASELINE),
        ("fp asimd", NEON),
        ("sse2", BASELINE),
    ],
)
def test_the_vector_unit_is_told_by_the_cpu_s_flags(flags: str, simd: Simd) -> None:
    assert from_flags(frozenset(flags.split())) == simd


def test_this_machine_has_a_vector_unit() -> None:
    assert detect().lanes >= 4
    assert detect() is detect()
