"""Convolutions on sm_90a: what goes to the tensor cores, what is refused there with which mend, and the defaults."""

from __future__ import annotations

import pytest

from kernels.dsl.errors import DslError
from kernels.dsl.ir import CheckedProgram, Stage
from kernels.problems.inspection import Signature
from kernels.targets import Policy, Target
from tests.dsl.programs import cautions, checked, refusals, signature

X, W = "8 64 32 32", "64 64 3 3"
TURNED = "  xl = relayout(x, channels_last)\n  wl = relayout(w, channels_last) @once\n"


def program(
    body: str, x: str = X, w: str = W, out: str = X, dtype: str = "f32", policy: Policy = Policy.HALF
) -> CheckedProgram:
    """A program of x and w whose stages are ``body``; the last is ``y``."""
    return checked(*_parts(body, x, w, out, dtype), Target.SM90A, policy)


def errors(body: str, x: str = X, w: str = W, out: str = X, dtype: str = "f32") -> tuple[DslError, ...]:
    return refusals(*_parts(body, x, w, out, dtype), Target.SM90A)


def _parts(body: str, x: str, w: str, out: str, dtype: str) -> tuple[str, Signature]:
    shapes = [f"{dtype}[{', '.join(shape.split())}]" for shape in (x, w, out)]
    text = f"program p(x: {shapes[0]}, w: {shapes[1]}) -> {shapes[2]}\n{body}\n  return y\n"
    return text, signature(f"x {dtype} {x}", f"w {dtype} {w}", f"out {dtype} {out}")


def last(made: CheckedProgram) -> Stage:
    return made.stages[-1]


def test_without_a_knob_any_convolution_is_legal() -> None:
    for policy in Policy:
        for dtype in ("f32", "f16", "bf16"):
            made = program("  y = conv2d(x, w, padding=1)", dtype=dtype, policy=policy)
            assert last(made).attributes["math"] == "f32"
            assert last(made).result.contiguous


def test_channels_last_operands_go_to_the_tensor_cores() -> None:
    made = last(program(TURNED + "  y = conv2d(xl, wl, padding=1)"))
    assert made.attributes["math"] == "tf32"
    assert made.result.channels_last
    half = last(program(TURNED + "  y = conv2d(xl, wl, padding=1)", dtype="f16"))
    assert (half.attributes["math"], half.knobs["tile"][2]) == ("f16", 64)


def test_the_schedule_follows_the_length_of_the_sum() -> None:
    body = TURNED + "  y = conv2d(xl, wl, padding=1)"
    wide = ("32 64 56 56", "128 64 3 3", "32 128 56 56", "f16")
    assert last(program(body, *wide)).knobs["schedule"] == "pingpong"
    deep = ("32 512 56 56", "128 512 3 3", "32 128 56 56", "f16")
    assert last(program(body, *deep)).knobs["schedule"] == "cooperative"
    assert last(program(body + ".tile(128, 256, 64)", *wide)).knobs["schedule"] == "cooperative"
    assert last(program(body + ".tile(192, 64, 64)", *wide)).knobs["schedule"] == "pingpong"


def test_few_channels_have_tiles_that_share_the_filters_loads() -> None:
    body = TURNED + "  y = conv2d(xl, wl)"
    knobs = last(program(body, "4 16 1024 1024", "128 16 3 3", "4 128 1022 1022", "f16")).knobs
    assert (knobs["tile"], knobs["cluster"], knobs["schedule"]) == ([256, 128, 64], [2, 1], "cooperative")
    # Five taps of sixteen channels in each row of the kernel are two steps.
    longer = last(program(body, "4 16 1024 1024", "128 16 3 5", "4 128 1022 1020", "f16")).knobs
    assert (longer["tile"], longer["schedule"]) == ([128, 128, 64], "pingpong")


