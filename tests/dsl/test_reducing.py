"""The link that reduces a product: its result's shape, where it may stand, and what each target says of it."""

from __future__ import annotations

import pytest

from kernels.dsl import CheckedProgram, ProgramErrors
from kernels.dsl.resources import epilogue_bytes
from kernels.targets import Policy, Target
from tests.dsl.programs import checked, refusals, signature

CARDS = [Target.SM80, Target.SM90A]
BATCH = signature("a f32 3 21 40; b f32 3 40 75", "", "out f32 3 21")


def _linear(link: str, *shape: int, knobs: str = "") -> CheckedProgram:
    extents = ", ".join(map(str, shape))
    head = f"program p(x: f32[M, K], w: f32[N, K], b: f32[N]) -> f32[{extents}]\n"
    problem = signature("x f32 512 256", "w f32 1024 256; b f32 1024", f"out f32 {' '.join(map(str, shape))}")
    return checked(f"{head}  y = gemm(x, w.T){knobs} >> bias(b) >> gelu() >> {link}\n  return y", problem)


@pytest.mark.parametrize(
    ("link", "shape"),
    [
        ("reduce(sum)", (512,)),
        ("reduce(mean, dim=1)", (512,)),
        ("reduce(max, dim=-2)", (1024,)),
        ("reduce(min, dim=0, keepdim=true)", (1, 1024)),
        ("reduce(sum, keepdim=true)", (512, 1)),
    ],
)
def test_the_result_lacks_the_reduced_dimension(link: str, shape: tuple[int, ...]) -> None:
    (stage,) = _linear(link, *shape).stages
    assert stage.result.shape == shape
    assert stage.result.contiguous
    assert stage.reduction is not None
    assert stage.reduction.text == link
    # The links in front work on the whole product.
    assert [step.text for step in stage.chain] == ["bias(b)", "gelu()"]
    assert (stage.attributes["m"], stage.attributes["n"]) == (512, 1024)


def test_a_product_without_it_has_no_reduction() -> None:
    (stage,) = checked("  y = gemm(x, w.T) >> relu()\n  return y").stages
    assert stage.reduction is None


def test_a_batch_keeps_its_first_dimension() -> None:
    text = "program p(a: f32[B, M, K], b: f32[B, K, N]) -> f32[B, M]\n  y = bmm(a, b) >> reduce(sum)\n  return y"
    (stage,) = checked(text, BATCH).stages
    assert stage.result.shape == (3, 21)
    assert stage.reduction is not None
    assert stage.reduction.axis == 2


@pytest.mark.parametrize(
    ("body", "rule", "mend"),
    [
        ("gemm(x, w.T) >> reduce(sum) >> relu()", "epilogue", "use the stage: r = reduce(y, sum)"),
        ("gemm(x, w.T) >> reduce(sum) >> reduce(max)", "epilogue", "use the stage: r = reduce(y, sum)"),
        ("map(x) >> reduce(sum, dim=0)", "epilogue", "use the stage: r = reduce(y, sum, dim=0)"),
        ("cast(x, f16) >> reduce(sum)", "epilogue", "use the stage: r = reduce(y, sum)"),
        ("gemm(x, w.T) >> reduce(summ)", "argument", "did you mean 'sum'?"),
        ("gemm(x, w.T) >> reduce(var)", "argument", "use the stage reduce(…, var)"),
        ("gemm(x, w.T) >> reduce(sum, dim=2)", "argument", "write dim=1 or dim=0"),
        ("gemm(x, w.T) >> reduce(sum, dims=1)", "argument", "write reduce(sum, dim=1, keepdim=false)"),
        ("gemm(x, w.T) >> reduce()", "argument", "write reduce(sum, dim=1, keepdim=false)"),
        ("gemm(x, w.T) >> reduce(sum, keepdim=1)", "argument", "write keepdim=true or keepdim=false"),
        ("gemm(x, w.T).split(2) >> reduce(sum)", "knob-value", "split takes 1"),
        ("gemm(x, w.T).tile(20, 512, 256).micro(8, 32) >> reduce(sum)", "tile", "write tile(24, 512, 256)"),
    ],
)
def test_what_does_not_stand_is_refused_with_a_mend(body: str, rule: str, mend: str) -> None:
    text = f"program p(x: f32[M, K], w: f32[N, K], b: f32[N]) -> f32[M]\n  y = {body}\n  return y"
    found = refusals(text, signature("x f32 512 256", "w f32 1024 256; b f32 1024", "out f32 512"))
    error = next(error for error in found if error.rule.startswith(rule))
    assert mend in error.mend
    assert error.line == 2


@pytest.mark.parametrize(("target", "math"), [(Target.SM80, "f32"), (Target.SM80, "tf32"), (Target.SM90A, "f32")])
def test_an_epilogue_that_does_not_reduce_names_the_stage(target: Target, math: str) -> None:
    text = f"""program p(x: f32[M, K], w: f32[N, K]) -> f32[M]
  y = gemm(x, w.T).math({math}) >> relu() >> reduce(sum, dim=1)
  return y"""
    (error,) = refusals(text, signature("x f32 512 256", "w f32 1024 256", "out f32 512"), target)
    assert error.rule == "epilogue"
    assert "use the stage: r = reduce(y, sum, dim=1)" in error.mend
    assert ("math(bf16x6)" in error.mend) == (target is Target.SM90A)


