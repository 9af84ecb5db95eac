"""Regions of need against what a loop over all elements finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sol.bounds import count
from sol.bounds.demand_rules import triangle_elements
from sol.bounds.regions import Region, full, union, windows
from tests.sol.graphs import Sketch, gemm

extent = st.integers(1, 12)


@given(extent, extent, extent)
def test_a_gemm_of_any_size_has_two_flops_a_product(m: int, n: int, k: int) -> None:
    work = count(gemm(m, n, k))
    assert work.matrix_flops == 2 * m * n * k
    assert work.bytes == 4 * (m * k + k * n + m * n)


@given(st.integers(1, 30), st.integers(1, 5), st.integers(1, 4), st.integers(0, 2), st.integers(1, 3))
def test_windows_read_what_a_loop_over_them_reads(
    read: int, kernel: int, stride: int, padding: int, dilation: int
) -> None:
    made = (read + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    if made < 1:
        return
    places = {o * stride - padding + tap * dilation for o in range(made) for tap in range(kernel)}
    wanted = sorted(place for place in places if 0 <= place < read)
    found = windows(read, made, kernel, stride, padding, dilation, None)
    assert wanted == (list(range(read)) if found is None else np.flatnonzero(found).tolist())


@given(extent, extent, st.integers(-13, 13), st.booleans())
def test_triangles_hold_what_numpy_keeps(rows: int, columns: int, diagonal: int, lower: bool) -> None:
    ones = np.ones((rows, columns), dtype=np.int64)
    kept = np.tril(ones, diagonal) if lower else np.triu(ones, diagonal)
    assert triangle_elements(rows, columns, diagonal, lower=lower) == kept.sum()


@given(extent, st.integers(-14, 14), st.integers(-14, 14), st.integers(1, 4))
def test_a_slice_of_an_input_reads_what_python_shows(length: int, start: int, end: int, step: int) -> None:
    shown = len(range(length)[start:end:step])
    if not shown:
        return
    sketch = Sketch()
    x = sketch.input("x", 3, length)
    part = sketch.op("aten.slice.Tensor", x, 1, start, end, step, shape=(3, shown))
    assert count(sketch.done(sketch.op("relu", part, shape=(3, shown)))).input_bytes == 4 * 3 * shown


@given(st.lists(st.booleans(), min_size=6, max_size=6), st.lists(st.booleans(), min_size=6, max_size=6))
def test_a_union_along_one_axis_is_exact(a: list[bool], b: list[bool]) -> None:
    left, right = Region((np.array(a), None)), Region((np.array(b), None))
    both = union(left, right, (6, 5))
    assert both.elements((6, 5)) == 5 * sum(x or y for x, y in zip(a, b, strict=True))


def test_a_union_along_two_axes_is_the_larger_and_never_too_much() -> None:
    rows, columns = np.zeros(6, dtype=np.bool_), np.zeros(5, dtype=np.bool_)
    rows[:2], columns[:1] = True, True
    both = union(Region((rows, None)), Region((None, columns)), (6, 5))
    assert both.elements((6, 5)) == 10
    assert union(both, full(2), (6, 5)).is_full
