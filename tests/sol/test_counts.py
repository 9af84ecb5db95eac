"""FLOPs and bytes of single operations against values worked out by hand."""

from __future__ import annotations

import pytest

from kernels.records import from_json, to_json
from sol.bounds import Work, count
from sol.bounds.ops import FAMILIES
from sol.bounds.ops.registry import known
from tests.sol.graphs import Sketch, gemm


def one(work: Work, pipe: str) -> int:
    return sum(item.flops for item in work.items if item.pipe == pipe)


def test_a_gemm_takes_two_flops_a_product_and_says_so() -> None:
    work = count(gemm(512, 256, 1024))
    assert work.matrix_flops == 268_435_456
    assert work.items[0].formula == "2·M·N·K = 2·512·256·1024 = 268,435,456"
    assert work.input_bytes == 4 * (512 * 1024 + 1024 * 256)
    assert work.output_bytes == 4 * 512 * 256


def test_gemm_bias_relu_counts_the_bias_and_the_relu_on_the_vector_pipe() -> None:
    sketch = Sketch()
    x, w, b = sketch.input("x", 64, 32), sketch.parameter("w", 16, 32), sketch.parameter("b", 16)
    turned = sketch.op("permute", w, [1, 0], shape=(32, 16))
    linear = sketch.op("addmm", b, x, turned, shape=(64, 16))
    work = count(sketch.done(sketch.op("relu", linear, shape=(64, 16))))
    assert work.matrix_flops == 2 * 64 * 16 * 32
    assert work.vector_flops == 64 * 16 + 64 * 16
    assert work.bytes == 4 * (64 * 32 + 16 * 32 + 16 + 64 * 16)


@pytest.mark.parametrize(
    ("op", "shapes", "out", "flops"),
    [
        ("bmm", [(8, 4, 5), (8, 5, 6)], (8, 4, 6), 2 * 8 * 4 * 5 * 6),
        ("matmul", [(2, 3, 4, 5), (2, 3, 5, 6)], (2, 3, 4, 6), 2 * 6 * 4 * 5 * 6),
        ("matmul", [(7, 4, 5), (5, 6)], (7, 4, 6), 2 * 7 * 4 * 5 * 6),
        ("mv", [(4, 5), (5,)], (4,), 2 * 4 * 5),
        ("dot", [(9,), (9,)], (), 2 * 9),
        ("linear", [(7, 4, 5), (6, 5)], (7, 4, 6), 2 * 7 * 4 * 5 * 6),
    ],
)
def test_every_matrix_product_has_its_count(
    op: str, shapes: list[tuple[int, ...]], out: tuple[int, ...], flops: int
) -> None:
    sketch = Sketch()
    a, b = sketch.input("a", *shapes[0]), sketch.input("b", *shapes[1])
    assert count(sketch.done(sketch.op(op, a, b, shape=out))).matrix_flops == flops


def test_baddbmm_adds_its_first_argument() -> None:
    sketch = Sketch()
    c, a, b = sketch.input("c", 8, 4, 6), sketch.input("a", 8, 4, 5), sketch.input("b", 8, 5, 6)
    work = count(sketch.done(sketch.op("baddbmm", c, a, b, shape=(8, 4, 6))))
    assert (work.matrix_flops, work.vector_flops) == (2 * 8 * 4 * 5 * 6, 8 * 4 * 6)


def test_a_convolution_counts_each_tap_of_each_group() -> None:
    sketch = Sketch()
    x, w, b = sketch.input("x", 2, 8, 16, 16), sketch.parameter("w", 12, 4, 3, 3), sketch.parameter("b", 12)
    y = sketch.op("convolution", x, w, b, [1, 1], [1, 1], [1, 1], False, [0, 0], 2, shape=(2, 12, 16, 16))
    work = count(sketch.done(y))
    assert work.matrix_flops == 2 * 2 * 12 * 16 * 16 * 4 * 9
    assert work.vector_flops == 2 * 12 * 16 * 16


def test_a_depthwise_convolution_counts_one_input_channel() -> None:
    sketch = Sketch()
    x, w = sketch.input("x", 1, 8, 10, 10), sketch.parameter("w", 8, 1, 3, 3)
    y = sketch.op("convolution", x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 8, shape=(1, 8, 8, 8))
    assert count(sketch.done(y)).matrix_flops == 2 * 8 * 8 * 8 * 9


def test_a_transposed_convolution_counts_from_its_input() -> None:
    sketch = Sketch()
    x, w = sketch.input("x", 2, 8, 5, 5), sketch.parameter("w", 8, 4, 3, 3)
    y = sketch.op("convolution", x, w, None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1, shape=(2, 4, 10, 10))
    assert count(sketch.done(y)).matrix_flops == 2 * 2 * 8 * 25 * 4 * 9


