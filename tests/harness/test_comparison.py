from __future__ import annotations

import math

import torch

from kernels.dtypes import DType
from kernels.harness.arena import poison
from kernels.harness.comparison import Expected, Measures, measure
from kernels.harness.evaluation import Tolerance
from kernels.harness.tolerance import profile

KERNELBENCH = profile("kernelbench", DType.F32)


def measured(seen: torch.Tensor, exact: torch.Tensor, tolerance: Tolerance = KERNELBENCH) -> Measures:
    return measure([seen], Expected([exact.to(seen.dtype)], [exact.double()], ""), tolerance)


def test_error_is_scaled_by_the_largest_reference_and_the_worst_element_is_indexed() -> None:
    exact = torch.tensor([[1.0, 2.0], [50.0, 4.0]])
    seen = exact.clone()
    seen[1, 1] += 0.5
    got = measured(seen, exact)
    assert math.isclose(got.relative, 0.01)
    assert math.isclose(got.absolute, 0.5)
    assert got.matched == 0.75
    assert got.worst == (0, 1, 1)


def test_nan_and_infinity_count_as_stray_only_where_the_reference_has_numbers() -> None:
    exact = torch.tensor([1.0, math.nan, math.inf, -math.inf])
    assert measured(exact.clone(), exact).stray == 0
    assert measured(exact.clone(), exact).matched == 1.0
    got = measured(torch.tensor([math.nan, math.nan, math.inf, math.inf]), exact)
    assert got.stray == 1
    assert got.matched == 0.5
    assert got.relative == math.inf


def test_where_only_eager_overflows_a_finite_and_right_answer_is_right() -> None:
    exact = torch.tensor([1e5, 1.0], dtype=torch.float64)
    own = exact.half()
    assert torch.isinf(own[0])
    for seen in (exact.half(), exact.float()):
        assert measure([seen], Expected([own], [exact], ""), profile("kernelbench", DType.F16)).matched == 1.0


def test_an_error_of_four_times_eagers_own_is_let_pass_and_more_is_not() -> None:
    exact = torch.tensor([1.0, 1000.0], dtype=torch.float64)
    expected = Expected([torch.tensor([1.01, 1000.0])], [exact], "")
    assert measure([torch.tensor([1.03, 1000.0])], expected, KERNELBENCH).matched == 1.0
    assert measure([torch.tensor([1.05, 1000.0])], expected, KERNELBENCH).matched == 0.5
    assert measure(expected.own, expected, KERNELBENCH, as_far_as_eager=False).matched == 0.5


def test_strict_holds_a_cancelled_element_to_the_typical_magnitude() -> None:
    exact = torch.full((100,), 10.0)
    exact[3] = 0.0
    seen = exact.clone()
    seen[3] = 5e-6
    strict = profile("strict", DType.F32, 16)
    assert measured(seen, exact, strict).matched == 1.0
    seen[3] = 5e-4
    assert measured(seen, exact, strict).matched == 0.99


def test_zeros_are_told_from_a_reference_that_is_zero() -> None:
    zeros = torch.zeros(4)
    assert measured(zeros, torch.ones(4)).zero
    got = measured(zeros, zeros)
    assert not got.zero
    assert got.reference_zero
    assert got.relative == 0.0


def test_an_empty_output_matches() -> None:
    empty = torch.zeros(0, 3)
    assert measured(empty, empty).matched == 1.0


def test_poison_is_nan_in_every_float_type_and_no_small_number_elsewhere() -> None:
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        tensor = torch.zeros(3, dtype=dtype)
        poison(tensor)
        assert bool(tensor.isnan().all())
    for dtype in (torch.int64, torch.int8):
        tensor = torch.zeros(3, dtype=dtype)
        poison(tensor)
        assert int(tensor[0]) < -80
