from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from kernels.dtypes import DType
from kernels.harness.arena import poison
from kernels.harness.comparison import Expected, Measures, disagree, measure, moved
from kernels.harness.correctness import Tile
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


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_strict_sees_zeros_in_a_tile_of_a_long_sum_in_16_bits(dtype: DType) -> None:
    kind = getattr(torch, dtype.torch_name)
    exact = torch.randn(128, 128, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) * 300
    strict = profile("strict", dtype, 1 << 18)
    seen = exact.to(kind)
    expected = Expected([exact.to(kind)], [exact], "")
    assert measure([seen], expected, strict).matched == 1.0
    seen[:64, :64] = 0
    assert measure([seen], expected, strict).matched < 0.85


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


SHAPES = [(), (1,), (130,), (70, 130), (3, 5, 70), (2, 3, 65, 66), (40, 9, 7), (600, 1), (1, 300_000), (700, 800)]


@pytest.mark.parametrize("shape", SHAPES)
def test_measures_in_pieces_are_those_of_the_whole(shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    exact = torch.randn(shape, dtype=torch.float64)
    own = exact.float()
    seen = own + 1e-3 * torch.randn(shape)
    got = measure([seen], Expected([own], [exact], ""), KERNELBENCH).errors
    error = (seen.double() - exact).abs()
    typical = exact.square().mean().sqrt()
    assert got.absolute == float(error.max())
    assert math.isclose(got.relative, float(error.max() / exact.abs().max()))
    assert math.isclose(got.elementwise, float((error / exact.abs().clamp_min(typical)).max()))
    assert math.isclose(got.normwise, float(error.norm() / exact.norm()))
    assert got.matched_float64 == float((error <= 1e-4 + 1e-4 * exact.abs()).double().mean())


@pytest.mark.parametrize("name", ["kernelbench", "kernelbench-v0.1"])
def test_the_share_in_own_precision_is_that_of_torch_allclose(name: str) -> None:
    """KernelBench calls torch.allclose(reference, candidate, rtol=t, atol=t)."""
    torch.manual_seed(2)
    rule = profile(name, DType.F32)
    own = torch.randn(300, 200) * 10
    own[0, :4] = torch.tensor([math.inf, -math.inf, math.nan, 1.0])
    seen = own + 3 * rule.absolute * torch.randn(300, 200) * (1 + own.nan_to_num(0, 0, 0).abs())
    seen[0, :5] = torch.tensor([math.inf, math.inf, math.nan, math.inf, math.nan])
    close = torch.isclose(own, seen, rtol=rule.relative, atol=rule.absolute)
    assert 0.1 < float(close.double().mean()) < 0.9
    got = measure([seen], Expected([own], [own.double()], ""), rule)
    assert math.isclose(got.errors.matched_own, float(close.double().mean()), abs_tol=2 / own.numel())


def test_under_kernelbench_an_element_as_eager_has_it_is_right_however_far_eager_is_off() -> None:
    exact = torch.ones(64, 64, dtype=torch.float64)
    own = torch.full((64, 64), 1.01)
    expected = Expected([own], [exact], "")
    seen = torch.full((64, 64), 1.05)
    assert measure([own], expected, KERNELBENCH).matched == 1.0
    assert measure([seen], expected, KERNELBENCH).matched == 0.0
    assert measure([own], expected, profile("strict", DType.F32), as_far_as_eager=False).matched == 0.0


@pytest.mark.parametrize(
    ("shape", "where", "tile"),
    [
        ((200, 300), (slice(64, 128), slice(256, 300)), Tile(0, (200, 300), (), (64, 128), (256, 300), 1.0)),
        ((3, 4, 64, 64), (2, 1), Tile(0, (3, 4, 64, 64), (2, 1), (0, 64), (0, 64), 1.0)),
        ((5000,), slice(4992, 5000), Tile(0, (5000,), (), (0, 1), (4992, 5000), 1.0)),
        ((2, 900, 700), (1, slice(832, 896), slice(0, 64)), Tile(0, (2, 900, 700), (1,), (832, 896), (0, 64), 1.0)),
    ],
)
def test_a_skipped_tile_is_the_worst_one_and_its_error_is_all_of_it(shape: Any, where: Any, tile: Tile) -> None:
    exact = torch.ones(shape, dtype=torch.float64)
    own = exact.float()
    seen = own + 1e-6
    seen[where] = 0
    got = measure([seen], Expected([own], [exact], ""), KERNELBENCH).errors.tile
    assert got is not None
    assert replace(got, error=1.0) == tile
    assert math.isclose(got.error, 1.0, rel_tol=1e-4)


def test_a_tile_with_nan_is_worse_than_any_other() -> None:
    exact = torch.ones(128, 128, dtype=torch.float64)
    seen = exact.float()
    seen[0, 0] = 1e30
    seen[100, 100] = math.nan
    got = measure([seen], Expected([exact.float()], [exact], ""), KERNELBENCH).errors
    assert got.tile is not None
    assert (got.tile.rows, got.tile.columns, got.tile.error) == ((64, 128), (64, 128), math.inf)
    assert (got.stray, got.unwritten) == (1, 0)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32]
)
def test_what_still_holds_poison_is_counted_as_not_written(dtype: torch.dtype) -> None:
    exact = torch.ones(70, 70)
    seen = exact.to(dtype).clone()
    poison(seen[3])
    got = measure([seen], Expected([exact.to(dtype)], [exact.double()], ""), KERNELBENCH).errors
    assert got.unwritten == 70
    assert got.stray == (70 if dtype.is_floating_point else 0)


def test_two_calls_disagree_beyond_what_two_right_answers_could() -> None:
    exact = torch.full((100, 100), 10.0, dtype=torch.float64)
    expected = Expected([exact.float()], [exact], "")
    first = exact.float()
    again = first.clone()
    again[0, 0] += 2e-3
    assert disagree([first], [again], expected, KERNELBENCH) == (float(again[0, 0]) - 10.0, 0)
    again[1, 1] += 3e-3
    assert disagree([first], [again], expected, KERNELBENCH)[1] == 1
    again[2, 2] = math.nan
    assert disagree([first], [again], expected, KERNELBENCH)[1] == 2


def test_whole_numbers_must_be_equal_beside_an_output_of_floats() -> None:
    exact = torch.tensor([20_000.0, 5.0], dtype=torch.float64)
    got = measure([torch.tensor([20_001, 5])], Expected([exact.long()], [exact], ""), KERNELBENCH)
    assert got.matched == 0.5


def test_how_far_the_reference_moved_is_told_by_its_magnitude() -> None:
    one = Expected([torch.ones(3, 3)], [torch.full((3, 3), 4.0, dtype=torch.float64)], "")
    other = Expected([torch.ones(3, 3)], [torch.full((3, 3), 5.0, dtype=torch.float64)], "")
    assert moved(one, one) == [0.0]
    assert moved(one, other) == [0.2]
