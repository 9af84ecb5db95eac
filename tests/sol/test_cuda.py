"""A card's peaks: what the measuring process prints, and the record made of it. The card itself is tests/gpu's."""

from __future__ import annotations

import pytest

from kernels.problems.inspection import Inspection
from kernels.records import from_json, to_json
from kernels.targets import Policy
from sol.bounds import Device, bound, card, count, cuda
from sol.bounds.errors import CardPeaksUnavailable
from tests.sol.graphs import gemm

PRINTED = """\
card NVIDIA H200
uuid GPU-01234567-89ab-cdef-0123-456789abcdef
sms 132
memory_bytes 150754820096
l2_bytes 62914560
copy_bytes_s 4.271000e+12
read_bytes_s 4.100000e+12
cache_copy_bytes_s 7.900000e+12
f16_flops 6.760000e+14
bf16_flops 6.900000e+14
tf32_flops 3.951000e+14
f32_flops 5.070000e+13
clock_mhz 1455
"""


def measured(text: str = PRINTED) -> Device:
    return cuda.device_of(*cuda.parse(text), "2026-01-01T00:00:00+00:00")


def test_a_device_is_made_of_what_is_printed() -> None:
    device = measured()
    assert (device.name, device.kind, device.source) == ("NVIDIA H200", "cuda", "measured")
    assert device.matrix_flops == {"f16": 6.76e14, "bf16": 6.9e14, "tf32": 3.951e14, "f32": 5.07e13}
    assert (device.copy_bytes_s, device.cache_bytes_s, device.cache_bytes) == (4.271e12, 7.9e12, 62_914_560)
    assert device.facts["clock_ghz"] == "1.455"
    assert device.facts["card"] == "h200-sxm"
    assert from_json(to_json(device), Device) == device


def test_the_vector_rates_are_the_specifications() -> None:
    assert measured().vector_flops == card("h200").vector_flops
    unknown = measured(PRINTED.replace("NVIDIA H200", "NVIDIA X1"))
    assert unknown.vector_flops == {"f32": 5.07e13}
    assert "card" not in unknown.facts


def test_a_clock_that_is_kept_back_is_absent() -> None:
    assert "clock_ghz" not in measured(PRINTED.replace("clock_mhz 1455\n", "")).facts


@pytest.mark.parametrize("line", ["CUDA error: out of memory", "f16_flops nan", "card"])
def test_a_line_that_is_no_peak_is_refused(line: str) -> None:
    with pytest.raises(CardPeaksUnavailable, match="printed"):
        cuda.parse(PRINTED + line)


@pytest.mark.parametrize("name", ["cache_copy_bytes_s", "bf16_flops", "card"])
def test_what_is_missing_is_named(name: str) -> None:
    lines = [line for line in PRINTED.splitlines() if not line.startswith(f"{name} ")]
    with pytest.raises(CardPeaksUnavailable, match=f"no value for {name}"):
        cuda.parse("\n".join(lines))


def bounds(problem: Inspection, device: Device) -> tuple[float, float]:
    found = bound(count(problem), problem, device, Policy.TF32)
    return found.steering_s, found.floor_s


def test_measured_rates_steer_and_the_specification_floors() -> None:
    problem = gemm(8192, 8192, 8192)
    steering, lowest = bounds(problem, measured())
    assert steering == pytest.approx(2 * 8192**3 / 3.951e14)
    assert lowest == pytest.approx(2 * 8192**3 / (132 * 2048 * 1.98e9))


def test_a_machine_without_a_card_says_so() -> None:
    with pytest.raises(CardPeaksUnavailable, match="sees no card"):
        cuda.measure_card()
