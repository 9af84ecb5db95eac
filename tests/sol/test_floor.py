"""What the floor leaves of a problem's matrix work and bytes."""

from __future__ import annotations

from typing import Any

import pytest

from kernels.problems.inspection import Inspection
from kernels.targets import Policy
from sol.bounds import card, count
from sol.bounds.floor import Floor, floor, remainders
from sol.bounds.graph import GraphView
from sol.bounds.ops.convolution import describe
from sol.bounds.regions import full
from sol.bounds.savings import convolutions
from sol.bounds.savings.constants import constants
from tests.sol.graphs import Sketch

H100 = card("h100")


def lowest(problem: Inspection, policy: Policy = Policy.TF32) -> Floor:
    return floor(count(problem), problem, H100, policy)


def linear(sketch: Sketch, m: int, n: int, k: int) -> dict[str, Any]:
    x, w, b = sketch.input("x", m, k), sketch.parameter("w", n, k), sketch.parameter("b", n)
    return sketch.op("addmm", b, x, sketch.op("permute", w, [1, 0], shape=(k, n)), shape=(m, n))


def convolve(sketch: Sketch, x: Any, w: Any, shape: tuple[int, ...], padding: int = 0) -> dict[str, Any]:
    rank = len(shape) - 2
    same = [1] * rank
    return sketch.op("convolution", x, w, None, same, [padding] * rank, same, False, [0] * rank, 1, shape=shape)


def test_a_plain_gemm_keeps_all_of_its_work() -> None:
    sketch = Sketch()
    found = lowest(sketch.done(linear(sketch, 64, 48, 32)))
    assert found.flops == 2 * 64 * 48 * 32
    assert found.bytes == 4 * (64 * 32 + 48 * 32 + 48 + 64 * 48)


def test_a_sum_over_a_gemms_columns_is_a_matrix_vector_product() -> None:
    # Divide, sum over the columns, scale: 2·M·K FLOPs, both matrices still read.
    sketch = Sketch()
    y = sketch.op("div", linear(sketch, 1024, 512, 256), 2.0, shape=(1024, 512))
    total = sketch.op("sum", y, [1], True, shape=(1024, 1))
    found = lowest(sketch.done(sketch.op("mul", total, 1.5, shape=(1024, 1))))
    assert found.flops == pytest.approx(2 * 1024 * 256)
    assert found.bytes == 4 * (1024 * 256 + 512 * 256 + 512 + 1024)


def test_the_sum_collapses_behind_reductions_over_one_element_too() -> None:
    sketch = Sketch()
    y = sketch.op("sum", linear(sketch, 128, 64, 32), [1], True, shape=(128, 1))
    y = sketch.op("amax", y, [1], True, shape=(128, 1))
    y = sketch.op("mean", y, [1], True, shape=(128, 1))
    found = lowest(sketch.done(sketch.op("logsumexp", y, [1], True, shape=(128, 1))))
    assert found.flops == pytest.approx(2 * 128 * 32)


def test_a_mean_behind_a_subtracted_parameter_collapses() -> None:
    # The residual adds the input itself: it is still read, and the product is still a matrix-vector one.
    sketch = Sketch()
    y = sketch.op("sub", linear(sketch, 128, 64, 64), sketch.parameter("s", 64), shape=(128, 64))
    pooled = sketch.op("mean", y, [1], True, shape=(128, 1))
    y = sketch.op("gelu", pooled, shape=(128, 1))
    found = lowest(sketch.done(sketch.op("add", y, {"ref": "x"}, shape=(128, 64))))
    assert found.flops == pytest.approx(2 * 128 * 64)


def test_a_relu_in_between_keeps_the_gemm() -> None:
    sketch = Sketch()
    y = sketch.op("relu", linear(sketch, 128, 64, 32), shape=(128, 64))
    assert lowest(sketch.done(sketch.op("sum", y, [1], shape=(128,)))).flops == 2 * 128 * 64 * 32


def test_a_gemm_that_is_used_elsewhere_too_is_kept() -> None:
    sketch = Sketch()
    y = linear(sketch, 128, 64, 32)
    total = sketch.op("sum", y, [1], True, shape=(128, 1))
    assert lowest(sketch.done(sketch.op("mul", y, total, shape=(128, 64)))).flops == 2 * 128 * 64 * 32