@pytest.mark.parametrize("rank", [1, 3])
def test_convolutions_of_other_ranks_count_alike(rank: int) -> None:
    sketch = Sketch()
    x = sketch.input("x", 2, 3, *(6,) * rank)
    w = sketch.parameter("w", 4, 3, *(3,) * rank)
    same = [1] * rank
    y = sketch.op("convolution", x, w, None, same, same, same, False, [0] * rank, 1, shape=(2, 4, *(6,) * rank))
    assert count(sketch.done(y)).matrix_flops == 2 * 2 * 4 * 6**rank * 3 * 3**rank


@pytest.mark.parametrize(
    ("op", "args", "each"),
    [
        ("relu", (), 1), ("sigmoid", (), 3), ("silu", (), 4), ("gelu", (), 5), ("tanh", (), 1), ("hardtanh", (), 2),
        ("clamp", (0.0, 1.0), 2), ("leaky_relu", (0.1,), 2), ("mish", (), 5), ("softplus", (), 3),
        ("softmax", (1, False), 5), ("_log_softmax", (1, False), 5), ("clone", (), 0), ("cumsum", (1,), 1),
    ],
)  # fmt: skip
def test_element_wise_operations_count_by_element(op: str, args: tuple[object, ...], each: int) -> None:
    sketch = Sketch()
    x = sketch.input("x", 6, 7)
    work = count(sketch.done(sketch.op(op, x, *args, shape=(6, 7))))
    assert work.vector_flops == each * 42
    assert work.bytes == 2 * 42 * 4


def test_gelu_by_tanh_takes_more() -> None:
    sketch = Sketch()
    x = sketch.input("x", 10)
    assert count(sketch.done(sketch.op("gelu", x, shape=(10,), approximate="tanh"))).vector_flops == 90


@pytest.mark.parametrize(
    ("op", "flops"),
    [
        ("sum", 42),
        ("mean", 42 + 6),
        ("amax", 42),
        ("argmax", 42),
        ("var", 4 * 42 + 6),
        ("prod", 42),
        ("logsumexp", 4 * 42 + 12),
    ],
)
def test_reductions_count_what_goes_in_and_what_comes_out(op: str, flops: int) -> None:
    sketch = Sketch()
    x = sketch.input("x", 6, 7)
    work = count(sketch.done(sketch.op(op, x, [1], shape=(6,))))
    assert work.vector_flops == flops
    assert work.bytes == 4 * (42 + 6)


def test_norms_count_their_statistics_and_weights() -> None:
    sketch = Sketch()
    x, w, b = sketch.input("x", 4, 8), sketch.parameter("w", 8), sketch.parameter("b", 8)
    work = count(
        sketch.done(sketch.several("native_layer_norm", x, [8], w, b, 1e-5, shapes=[(4, 8), (4, 1), (4, 1)]))
    )
    assert work.vector_flops == 7 * 32
    assert work.bytes == 4 * (32 + 16 + 32)


@pytest.mark.parametrize(("training", "each"), [(True, 7), (False, 2)])
def test_a_batch_norm_counts_statistics_only_in_training(training: bool, each: int) -> None:
    sketch = Sketch()
    x = sketch.input("x", 4, 3, 5, 5)
    w, b, mean, var = (sketch.parameter(name, 3) for name in ("w", "b", "mean", "var"))
    y = sketch.op("batch_norm", x, w, b, mean, var, training, 0.1, 1e-5, True, shape=(4, 3, 5, 5))
    work = count(sketch.done(y))
    assert work.vector_flops == each * 300
    # Running statistics are read only where they are used.
    assert work.input_bytes == 4 * (300 + (6 if training else 12))


def test_pooling_counts_its_windows() -> None:
    sketch = Sketch()
    x = sketch.input("x", 1, 2, 8, 8)
    pooled = sketch.op("max_pool2d", x, [2, 2], [2, 2], shape=(1, 2, 4, 4))
    work = count(sketch.done(sketch.op("avg_pool2d", pooled, [4, 4], shape=(1, 2, 1, 1))))
    assert work.vector_flops == 2 * 16 * 4 + 2 * (16 + 1)


def test_attention_counts_both_products_in_full_and_its_softmax() -> None:
    sketch = Sketch()
    q, k, v = (sketch.input(name, 2, 4, 16, 8) for name in "qkv")
    work = count(
        sketch.done(sketch.op("scaled_dot_product_attention", q, k, v, None, 0.0, True, shape=(2, 4, 16, 8)))
    )
    assert work.matrix_flops == 4 * 2 * 4 * 16 * 16 * 8
    assert work.vector_flops == 6 * 2 * 4 * 16 * 16


