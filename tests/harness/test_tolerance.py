from __future__ import annotations

import math

import pytest

from kernels.dtypes import DType
from kernels.harness.errors import UnknownTolerance
from kernels.harness.tolerance import PROFILES, profile


def test_kernelbench_is_1e_4_for_f32_and_1e_2_for_halves() -> None:
    assert profile("kernelbench", DType.F32).relative == 1e-4
    assert profile("kernelbench", DType.F32).absolute == 1e-4
    assert profile("kernelbench", DType.F16).absolute == 1e-2
    assert profile("kernelbench", DType.BF16).relative == 1e-2


def test_the_first_release_had_1e_2_for_everything() -> None:
    assert {profile("kernelbench-v0.1", t).relative for t in (DType.F32, DType.F16)} == {1e-2}


def test_strict_grows_with_the_square_root_of_the_reduction() -> None:
    short, long = profile("strict", DType.F32, 64), profile("strict", DType.F32, 4096)
    assert math.isclose(long.relative / short.relative, 8.0)
    assert math.isclose(short.relative, 8 * 2.0**-24 * 8)
    assert short.absolute == 0
    assert profile("strict", DType.F32, 1).relative < profile("strict", DType.F16, 1).relative


@pytest.mark.parametrize("dtype", [dtype for dtype in DType if dtype.is_float])
def test_strict_is_never_so_wide_that_zero_is_right_anywhere(dtype: DType) -> None:
    assert profile("strict", dtype, 1 << 24).relative <= 0.25


@pytest.mark.parametrize("name", PROFILES)
def test_whole_numbers_must_be_equal(name: str) -> None:
    tolerance = profile(name, DType.I64, 100)
    assert (tolerance.relative, tolerance.absolute) == (0.0, 0.0)


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownTolerance, match="kernelbench, kernelbench"):
        profile("loose", DType.F32)
