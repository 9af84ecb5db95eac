"""relayout, pad and the pools: what they give, in which memory order, and what they refuse."""

from __future__ import annotations

import pytest

from kernels.dsl.ir import Stage
from kernels.dtypes import DType
from kernels.targets import Target
from tests.dsl.programs import checked, refusals, signature

PROBLEM = signature("x f32 2 3 8 10", "w f32 3 1 1", "out f32 2 3 8 10")
HEAD = "program p(x: f32[N, C, H, W], w: f32[C, 1, 1]) -> f32[N, C, H, W]\n  y = map(x)\n"
CHANNELS_LAST = "  c = relayout(x, channels_last)\n"
ROW_MAJOR_STRIDES = (240, 80, 10, 1)
CHANNELS_LAST_STRIDES = (240, 1, 30, 3)


def stage(call: str, first: str = "", target: Target = Target.HOST) -> Stage:
    """The last stage of a program that ends with ``call``."""
    return checked(f"{HEAD}{first}  r = {call}\n  return y", PROBLEM, target).stages[-1]


def error(call: str) -> str:
    (only,) = refusals(f"{HEAD}  r = {call}\n  return y", PROBLEM)
    return f"{only.rule}: {only.message}; {only.mend}"


@pytest.mark.parametrize("target", [Target.HOST, Target.SM90A])
@pytest.mark.parametrize(
    ("layout", "strides"),
    [
        ("row_major", ROW_MAJOR_STRIDES),
        ("channels_last", CHANNELS_LAST_STRIDES),
        ("column_major", (240, 80, 1, 8)),
    ],
)
def test_relayout_keeps_shape_and_type(layout: str, strides: tuple[int, ...], target: Target) -> None:
    made = stage(f"relayout(x, {layout})", target=target)
    assert (made.op, made.attributes) == ("relayout", {"layout": layout})
    assert made.result.shape == (2, 3, 8, 10)
    assert made.result.strides == strides
    assert made.result.dtype is DType.F32


def test_relayout_takes_any_strides() -> None:
    made = stage("relayout(x.T, row_major)")
    assert made.result.shape == (2, 3, 10, 8)
    assert made.result.contiguous


def test_pad_goes_from_the_last_dimension_to_the_first() -> None:
    made = stage("pad(x, (1, 2, 3, 4), value=-inf)")
    assert made.attributes == {"before": (0, 0, 3, 1), "after": (0, 0, 4, 2), "value": float("-inf")}
    assert made.result.shape == (2, 3, 15, 13)
    assert made.result.contiguous


@pytest.mark.parametrize("call", ["pad(c, (0, 1))", "max_pool2d(c, 2)", "avg_pool2d(c, 2) >> mul(w)"])
def test_the_result_lies_as_the_operand_does(call: str) -> None:
    assert stage(call.replace("(c", "(x")).result.contiguous
    made = stage(call, CHANNELS_LAST).result
    assert made.channels_last
    assert not made.contiguous


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        ("max_pool2d(x, 2)", (4, 5)),
        ("max_pool2d(x, 3, 2)", (3, 4)),
        ("max_pool2d(x, 3, stride=2, ceil_mode=true)", (4, 5)),
        ("max_pool2d(x, 3, 2, 1)", (4, 5)),
        ("max_pool2d(x, (2, 3), (1, 4), (1, 0), (3, 2))", (7, 2)),
        ("avg_pool2d(x, kernel=(8, 10))", (1, 1)),
        # A last window that would begin in the border behind is left out, as in torch.
        ("avg_pool2d(x, 2, 3, 1, true)", (3, 4)),
    ],
)
def test_pools_have_torchs_extents(call: str, shape: tuple[int, int]) -> None:
    made = stage(call)
    assert made.op == "pool"
    assert made.result.shape == (2, 3, *shape)
    assert made.attributes["output"] == shape
    assert (made.attributes["batch"], made.attributes["channels"], made.attributes["input"]) == (2, 3, (8, 10))


def test_a_stride_left_out_is_the_kernels() -> None:
    made = stage("avg_pool2d(x, (2, 5), padding=1)").attributes
    assert (made["kernel"], made["stride"], made["padding"]) == ((2, 5), (2, 5), (1, 1))
    assert (made["kind"], made["dims"], made["count_include_pad"]) == ("avg", 2, True)
    assert stage("avg_pool2d(x, 2, count_include_pad=false)").attributes["count_include_pad"] is False


