"""Convolution stages: what they read, what they give, and how wrong ones are told."""

from __future__ import annotations

import pytest

from kernels.dsl.ir import Apply, Load, Stage
from tests.dsl.programs import checked, refusals, signature

PROBLEM = signature(
    "x f32 2 4 9 9", "w f32 6 4 3 3; g f32 6 2 3 3; t f32 4 5 3 3; b f32 6; h f16 6 4 3 3", "out f32 2 4 9 9"
)
HEAD = (
    "program p(x: f32[N, C, H, W], w: f32[6, 4, 3, 3], g: f32[6, 2, 3, 3], t: f32[4, 5, 3, 3], b: f32[6], "
    "h: f16[6, 4, 3, 3]) -> f32[N, C, H, W]\n  y = map(x)\n"
)


def stage(call: str) -> Stage:
    return checked(f"{HEAD}  r = {call}\n  return y", PROBLEM).stages[-1]


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        ("conv2d(x, w)", (2, 6, 7, 7)),
        ("conv2d(x, w, padding=same)", (2, 6, 9, 9)),
        ("conv2d(x, w, stride=(2, 1), padding=(0, 1))", (2, 6, 4, 9)),
        ("conv2d(x, w, dilation=2)", (2, 6, 5, 5)),
        ("conv2d(x, g, groups=2)", (2, 6, 7, 7)),
        ("conv_transpose2d(x, t)", (2, 5, 11, 11)),
        ("conv_transpose2d(x, t, stride=2, padding=1, output_padding=1)", (2, 5, 18, 18)),
        ("conv1d(x.reshape(2, 4, 81), w.reshape(6, 4, 9))", (2, 6, 73)),
        ("conv3d(x.unsqueeze(2), w.unsqueeze(2))", (2, 6, 1, 7, 7)),
    ],
)
def test_shapes_are_those_of_torch(call: str, shape: tuple[int, ...]) -> None:
    made = stage(call)
    assert (made.op, made.result.shape) == ("conv", shape)
    assert made.attributes["output"] == shape[2:]


def test_a_bias_runs_along_the_channels() -> None:
    (step,) = stage("conv2d(x, w) >> bias(b)").chain
    assert isinstance(step.expr, Apply)
    load = step.expr.args[1]
    assert isinstance(load, Load)
    assert (load.value.shape, load.value.strides) == ((2, 6, 7, 7), (0, 1, 0, 0))


@pytest.mark.parametrize(
    ("call", "last"),
    [
        ("conv2d(x, w)", False),
        ("conv2d(x, w).layout(channels_last)", True),
        ("conv2d(x.reshape(2, 9, 9, 4).permute(0, 3, 1, 2), w)", True),
    ],
)
def test_the_result_lies_as_x_does_unless_it_says_otherwise(call: str, last: bool) -> None:
    result = stage(call).result
    assert (result.channels_last, result.contiguous) == (last, not last)


@pytest.mark.parametrize(
    ("call", "rule", "says"),
    [
        ("conv2d(x)", "argument-error", "needs 'w'"),
        ("conv2d(x, w, b)", "argument-error", ">> bias(b)"),
        ("conv2d(x, w, bias=b)", "argument-error", ">> bias(b)"),
        ("conv2d(x, w, stride=1, stride=2)", "argument-error", "twice"),
        ("conv2d(x, w, stride=0)", "argument-error", "at least 1"),
        ("conv2d(x, w, padding=(1, 2, 3))", "argument-error", "one for each of 2 dimensions"),
        ("conv2d(x, w, stride=2, padding=same)", "argument-error", "a stride of 1"),
        ("conv_transpose2d(x, t, padding=same)", "argument-error", "not transposed"),
        ("conv2d(x, w, groups=3)", "argument-error", "groups divides the channels"),
        ("conv2d(x, b, groups=2)", "shape-mismatch", "[K, C/groups, R, S]"),
        ("conv1d(x, w)", "shape-mismatch", "use conv2d"),
        ("conv2d(x, g)", "shape-mismatch", "write groups=2"),
        ("conv2d(x, t)", "shape-mismatch", "t.permute(1, 0, 2, 3)"),
        ("conv_transpose2d(x, w)", "shape-mismatch", "laid out for conv2d"),
        ("conv2d(x, h)", "shape-mismatch", "cast(h, f32)"),
        ("conv2d(x, w, dilation=6)", "shape-mismatch", "padding of at least 2"),
        ("conv_transpose2d(x, t, padding=9)", "shape-mismatch", "make padding smaller"),
        ("conv_transpose2d(x, t, output_padding=1)", "argument-error", "smaller than stride or dilation"),
        ("conv2d(x, w) >> bias(x)", "shape-mismatch", "along the channels"),
        ("conv2d(x, w).micro(30, 32)", "registers", "fits"),
        ("conv2d(x, w).micro(4, 24)", "tile", "micro(4, 32)"),
        (
            "conv2d(x.expand(2, 4, 9, 9), w).math(f16).acc(f64).tile(65536, 65536).micro(1, 7)",
            "tile",
            "micro(1, 8)",
        ),
    ],
)
def test_each_mistake_is_told_with_what_would_be_right(call: str, rule: str, says: str) -> None:
    errors = refusals(f"{HEAD}  r = {call}\n  return y", PROBLEM)
    assert errors[0].rule == rule
    assert says in str(errors[0])
    assert errors[0].line == 3