def test_a_maximum_of_pairs_that_is_summed_needs_differences_only() -> None:
    sketch = Sketch()
    y = sketch.op("unsqueeze", linear(sketch, 128, 64, 32), 1, shape=(128, 1, 64))
    pooled = sketch.op("max_pool1d", y, [2], [2], shape=(128, 1, 32))
    total = sketch.op("sum", pooled, [1, 2], shape=(128,))
    assert lowest(sketch.done(total)).flops == pytest.approx(128 * 64 * 32)


def test_a_diagonal_product_is_one_multiplication_an_element() -> None:
    sketch = Sketch()
    d, b = sketch.input("d", 512), sketch.input("b", 512, 1024)
    found = lowest(sketch.done(sketch.op("mm", sketch.op("diag_embed", d, shape=(512, 512)), b, shape=(512, 1024))))
    assert found.flops == pytest.approx(2 * 512 * 1024)
    assert found.bytes == 4 * (512 + 2 * 512 * 1024)


def test_a_triangular_result_takes_a_sixth_for_its_factors_may_be_triangular_too() -> None:
    sketch = Sketch()
    n = 64
    a, b = sketch.input("a", n, n), sketch.input("b", n, n)
    found = lowest(sketch.done(sketch.op("triu", sketch.op("mm", a, b, shape=(n, n)), shape=(n, n))))
    half = n * (n + 1) / 2
    assert found.flops == pytest.approx(2 * n * half / 3)
    assert found.bytes == 4 * (half + half + n * n)


def test_a_triangular_factor_halves_the_work() -> None:
    sketch = Sketch()
    a, b = sketch.input("a", 64, 64), sketch.input("b", 64, 32)
    lower = sketch.op("tril", a, shape=(64, 64))
    assert lowest(sketch.done(sketch.op("mm", lower, b, shape=(64, 32)))).flops == pytest.approx(64 * 64 * 32)


@pytest.mark.parametrize(("causal", "share"), [(True, (64 + 1) / (2 * 64)), (False, 1.0)])
def test_causal_attention_keeps_the_scores_that_are_used(causal: bool, share: float) -> None:
    sketch = Sketch()
    q, k, v = (sketch.input(name, 2, 4, 64, 16) for name in "qkv")
    y = sketch.op("scaled_dot_product_attention", q, k, v, None, 0.0, causal, shape=(2, 4, 64, 16))
    assert lowest(sketch.done(y)).flops == pytest.approx(4 * 8 * 64 * 64 * 16 * share)


def test_masked_scores_written_out_are_halved() -> None:
    sketch = Sketch()
    q, k, v = sketch.input("q", 8, 32, 16), sketch.input("k", 8, 16, 32), sketch.input("v", 8, 32, 16)
    mask = sketch.parameter("mask", 32, 32, dtype="bool")
    low = sketch.op("scalar_tensor", -1e9, shape=())
    scores = sketch.op("where", mask, low, sketch.op("bmm", q, k, shape=(8, 32, 32)), shape=(8, 32, 32))
    weights = sketch.op("softmax", scores, 2, shape=(8, 32, 32))
    found = lowest(sketch.done(sketch.op("bmm", weights, v, shape=(8, 32, 16))))
    assert found.flops == pytest.approx(2 * 8 * 32 * 32 * 16)


def test_linear_attention_may_be_taken_in_the_cheaper_order() -> None:
    sketch = Sketch()
    q, k, v = sketch.input("q", 4, 256, 8), sketch.input("k", 4, 8, 256), sketch.input("v", 4, 256, 8)
    scores = sketch.op("bmm", q, k, shape=(4, 256, 256))
    found = lowest(sketch.done(sketch.op("bmm", scores, v, shape=(4, 256, 8))))
    assert found.flops == pytest.approx(2 * 2 * 4 * 256 * 8 * 8)


def test_a_softmax_in_between_forbids_the_other_order() -> None:
    sketch = Sketch()
    q, k, v = sketch.input("q", 4, 256, 8), sketch.input("k", 4, 8, 256), sketch.input("v", 4, 256, 8)
    weights = sketch.op("softmax", sketch.op("bmm", q, k, shape=(4, 256, 256)), 2, shape=(4, 256, 256))
    found = lowest(sketch.done(sketch.op("bmm", weights, v, shape=(4, 256, 8))))
    assert found.flops == 4 * 4 * 256 * 256 * 8