def test_a_gru_counts_its_gates_at_every_step() -> None:
    sketch = Sketch()
    x, h = sketch.input("x", 10, 2, 8), sketch.input("h", 1, 2, 16)
    weights = [
        sketch.parameter("ih", 48, 8),
        sketch.parameter("hh", 48, 16),
        sketch.parameter("bi", 48),
        sketch.parameter("bh", 48),
    ]
    y = sketch.several(
        "aten.gru.input", x, h, weights, True, 1, 0.0, False, False, False, shapes=[(10, 2, 16), (1, 2, 16)]
    )
    work = count(sketch.done(y))
    assert work.matrix_flops == 2 * 20 * 48 * (8 + 16)
    # Thirteen a hidden unit, the two biases, and the sum of both products.
    assert work.vector_flops == 20 * (16 * 13 + 96 + 48)


def test_an_lstm_counts_four_gates_in_both_directions() -> None:
    sketch = Sketch()
    x = sketch.input("x", 5, 3, 8)
    state = [sketch.input("h", 2, 3, 4), sketch.input("c", 2, 3, 4)]
    weights = [
        sketch.parameter(f"{kind}{way}", 16, width) for way in "fb" for kind, width in (("ih", 8), ("hh", 4))
    ]
    shapes = [(5, 3, 8), (2, 3, 4), (2, 3, 4)]
    y = sketch.several("aten.lstm.input", x, state, weights, False, 1, 0.0, False, True, False, shapes=shapes)
    assert count(sketch.done(y)).matrix_flops == 2 * 15 * 2 * 16 * 12


def test_cross_entropy_counts_a_softmax_and_the_targets() -> None:
    sketch = Sketch()
    x, t = sketch.input("x", 6, 10), sketch.input("t", 6, dtype="i64")
    work = count(sketch.done(sketch.op("cross_entropy_loss", x, t, shape=())))
    assert work.vector_flops == 5 * 60 + 6
    assert work.bytes == 240 + 48 + 4


def test_sort_and_topk_count_comparisons() -> None:
    sketch = Sketch()
    x = sketch.input("x", 4, 1024)
    ordered = sketch.several("sort", x, 1, shapes=[(4, 1024), (4, 1024)])
    best = sketch.several("topk", ordered, 7, shapes=[(4, 7), (4, 7)])
    work = count(sketch.done(best))
    assert [item.flops for item in work.items] == [4096 * 10, 4096 * 3]


def test_views_move_nothing_and_copies_move_what_they_write() -> None:
    sketch = Sketch()
    x = sketch.input("x", 6, 8)
    turned = sketch.op("permute", x, [1, 0], shape=(8, 6))
    work = count(sketch.done(sketch.op("clone", turned, shape=(8, 6))))
    assert [(i.flops, i.bytes_read, i.bytes_written) for i in work.items] == [(0, 0, 0), (0, 192, 192)]


def test_an_embedding_reads_the_rows_it_looks_up() -> None:
    sketch = Sketch()
    table, index = sketch.parameter("table", 1000, 16), sketch.input("index", 10, dtype="i64")
    work = count(sketch.done(sketch.op("embedding", table, index, shape=(10, 16))))
    assert work.flops == 0
    assert work.input_bytes == 10 * 16 * 4 + 10 * 8


def test_an_unknown_operation_is_named_and_never_a_silent_zero() -> None:
    sketch = Sketch()
    x = sketch.input("x", 6)
    work = count(sketch.done(sketch.op("aten.frobnicate.default", x, shape=(6,))))
    assert work.unknown_ops == ("aten.frobnicate.default",)
    assert [item.known for item in work.items] == [False]


def test_a_known_operation_in_an_unknown_form_is_named_too() -> None:
    sketch = Sketch()
    x = sketch.input("x", 6)
    work = count(sketch.done(sketch.op("convolution", x, None, shape=(6,))))
    assert work.unknown_ops == ("aten.convolution.default",)
    assert "does not know" in work.items[0].formula
    assert work.input_bytes == 24


def test_a_problem_without_a_graph_says_that_it_was_not_traced() -> None:
    traced = gemm(4, 5, 6)
    work = count(type(traced)("default", traced.signature, None, "no trace"))
    assert work.unknown_ops == ("untraced",)
    assert work.bytes == 4 * (24 + 30 + 20)


def test_in_place_and_overloaded_names_find_the_same_rule() -> None:
    sketch = Sketch()
    x = sketch.input("x", 6)
    y = sketch.op("aten.mul_.Tensor", x, x, shape=(6,))
    assert count(sketch.done(sketch.op("aten.add.Tensor", y, x, shape=(6,), alpha=2))).vector_flops == 6 + 12


def test_work_survives_its_json_form() -> None:
    work = count(gemm(4, 5, 6))
    assert from_json(to_json(work), Work) == work


def test_every_family_registers_and_the_table_is_wide() -> None:
    assert len(FAMILIES) == 15
    assert {
        "mm",
        "convolution",
        "softmax",
        "layer_norm",
        "gru",
        "lstm",
        "sort",
        "embedding",
        "kl_div",
        "cumprod",
    } <= known()