def test_knobs_are_threads_and_vectors() -> None:
    for call in ("relayout(x, row_major)", "pad(x, (1, 1))", "max_pool2d(x, 2)"):
        assert stage(f"{call}.threads(128).vector(2)", target=Target.SM90A).knobs == {"threads": 128, "vector": 2}
    assert stage("pad(x, (1, 1)).threads(2)").knobs == {"threads": 2}


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("relayout(x, channel_last)", "did you mean 'channels_last'? write row_major, channels_last"),
        ("relayout(w.reshape(3), channels_last)", "is for 3 dimensions or more, and w.reshape(3) has 1"),
        ("relayout(x)", "relayout needs 'layout'"),
        ("pad(x, 5)", "(0, 5) or (1, 1, 2, 2)"),
        ("pad(x, (1, 2, 3))", "write a pair (before, after)"),
        ("pad(x, (0, -1))", "x.slice(dim, start, stop)"),
        ("pad(w.reshape(3), (1, 1, 1, 1))", "the padding has 2 pairs, and w.reshape(3) has 1 dimension(s)"),
        ("pad(x, (1, 1)) >> relu()", "next = map(r) >> relu(…)"),
        ("max_pool2d(x, 3, padding=2)", "1 here; for more, pad(x, …, value=-inf) first"),
        ("avg_pool2d(x, 3, padding=2)", "1 here; for more, pad(x, …, value=0) first"),
        ("max_pool2d(x, 9)", "the window reaches over 9 elements of dimension 2, and the padded input has 8"),
        ("max_pool2d(x, (2, 2, 2))", "or one for each of 2 dimensions"),
        ("max_pool2d(x, 2, stride=0)", "stride is at least 1"),
        ("max_pool2d(x, 2, ceil_mode=1)", "write ceil_mode=true or ceil_mode=false"),
        ("max_pool2d(x, 2, count_include_pad=true)", "max_pool2d has no argument 'count_include_pad'"),
        ("max_pool2d(x, 2, kernel=3)", "max_pool2d got 'kernel' twice"),
        ("avg_pool1d(x, 2)", "or use avg_pool2d"),
        ("avg_pool2d(x.T, 2)", "copy it first: c = map(x.T), or c = relayout(x.T, channels_last)"),
    ],
)
def test_what_is_wrong_is_told_with_what_would_be_right(call: str, told: str) -> None:
    assert told in error(call)


def test_a_border_of_integers_is_whole() -> None:
    problem = signature("x i32 4", "", "out i32 6")
    text = "program p(x: i32[N]) -> i32[6]\n  y = pad(x, (1, 1), value=0.5)\n  return y"
    (only,) = refusals(text, problem)
    assert only.mend == "write a whole number"


def test_pools_take_floats_alone() -> None:
    problem = signature("x i32 1 1 4", "", "out i32 1 1 2")
    text = "program p(x: i32[N, C, L]) -> i32[N, C, 2]\n  y = max_pool1d(x, 2)\n  return y"
    assert [each.rule for each in refusals(text, problem)] == ["target"]


GEMM = "program p(a: f16[M, K], b: f16[{b}]) -> f16[M, N]\n  y = gemm({call})\n  return y"


@pytest.mark.parametrize(
    ("b", "call", "shapes", "mend"),
    [
        ("N, K", "a, b.T", "a f16 64 100; b f16 64 100", "pad K to 104: ap = pad(a, (0, 4)), bp = pad(b, (0, 4))"),
        (
            "K, N",
            "a, b",
            "a f16 64 64; b f16 64 100",
            "pad N to 104: bp = pad(b, (0, 4)) (what the chain adds along N too), and keep y.slice(1, 0, 100)",
        ),
        (
            "K, N",
            "a, b",
            "a f16 64 100; b f16 100 64",
            "pad K to 104: ap = pad(a, (0, 4)), bp = pad(b, (0, 0, 0, 4))",
        ),
    ],
)
def test_unaligned_extents_come_with_the_line_that_pads_them(b: str, call: str, shapes: str, mend: str) -> None:
    columns = 100 if "N" in mend[:6] else 64
    errors = refusals(GEMM.format(b=b, call=call), signature(shapes, "", f"out f16 64 {columns}"), Target.SM90A)
    assert mend in [each.mend for each in errors]