def test_a_three_by_three_convolution_keeps_a_quarter_of_its_products() -> None:
    # F(4, 3) takes 6 multiplications instead of 12 along each axis.
    sketch = Sketch()
    x, w = sketch.input("x", 1, 4, 18, 18), sketch.parameter("w", 8, 4, 3, 3)
    found = lowest(sketch.done(convolve(sketch, x, w, (1, 8, 16, 16))))
    assert found.flops == pytest.approx(2 * 8 * 256 * 4 * 9 / 4)


def test_padding_is_no_work() -> None:
    sketch = Sketch()
    x, w = sketch.input("x", 1, 1, 4), sketch.parameter("w", 1, 1, 3)
    y = convolve(sketch, x, w, (1, 1, 4), padding=1)
    conv = describe(GraphView(sketch.done(y)).call(sketch.nodes[-1]))
    # Of twelve taps the first and the last meet padding.
    assert convolutions.taps_in_data(conv, 0) == pytest.approx(10 / 12)


def test_a_pointwise_convolution_saves_nothing() -> None:
    sketch = Sketch()
    x, w = sketch.input("x", 2, 16, 8, 8), sketch.parameter("w", 32, 16, 1, 1)
    assert lowest(sketch.done(convolve(sketch, x, w, (2, 32, 8, 8)))).flops == 2 * 2 * 32 * 64 * 16


def test_a_global_mean_behind_a_convolution_collapses() -> None:
    sketch = Sketch()
    x, w = sketch.input("x", 2, 16, 8, 8), sketch.parameter("w", 32, 16, 1, 1)
    y = convolve(sketch, x, w, (2, 32, 8, 8))
    pooled = sketch.op("adaptive_avg_pool2d", y, [1, 1], shape=(2, 32, 1, 1))
    assert lowest(sketch.done(pooled)).flops == pytest.approx(2 * 2 * 32 * 16)


@pytest.mark.parametrize(("training", "collapses"), [(True, False), (False, True)])
def test_a_mean_behind_a_batch_norm_collapses_only_with_known_statistics(training: bool, collapses: bool) -> None:
    sketch = Sketch()
    x, w = sketch.input("x", 2, 16, 8, 8), sketch.parameter("w", 32, 16, 1, 1)
    y = convolve(sketch, x, w, (2, 32, 8, 8))
    given = [sketch.parameter(name, 32) for name in ("gamma", "beta", "mean", "var")]
    y = sketch.op("batch_norm", y, *given, training, 0.1, 1e-5, True, shape=(2, 32, 8, 8))
    found = lowest(sketch.done(sketch.op("mean", y, [2, 3], shape=(2, 32))))
    assert found.flops == pytest.approx(2 * 2 * 32 * 16 * (1 if collapses else 64))


def test_a_transposed_convolution_loses_the_taps_that_fall_outside() -> None:
    sketch = Sketch()
    x, w = sketch.input("x", 1, 1, 4), sketch.parameter("w", 1, 1, 3)
    y = sketch.op("convolution", x, w, None, [2], [1], [1], True, [0], 1, shape=(1, 1, 7))
    problem = sketch.done(y)
    conv = describe(GraphView(problem).call(sketch.nodes[-1]))
    # Positions 2·i − 1 + tap for four inputs: −1 and 7 of twelve fall outside.
    assert convolutions.taps_in_data(conv, 0) == pytest.approx(10 / 12)


def test_a_slice_of_a_gemm_is_the_work_of_that_slice() -> None:
    sketch = Sketch()
    part = sketch.op("aten.slice.Tensor", linear(sketch, 64, 48, 32), 0, 0, 16, shape=(16, 48))
    assert lowest(sketch.done(sketch.op("relu", part, shape=(16, 48)))).flops == pytest.approx(2 * 16 * 48 * 32)


def test_a_last_step_of_an_lstm_needs_every_step_before_it() -> None:
    sketch = Sketch()
    x, state = sketch.input("x", 5, 3, 8), [sketch.input("h", 1, 3, 4), sketch.input("c", 1, 3, 4)]
    weights = [sketch.parameter("ih", 16, 8), sketch.parameter("hh", 16, 4)]
    shapes = [(5, 3, 4), (1, 3, 4), (1, 3, 4)]
    y = sketch.several("aten.lstm.input", x, state, weights, False, 1, 0.0, False, False, False, shapes=shapes)
    last = sketch.op("aten.select.int", y, 0, -1, shape=(3, 4))
    assert lowest(sketch.done(last)).flops == 2 * 15 * 16 * 12


