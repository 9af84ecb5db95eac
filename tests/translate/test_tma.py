"""What a first program does with rows that TMA cannot read."""

from __future__ import annotations

import pytest

from kernels.dsl.views import fresh, transpose
from kernels.dtypes import DType
from kernels.translate import tma


@pytest.mark.parametrize(
    ("m", "n", "k", "aligned", "math"),
    [
        (512, 512, 512, True, "bf16x6"),
        (512, 512, 511, False, "bf16x6"),
        (512, 510, 511, False, "f32"),
        (16, 16, 17, False, "f32"),
    ],
)
def test_odd_rows_are_split_where_the_result_can_be_written(
    m: int, n: int, k: int, aligned: bool, math: str
) -> None:
    left, right = fresh("x", DType.F32, (m, k)), transpose(fresh("w", DType.F32, (n, k)))
    assert tma.aligned(left, right) is aligned
    assert tma.exact_math(left, right) == math