def test_an_odd_number_of_many_tiles_shares_loads_as_well() -> None:
    body = TURNED + "  y = conv2d(xl, wl)"
    many = last(program(body, "17 64 131 131", "64 64 3 3", "17 64 129 129", "f16"))
    few = last(program(body, "3 64 131 131", "64 64 3 3", "3 64 129 129", "f16"))
    assert -(-17 * 129 * 129 // 128) % 2 == -(-3 * 129 * 129 // 128) % 2 == 1
    assert (many.knobs["cluster"], few.knobs["cluster"]) == ([2, 1], [1, 1])


def test_the_plain_kernel_is_a_caution_that_names_the_mend() -> None:
    made = program("  y = conv2d(x, w, padding=1)")
    assert cautions(made) == ["math"]
    assert "relayout(x, channels_last)" in made.warnings[0].message
    assert cautions(program("  y = conv2d(x, w, padding=1).math(f32)")) == []
    assert cautions(program("  y = conv2d(x, w, padding=1)", policy=Policy.STRICT)) == []


def test_three_channels_are_padded() -> None:
    body = TURNED + "  y = conv2d(xl, wl, padding=1).math({0})"
    found = errors(body.format("tf32"), "8 3 32 32", "64 3 3 3")
    assert [error.rule for error in found] == ["alignment", "alignment"]
    assert "pad C of both to 4, p = pad(xl, (0, 0, 0, 0, 0, 1))" in found[0].mend
    assert "(0, 0, 0, 0, 0, 5)" in errors(body.format("f16"), "8 3 32 32", "64 3 3 3", dtype="f16")[0].mend
    padded = "  a = pad(x, (0, 0, 0, 0, 0, 1))\n  b = pad(w, (0, 0, 0, 0, 0, 1))\n"
    turned = "  xl = relayout(a, channels_last)\n  wl = relayout(b, channels_last)\n"
    made = program(padded + turned + "  y = conv2d(xl, wl, padding=1).math(tf32)", "8 3 32 32", "64 3 3 3")
    assert cautions(made) == []


def test_other_layouts_are_turned() -> None:
    found = errors("  y = conv2d(x, w, padding=1).math(tf32)")
    assert [error.rule for error in found] == ["layout", "layout", "layout"]
    assert "relayout(x, channels_last)" in found[0].mend
    assert "relayout(w, channels_last) @once" in found[1].mend
    assert "layout(channels_last)" in found[2].mend


def test_f32_that_is_rounded_is_copied_and_may_lie_in_any_way() -> None:
    made = last(program("  y = conv2d(x, w, padding=1).math(f16)", "8 3 32 32", "64 3 3 3"))
    assert made.result.channels_last
    assert made.knobs["tile"][2] == 16


@pytest.mark.parametrize(
    ("body", "x", "w", "out", "why"),
    [
        ("conv2d(x, w, padding=1, groups=4)", X, "64 16 3 3", X, "one group"),
        ("conv_transpose2d(x, w, stride=2)", X, "64 8 2 2", "8 8 64 64", "stride of a transposed"),
        ("conv2d(xl, wl, stride=9)", X, "64 64 5 5", "8 64 4 4", "step by at most 8"),
        ("conv3d(xl, wl, dilation=16)", "1 16 33 33 33", "16 16 3 3 3", "1 16 1 1 1", "3 dimensions see 16"),
        ("conv_transpose2d(xl, w, padding=3)", X, W, "8 64 28 28", "padding takes away more"),
    ],
)
def test_what_the_loads_cannot_do_takes_the_plain_kernel(body: str, x: str, w: str, out: str, why: str) -> None:
    turned = "".join(f"  {name}l = relayout({name}, channels_last)\n" for name in "xw" if f"{name}l" in body)
    found = errors(f"{turned}  y = {body}.math(tf32)", x, w, out)
    assert [error.rule for error in found] == ["math"]
    assert why in found[0].message
    assert found[0].mend == "write math(f32)"
    made = program(f"{turned}  y = {body}", x, w, out)
    assert last(made).attributes["math"] == "f32"
    assert why in made.warnings[0].message


def test_the_im2col_limits_just_pass() -> None:
    plain = [
        (TURNED + "  y = conv2d(xl, wl, stride=8)", X, "64 64 5 5", "8 64 4 4"),
        (TURNED + "  y = conv3d(xl, wl, dilation=15)", "1 16 31 31 31", "16 16 2 2 2", "1 16 16 16 16"),
        ("  xl = relayout(x, channels_last)\n  y = conv_transpose2d(xl, w, padding=2)", X, W, "8 64 30 30"),
    ]
    assert [last(program(*case)).attributes["math"] for case in plain] == ["tf32"] * 3


def test_filters_must_be_aligned() -> None:
    found = errors(TURNED + "  y = conv2d(xl, wl, padding=1).math(tf32)", w="10 64 3 3", out="8 10 32 32")
    assert [error.rule for error in found] == ["alignment"]
    assert "K = 10" in found[0].message
    assert "to 12" in found[0].mend


def test_the_chain_reads_rows_of_pixels() -> None:
    body = TURNED + "  y = conv2d(xl, wl, padding=1).math(tf32) >> add({0})"
    found = errors(body.format("x"))
    assert [error.rule for error in found] == ["epilogue"]
    assert "relayout(x, channels_last)" in found[0].mend
    assert program(body.format("xl")).outputs
    assert program(body.replace(".math(tf32)", "").format("x")).stages[-1].attributes["math"] == "f32"


def test_tiles_follow_the_rules_of_a_product() -> None:
    body = TURNED + "  y = conv2d(xl, wl, padding=1){0}"
    assert errors(body.format(".tile(96, 64, 32).schedule(cooperative)"))[0].rule == "tile"
    assert errors(body.format(".tile(64, 64, 32).schedule(cooperative)"))[0].rule == "schedule"
    assert errors(body.format(".tile(128, 256, 64).stages(5)"))[0].rule == "shared-memory"
    assert program(body.format(".tile(128, 64, 32).schedule(streamk)")).outputs
    assert program(body.format(".tile(128, 64, 8)")).outputs


def test_im2col_takes_whole_rows_of_shared_memory() -> None:
    body = TURNED + "  y = conv2d(xl, wl, padding=1).math(f16).tile(128, 64, {0})"
    found = errors(body.format(48), dtype="f16")
    assert [error.rule for error in found] == ["tile"]
    assert found[0].mend == "k is 16, 32, 64 or 128"
    assert program(body.format(32), dtype="f16").outputs
    narrow = TURNED + "  y = conv2d(xl, wl, padding=1).tile(128, 8, 64)"
    assert errors(narrow, dtype="f16")[0].mend == "write stages(4), or tile(128, 16, 64)"
    assert program(narrow + ".stages(4)", dtype="f16").outputs


def test_the_plain_tile_is_shared_by_256_threads() -> None:
    body = "  y = conv2d(x, w, padding=1).math(f32).tile({0})"
    assert errors(body.format("128, 256, 8"))[0].rule == "tile"
    assert program(body.format("256, 16, 8")).outputs
    ignored = program("  y = conv2d(x, w, padding=1).math(f32).cluster(2, 1)")
    assert cautions(ignored) == ["knob-ignored"]


def test_narrow_types_may_be_multiplied_plainly() -> None:
    assert last(program("  y = conv2d(x, w, padding=1).math(f32)", dtype="bf16")).attributes["math"] == "f32"
    assert errors(TURNED + "  y = conv2d(xl, wl, padding=1).math(tf32)", dtype="f16")[0].rule == "math"


def test_strict_runs_may_not_round() -> None:
    text, problem = _parts(TURNED + "  y = conv2d(xl, wl, padding=1).math(tf32)", X, W, X, "f32")
    assert refusals(text, problem, Target.SM90A, Policy.STRICT)[0].rule == "precision"
