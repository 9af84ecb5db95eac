"""What the outputs truly depend on."""

from __future__ import annotations

import pytest

from sol.bounds import count
from tests.sol.graphs import Sketch


def test_an_unused_parameter_is_not_read() -> None:
    sketch = Sketch()
    x = sketch.input("x", 6)
    sketch.parameter("never", 1000)
    assert count(sketch.done(sketch.op("relu", x, shape=(6,)))).input_bytes == 24


def test_a_branch_that_no_output_needs_takes_nothing() -> None:
    sketch = Sketch()
    x, w = sketch.input("x", 6, 6), sketch.parameter("w", 6, 6)
    sketch.op("mm", x, w, shape=(6, 6))
    work = count(sketch.done(sketch.op("relu", x, shape=(6, 6))))
    assert work.matrix_flops == 0
    assert work.input_bytes == 6 * 6 * 4


def test_a_select_reads_one_place() -> None:
    sketch = Sketch()
    x = sketch.input("x", 8, 10, 4)
    last = sketch.op("aten.select.int", x, 1, -1, shape=(8, 4))
    assert count(sketch.done(sketch.op("relu", last, shape=(8, 4)))).input_bytes == 8 * 4 * 4


def test_a_slice_with_a_step_reads_what_it_shows() -> None:
    sketch = Sketch()
    x = sketch.input("x", 10, 4)
    part = sketch.op("aten.slice.Tensor", x, 0, 1, 9223372036854775807, 3, shape=(3, 4))
    assert count(sketch.done(sketch.op("relu", part, shape=(3, 4)))).input_bytes == 3 * 4 * 4


def test_two_slices_of_one_axis_are_read_together_once() -> None:
    sketch = Sketch()
    x = sketch.input("x", 10, 4)
    a = sketch.op("aten.slice.Tensor", x, 0, 0, 4, shape=(4, 4))
    b = sketch.op("aten.slice.Tensor", x, 0, 2, 6, shape=(4, 4))
    assert count(sketch.done(sketch.op("add", a, b, shape=(4, 4)))).input_bytes == 6 * 4 * 4


def test_a_slice_of_a_gemm_needs_those_rows_and_columns_only() -> None:
    sketch = Sketch()
    x, w = sketch.input("x", 10, 8), sketch.parameter("w", 8, 6)
    y = sketch.op("mm", x, w, shape=(10, 6))
    rows = sketch.op("aten.slice.Tensor", y, 0, 0, 2, shape=(2, 6))
    part = sketch.op("aten.slice.Tensor", rows, 1, 0, 3, shape=(2, 3))
    assert count(sketch.done(sketch.op("relu", part, shape=(2, 3)))).input_bytes == 4 * (2 * 8 + 8 * 3)


def test_a_strided_convolution_leaves_rows_unread() -> None:
    sketch = Sketch()
    x, w = sketch.input("x", 1, 2, 8, 8), sketch.parameter("w", 3, 2, 1, 1)
    y = sketch.op("convolution", x, w, None, [2, 2], [0, 0], [1, 1], False, [0, 0], 1, shape=(1, 3, 4, 4))
    assert count(sketch.done(y)).input_bytes == 4 * (2 * 16 + 6)


def test_a_convolution_with_overlapping_windows_reads_all() -> None:
    sketch = Sketch()
    x, w = sketch.input("x", 1, 2, 8, 8), sketch.parameter("w", 3, 2, 3, 3)
    y = sketch.op("convolution", x, w, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1, shape=(1, 3, 4, 4))
    assert count(sketch.done(y)).input_bytes == 4 * (2 * 64 + 54)


def test_windows_that_stop_short_of_the_end_leave_it_unread() -> None:
    sketch = Sketch()
    x = sketch.input("x", 1, 1, 7)
    assert count(sketch.done(sketch.op("max_pool1d", x, [2], [2], shape=(1, 1, 3)))).input_bytes == 4 * 6


def test_the_pieces_of_a_split_are_needed_one_by_one() -> None:
    sketch = Sketch()
    x = sketch.input("x", 4, 9)
    pieces = sketch.several("split_with_sizes", x, [2, 3, 4], 1, shapes=[(4, 2), (4, 3), (4, 4)])
    middle = {**pieces, "index": 1}
    assert count(sketch.done(sketch.op("relu", middle, shape=(4, 3)))).input_bytes == 4 * 3 * 4


def test_a_slice_of_a_concatenation_skips_the_operand_it_does_not_show() -> None:
    sketch = Sketch()
    a, b = sketch.input("a", 4, 5), sketch.input("b", 4, 5)
    both = sketch.op("cat", [a, b], 1, shape=(4, 10))
    part = sketch.op("aten.slice.Tensor", both, 1, 0, 5, shape=(4, 5))
    assert count(sketch.done(sketch.op("relu", part, shape=(4, 5)))).input_bytes == 4 * 5 * 4


def test_need_goes_through_permutes_and_reshapes() -> None:
    sketch = Sketch()
    x = sketch.input("x", 6, 4, 5)
    turned = sketch.op("permute", x, [1, 0, 2], shape=(4, 6, 5))
    flat = sketch.op("view", turned, [4, 30], shape=(4, 30))
    first = sketch.op("aten.select.int", flat, 0, 0, shape=(30,))
    assert count(sketch.done(sketch.op("relu", first, shape=(30,)))).input_bytes == 30 * 4


def test_a_triangle_needs_its_half() -> None:
    sketch = Sketch()
    x = sketch.input("x", 10, 10)
    assert count(sketch.done(sketch.op("tril", x, shape=(10, 10)))).input_bytes == 55 * 4


def test_what_is_written_over_is_not_read() -> None:
    sketch = Sketch()
    x, y = sketch.input("x", 10, 4), sketch.input("y", 6, 4)
    mixed = sketch.op("slice_scatter", x, y, 0, 0, 6, shape=(10, 4))
    assert count(sketch.done(mixed)).input_bytes == 4 * (4 * 4 + 6 * 4)


@pytest.mark.parametrize("constructor", ["zeros_like", "full_like", "randn_like"])
def test_a_constructor_takes_a_shape_and_no_values(constructor: str) -> None:
    sketch = Sketch()
    x = sketch.input("x", 10)
    assert count(sketch.done(sketch.op(constructor, x, 1.0, shape=(10,)))).input_bytes == 0


def test_the_last_row_of_a_softmax_needs_that_row() -> None:
    sketch = Sketch()
    x = sketch.input("x", 10, 7)
    y = sketch.op("softmax", x, 1, shape=(10, 7))
    assert count(sketch.done(sketch.op("aten.select.int", y, 0, 9, shape=(7,)))).input_bytes == 7 * 4
