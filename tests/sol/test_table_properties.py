"""The table of operations at sizes nobody chose: counts against their definitions, formulas against their results."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.targets import Policy
from sol.bounds import bound, card, count
from sol.bounds.graph import GraphView
from sol.bounds.known import known
from sol.bounds.regions import Region, full, union_of
from sol.bounds.table import rows
from tests.sol.graphs import Sketch, gemm

size = st.integers(1, 48)
few = st.integers(1, 5)


@given(batch=few, m=size, n=size, k=size)
def test_a_batched_product_counts_a_multiplication_and_an_addition_a_term(
    batch: int, m: int, n: int, k: int
) -> None:
    sketch = Sketch()
    a, b = sketch.input("a", batch, m, k), sketch.input("b", batch, k, n)
    work = count(sketch.done(sketch.op("bmm", a, b, shape=(batch, m, n))))
    assert work.matrix_flops == 2 * batch * m * n * k
    assert work.bytes == work.unfused_bytes == 4 * batch * (m * k + k * n + m * n)


@given(
    batch=few, groups=few, inner=few, outer=few, rows_in=st.integers(3, 12), kernel=st.integers(1, 3),
    stride=st.integers(1, 3),
)  # fmt: skip
def test_a_convolution_counts_every_tap_of_every_output(
    batch: int, groups: int, inner: int, outer: int, rows_in: int, kernel: int, stride: int
) -> None:
    made = (rows_in - kernel) // stride + 1
    sketch = Sketch()
    x = sketch.input("x", batch, groups * inner, rows_in, rows_in)
    w = sketch.parameter("w", groups * outer, inner, kernel, kernel)
    shape = (batch, groups * outer, made, made)
    y = sketch.op(
        "convolution", x, w, None, [stride] * 2, [0] * 2, [1] * 2, False, [0] * 2, groups, shape=shape
    )  # fmt: skip
    work = count(sketch.done(y))
    taps = sum(1 for _ in itertools.product(range(made), range(made), range(kernel), range(kernel)))
    assert work.matrix_flops == 2 * batch * groups * outer * inner * taps
    # Rows that no window meets are not read.
    touched = len({place * stride + tap for place in range(made) for tap in range(kernel)})
    assert work.input_bytes == 4 * (batch * groups * inner * touched**2 + groups * outer * inner * kernel**2)


@given(
    batch=few, inner=few, outer=few, length=st.integers(1, 12), kernel=st.integers(1, 4), stride=st.integers(1, 4)
)
def test_a_transposed_convolution_counts_every_tap_of_every_input(
    batch: int, inner: int, outer: int, length: int, kernel: int, stride: int
) -> None:
    sketch = Sketch()
    x, w = sketch.input("x", batch, inner, length), sketch.parameter("w", inner, outer, kernel)
    shape = (batch, outer, (length - 1) * stride + kernel)
    y = sketch.op("convolution", x, w, None, [stride], [0], [1], True, [0], 1, shape=shape)
    assert count(sketch.done(y)).matrix_flops == 2 * batch * inner * length * outer * kernel


@given(m=size, n=size, k=size)
def test_a_formula_can_be_worked_out_again(m: int, n: int, k: int) -> None:
    sketch = Sketch()
    x, w, b = sketch.input("x", m, k), sketch.parameter("w", k, n), sketch.parameter("b", n)
    y = sketch.op("softmax", sketch.op("addmm", b, x, w, shape=(m, n)), 1, shape=(m, n))
    for item in count(sketch.done(sketch.op("aten.sum.dim_IntList", y, [1], shape=(m,)))).items:
        found = re.search(r"= ([\d·+ ,]+) = ([\d,]+)", item.formula)
        if found:
            parts = found[1].replace(",", "").split("+")
            worked = sum(int(np.prod([int(factor) for factor in part.split("·")])) for part in parts)
            assert worked == item.flops == int(found[2].replace(",", ""))


@settings(max_examples=60)
@given(m=st.integers(1, 4096), n=st.integers(1, 4096), k=st.integers(1, 4096), policy=st.sampled_from(Policy))
def test_a_floor_never_exceeds_the_steering_bound(m: int, n: int, k: int, policy: Policy) -> None:
    problem = gemm(m, n, k)
    found = bound(count(problem), problem, card("h100"), policy)
    assert 0 < found.floor_s <= found.steering_s == max(found.compute_s, found.memory_s)
    assert found.floor_flops == found.flops
    assert sum(part.flops for part in found.pipes) == found.flops


@given(queries=st.integers(1, 40), keys=st.integers(1, 40), diagonal=st.integers(-8, 8))
def test_a_mask_of_positions_is_known_by_value(queries: int, keys: int, diagonal: int) -> None:
    sketch = Sketch()
    x = sketch.input("x", queries, keys)
    column = sketch.op("aten.arange.start_step", 0, keys, shape=(keys,), dtype="i64")
    row = sketch.op("aten.arange.start_step", 0, queries, shape=(queries,), dtype="i64")
    column = sketch.op("unsqueeze", column, -2, shape=(1, keys), dtype="i64")
    row = sketch.op("unsqueeze", row, -1, shape=(queries, 1), dtype="i64")
    apart = sketch.op("aten.sub.Tensor", column, row, shape=(queries, keys), dtype="i64")
    mask = sketch.op("aten.le.Scalar", apart, diagonal, shape=(queries, keys), dtype="bool")
    zero = sketch.op("scalar_tensor", 0.0, shape=())
    problem = sketch.done(sketch.op("aten.where.self", mask, x, zero, shape=(queries, keys)))
    kept = np.tril(np.ones((queries, keys), dtype=bool), diagonal)
    found = known(GraphView(problem), (mask["ref"], 0))
    assert found is not None
    assert (found == kept).all()
    assert count(problem).input_bytes == 4 * kept.sum()


@pytest.mark.parametrize("larger", [2**26, 2**40])
def test_large_tensors_are_not_worked_out(larger: int) -> None:
    sketch = Sketch()
    sketch.input("x", 1)
    positions = sketch.op("aten.arange.default", larger, shape=(larger,), dtype="i64")
    assert known(GraphView(sketch.done(positions)), (positions["ref"], 0)) is None


masks = st.lists(st.booleans(), min_size=4, max_size=4).filter(any)


@given(boxes=st.lists(st.tuples(masks, masks), min_size=1, max_size=4))
def test_a_union_never_claims_more_than_all_of_its_boxes(boxes: list[tuple[list[bool], list[bool]]]) -> None:
    regions = [Region((np.array(a), np.array(b))) for a, b in boxes]
    truth = np.zeros((4, 4), dtype=bool)
    for a, b in boxes:
        truth |= np.outer(a, b)
    found = union_of(regions, (4, 4)).elements((4, 4))
    assert max(region.elements((4, 4)) for region in regions) <= found <= truth.sum()


def test_four_quarters_make_a_whole_in_any_order() -> None:
    even = np.array([True, False] * 3)
    quarters = [Region((a, b)) for a in (even, ~even) for b in (even, ~even)]
    for order in itertools.permutations(quarters):
        assert union_of(order, (6, 6)) == full(2)


def test_every_operation_of_the_table_of_a_problem_says_what_is_left_of_it() -> None:
    sketch = Sketch()
    x, w = sketch.input("x", 64, 32), sketch.parameter("w", 32, 48)
    y = sketch.op("mm", x, w, shape=(64, 48))
    total = sketch.op("sum", sketch.op("relu", y, shape=(64, 48)), [1], shape=(64,))
    problem = sketch.done(sketch.op("aten.slice.Tensor", total, 0, 0, 16, shape=(16,)))
    found = {row.op.split(".")[1]: row for row in rows(count(problem), problem)}
    assert found["mm"].floor_flops == found["mm"].flops / 4
    assert found["mm"].used_share == 0.25
    assert found["mm"].savings == ("0.25 of its elements are used",)
    assert found["relu"].floor_flops is None
    assert (found["relu"].pipe, found["relu"].dtype) == ("vector", "f32")