def test_a_gelu_of_a_row_maximum_minus_its_own_mean_is_a_constant() -> None:
    sketch = Sketch()
    top = sketch.op("amax", linear(sketch, 128, 64, 32), [1], True, shape=(128, 1))
    mean = sketch.op("mean", top, [1], True, shape=(128, 1))
    y = sketch.op("gelu", sketch.op("sub", top, mean, shape=(128, 1)), shape=(128, 1))
    found = lowest(sketch.done(y))
    assert (found.flops, found.bytes) == (0, 128 * 4)


def test_a_minimum_with_zero_clamped_at_zero_is_a_constant() -> None:
    sketch = Sketch()
    zero = sketch.op("scalar_tensor", 0.0, shape=())
    low = sketch.op("minimum", linear(sketch, 8, 4, 2), zero, shape=(8, 4))
    problem = sketch.done(sketch.op("clamp", low, 0.0, 1.0, shape=(8, 4)))
    assert list(constants(GraphView(problem)).values()) == ["always 0"]
    assert lowest(problem).bytes == 8 * 4 * 4


def test_a_mean_over_all_that_a_group_norm_centred_is_a_constant() -> None:
    sketch = Sketch()
    x = sketch.input("x", 4, 8, 6)
    w, b = sketch.parameter("w", 8), sketch.parameter("b", 8)
    y = sketch.op("group_norm", x, 2, w, b, 1e-5, True, shape=(4, 8, 6))
    assert lowest(sketch.done(sketch.op("mean", y, [1, 2], shape=(4,)))).bytes == 16


def test_a_mean_over_a_part_of_it_is_none() -> None:
    sketch = Sketch()
    x = sketch.input("x", 4, 8, 6)
    y = sketch.op("group_norm", x, 2, None, None, 1e-5, True, shape=(4, 8, 6))
    assert lowest(sketch.done(sketch.op("mean", y, [2], shape=(4, 8)))).bytes == 4 * (4 * 8 * 6 + 32)


@pytest.mark.parametrize(("extent", "constant"), [(1, True), (2, False)])
def test_a_softmax_over_one_element_is_a_constant(extent: int, constant: bool) -> None:
    sketch = Sketch()
    x = sketch.input("x", 8, extent)
    problem = sketch.done(sketch.op("softmax", x, 1, shape=(8, extent)))
    assert bool(constants(GraphView(problem))) is constant


def test_a_constructor_alone_is_no_reason_to_call_a_value_constant() -> None:
    sketch = Sketch()
    x = sketch.input("x", 8)
    one = sketch.op("full", [8], 1.0, shape=(8,))
    assert constants(GraphView(sketch.done(sketch.op("add", x, one, shape=(8,))))) == {}


def test_an_output_that_only_shows_an_input_is_neither_read_nor_written() -> None:
    sketch = Sketch()
    x = sketch.input("x", 8, 4)
    assert lowest(sketch.done(sketch.op("permute", x, [1, 0], shape=(4, 8)))).bytes == 0


def test_lookups_by_unknown_indices_may_need_one_row_only() -> None:
    sketch = Sketch()
    table, index = sketch.parameter("table", 1000, 16), sketch.input("index", 10, dtype="i64")
    assert lowest(sketch.done(sketch.op("embedding", table, index, shape=(10, 16)))).bytes == 16 * 4 + 80 + 640


def test_a_form_that_the_analysis_does_not_know_leaves_the_outputs_alone() -> None:
    sketch = Sketch()
    x = sketch.input("x", 64)
    y = sketch.op("mm", x, 3, shape=(64,))
    found = lowest(sketch.done(sketch.op("bmm", y, y, shape=(64,))))
    assert found.bytes == 64 * 4
    assert "does not know" in found.arithmetic[0]


def test_every_saving_says_why() -> None:
    sketch = Sketch()
    y = sketch.op("sum", linear(sketch, 128, 64, 32), [1], shape=(128,))
    problem = sketch.done(y)
    view = GraphView(problem)
    parts = remainders(count(problem), view, {("addmm_1", 0): full(2)})
    assert [part.reasons for part in parts] == [("only sums over 64 of its elements are used",)]