def test_the_stage_that_a_card_is_told_to_use_passes() -> None:
    text = """program p(x: f32[M, K], w: f32[N, K]) -> f32[M]
  y = gemm(x, w.T) >> relu()
  r = reduce(y, sum, dim=1)
  return r"""
    problem = signature("x f32 512 256", "w f32 1024 256", "out f32 512")
    assert all(checked(text, problem, target).outputs for target in CARDS)


def _hopper(
    dtype: str,
    out: int,
    *,
    knobs: str = "",
    dim: int = 1,
    n: int = 1024,
    b: str = "w.T",
    policy: Policy = Policy.HALF,
) -> CheckedProgram:
    w = "w: {0}[N, K]" if b == "w.T" else "w: {0}[K, N]"
    text = f"""program p(x: {dtype}[M, K], {w.format(dtype)}) -> {dtype}[{"M" if dim else "N"}]
  y = gemm(x, {b}){knobs} >> relu() >> reduce(sum, dim={dim})
  return y"""
    sides = f"{n} 256" if b == "w.T" else f"256 {n}"
    problem = signature(f"x {dtype} 512 256", f"w {dtype} {sides}", f"out {dtype} {out}")
    return checked(text, problem, Target.SM90A, policy)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("schedule", ["auto", "cooperative", "pingpong"])
def test_the_tensor_cores_of_hopper_reduce(schedule: str, dim: int, dtype: str) -> None:
    (stage,) = _hopper(
        dtype, 512 if dim else 1024, knobs=f".tile(128, 128, 32).schedule({schedule})", dim=dim
    ).stages
    assert stage.reduction is not None
    assert stage.result.shape == (512 if dim else 1024,)


@pytest.mark.parametrize(("k", "math"), [(256, "bf16x6"), (8, "f32")])
def test_a_strict_program_is_split_for_it_where_the_sums_stay_those_of_f32(k: int, math: str) -> None:
    # As a product that is stored it is too small for that: it would be multiplied as it is.
    text = """program p(x: f32[M, K], w: f32[N, K]) -> f32[M]
  y = gemm(x, w.T) >> reduce(sum)
  return y"""
    problem = signature(f"x f32 64 {k}", f"w f32 96 {k}", "out f32 64")
    if math == "bf16x6":
        assert checked(text, problem, Target.SM90A, Policy.STRICT).stages[0].attributes["math"] == math
    else:
        assert "multiplied by math(f32)" in refusals(text, problem, Target.SM90A, Policy.STRICT)[0].message


def test_a_product_that_is_not_stored_may_have_rows_of_any_length() -> None:
    assert _hopper("f16", 512, n=333).outputs
    with pytest.raises(ProgramErrors, match="N = 333 is the contiguous extent of y"):
        checked(
            "program p(x: f16[M, K], w: f16[N, K]) -> f16[M, N]\n  y = gemm(x, w.T)\n  return y",
            signature("x f16 512 256", "w f16 333 256", "out f16 512 333"),
            Target.SM90A,
        )


def test_stream_k_is_refused_since_it_may_end_a_tile_in_parts() -> None:
    with pytest.raises(ProgramErrors, match="cooperative or pingpong in front of a reduction"):
        _hopper("f16", 512, knobs=".schedule(streamk)")


@pytest.mark.parametrize(
    ("dim", "n", "mend"),
    [
        (0, 96, "128, 64"),
        (1, 96, ""),
        (0, 136, "128, 128"),
        (0, 240, "128, 192"),
        (0, 192, ""),
        (0, 56, ""),
        (0, 64, ""),
    ],
)
def test_lanes_share_the_rows_of_a_tile_evenly(dim: int, n: int, mend: str) -> None:
    # Of an N-major b the n of a tile may be any multiple of 8.
    def made() -> CheckedProgram:
        return _hopper("f16", 512 if dim else 1024, knobs=f".tile(128, {n}, 64)", dim=dim, b="w")

    if not mend:
        assert made().outputs
    else:
        with pytest.raises(ProgramErrors, match=rf"write tile\({mend}, 64\)"):
            made()


def test_a_transposed_product_s_rows_are_the_program_s_columns() -> None:
    with pytest.raises(ProgramErrors, match="in steps of 64"):
        _hopper("f32", 512, knobs=".tile(128, 96, 32)", b="w", policy=Policy.TF32)
    assert _hopper("f32", 1024, knobs=".tile(128, 96, 32)", b="w", dim=0, policy=Policy.TF32).outputs


def test_warps_meet_in_memory_of_f32_and_c_has_its_own() -> None:
    def shared(tail: str, out: str) -> int:
        text = f"""program p(x: f16[M, K], w: f16[N, K], r: f32[M, N]) -> f16[{out}]
  y = gemm(x, w.T).tile(128, 256, 64) >> add(r){tail}
  return y"""
        extents = {"M": "512", "M, N": "512 1024"}[out]
        problem = signature("x f16 512 256", "w f16 1024 256; r f32 512 1024", f"out f16 {extents}")
        return epilogue_bytes(checked(text, problem, Target.SM90A).stages[0])

    part = 128 * 32
    assert shared("", "M, N") == 2 * part * 2 + 4 * part * 4
    assert shared(" >> reduce(sum)", "M") == 2 * part * 4 + 4 * part * 4
