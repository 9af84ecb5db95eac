"""The two bounds, by hand-worked values and by what must always hold."""

from __future__ import annotations

import pytest

from kernels.problems.inspection import Inspection
from kernels.targets import Policy
from sol.bounds import Bounds, Device, bound, card, count
from tests.sol.graphs import Sketch, gemm

H100 = card("h100-sxm")
CPU = Device(
    name="a processor", kind="cpu", matrix_flops={"f32": 4e11, "f64": 2e11, "bf16": 6e12},
    vector_flops={"f32": 4e11, "f64": 2e11}, copy_bytes_s=4e10, cache_bytes_s=2e11, cache_bytes=2**25,
    source="measured", measured_at="2026-01-01T00:00:00+00:00", facts={},
)  # fmt: skip


def bounds(problem: Inspection, device: Device = H100, policy: Policy = Policy.TF32) -> Bounds:
    return bound(count(problem), problem, device, policy)


def test_a_4096_gemm_in_bf16_on_an_h100_takes_at_least_0_138_ms_and_0_030_ms() -> None:
    found = bounds(gemm(4096, 4096, 4096, "bf16"))
    assert found.flops == 137_438_953_472
    assert found.bytes == 100_663_296
    assert found.compute_s == pytest.approx(137_438_953_472 / (132 * 1.83e9 * 4096))
    assert 0.138e-3 <= found.compute_s <= 0.140e-3
    assert 0.030e-3 <= found.memory_s <= 0.0301e-3
    assert found.bound_class == "compute"
    assert found.steering_s == found.compute_s


def test_the_floor_of_that_gemm_is_the_specification_at_the_highest_clock() -> None:
    found = bounds(gemm(4096, 4096, 4096, "bf16"))
    assert found.floor_s == pytest.approx(137_438_953_472 / (132 * 1.98e9 * 4096))


@pytest.mark.parametrize(
    ("policy", "rate"),
    [(Policy.STRICT, 132 * 1.83e9 * 256), (Policy.TF32, 132 * 1.83e9 * 2048), (Policy.HALF, 132 * 1.83e9 * 4096)],
)
def test_the_policy_names_the_steering_rate_of_fp32_data(policy: Policy, rate: float) -> None:
    assert bounds(gemm(4096, 4096, 4096), policy=policy).compute_s == pytest.approx(137_438_953_472 / rate)


def test_the_strict_floor_allows_fp32_made_of_three_half_products() -> None:
    found = bounds(gemm(4096, 4096, 4096), policy=Policy.STRICT)
    assert found.floor_s == pytest.approx(3 * 137_438_953_472 / (132 * 1.98e9 * 4096))


@pytest.mark.parametrize(("policy", "rate"), [(Policy.STRICT, 4e11), (Policy.TF32, 4e11), (Policy.HALF, 6e12)])
def test_a_processor_without_tf32_falls_back_to_f32_and_takes_bf16_for_half(policy: Policy, rate: float) -> None:
    assert bounds(gemm(1024, 1024, 1024), CPU, policy).compute_s == pytest.approx(2 * 1024**3 / rate)


def test_half_falls_back_to_f32_where_no_half_type_was_measured() -> None:
    plain = Device("p", "cpu", {"f32": 1e11}, {"f32": 1e11}, 1e10, None, None, "measured", None, {})
    assert bounds(gemm(512, 512, 512), plain, Policy.HALF).compute_s == pytest.approx(2 * 512**3 / 1e11)


def test_a_matrix_vector_product_is_memory_bound() -> None:
    found = bounds(gemm(4096, 1, 4096))
    assert found.bound_class == "memory"
    assert found.steering_s == pytest.approx((4096 * 4096 + 4096 + 4096) * 4 / 3.35e12)


def test_compute_is_the_slower_pipe_and_not_the_sum() -> None:
    sketch = Sketch()
    a, b = sketch.input("a", 256, 256), sketch.input("b", 256, 256)
    y = sketch.op("mm", a, b, shape=(256, 256))
    for _ in range(50):
        y = sketch.op("gelu", y, shape=(256, 256))
    found = bounds(sketch.done(y), CPU)
    assert found.compute_s == pytest.approx(2 * 256**3 / 4e11)
    assert any("side by side" in line for line in found.arithmetic)


def test_the_arithmetic_can_be_checked_by_hand() -> None:
    lines = bounds(gemm(4096, 4096, 4096)).arithmetic
    assert "matrix, f32 data: 137,438,953,472 FLOP ÷ 494.7 TFLOP/s (tf32, specification) = 277.8 µs" in lines
    assert "memory: (134,217,728 read + 67,108,864 written) B ÷ 3.35 TB/s (copy, specification) = 60.1 µs" in lines
    assert "steering bound = max(277.8 µs, 60.1 µs) = 277.8 µs (compute-bound)" in lines
    assert any(line.startswith("floor = ") for line in lines)


def test_intensity_and_ridge_are_in_flop_per_byte() -> None:
    found = bounds(gemm(4096, 4096, 4096))
    assert found.intensity == pytest.approx(137_438_953_472 / 201_326_592)
    assert found.ridge == pytest.approx(132 * 1.83e9 * 2048 / 3.35e12)


def test_a_set_that_fits_the_cache_has_a_floor_at_the_cache_rate() -> None:
    found = bounds(gemm(512, 1, 512), CPU)
    total = (512 * 512 + 1024) * 4
    assert found.floor_s == pytest.approx(total / 2.2e11)
    assert found.memory_s == pytest.approx(total / 4e10)


def test_of_a_larger_set_the_floor_takes_the_rest_from_memory() -> None:
    sketch = Sketch()
    x = sketch.input("x", 2**26)
    found = bounds(sketch.done(sketch.op("relu", x, shape=(2**26,))), CPU)
    assert found.floor_s == pytest.approx((2**29 - 2**25) / 4.4e10)


def test_unknown_operations_are_said_in_the_bounds_too() -> None:
    sketch = Sketch()
    x = sketch.input("x", 64)
    found = bounds(sketch.done(sketch.op("aten.frobnicate.default", x, shape=(64,))))
    assert found.unknown_ops == ("aten.frobnicate.default",)
    assert any("aten.frobnicate.default" in line for line in found.arithmetic)


def test_a_problem_without_a_graph_is_bounded_by_its_outputs_alone() -> None:
    traced = gemm(1024, 1024, 1024)
    blind = Inspection("default", traced.signature, None, "no trace")
    found = bounds(blind, CPU)
    assert found.floor_s == pytest.approx(2**22 / 2.2e11)
    assert found.steering_s == pytest.approx(3 * 2**22 / 4e10)


def test_double_precision_keeps_its_own_rate_under_every_policy() -> None:
    for policy in Policy:
        assert bounds(gemm(512, 512, 512, "f64"), CPU, policy).compute_s == pytest.approx(2 * 512**3 / 2e11)


@pytest.mark.parametrize("policy", list(Policy))
@pytest.mark.parametrize("device", [H100, CPU], ids=["card", "processor"])
@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (16, 4096, 64), (777, 333, 111), (4096, 4096, 4096)])
def test_a_floor_is_positive_and_never_above_the_steering_bound(
    m: int, n: int, k: int, device: Device, policy: Policy
) -> None:
    found = bounds(gemm(m, n, k), device, policy)
    assert 0 < found.floor_s <= found.steering_s
