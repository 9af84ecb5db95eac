"""The comparisons that are made once ahead on a card, tried on a CPU: they must run for each type that outputs have."""

from __future__ import annotations

import pytest
import torch

from kernels.dtypes import DType
from kernels.harness.rehearsal import rehearse
from kernels.harness.tolerance import PROFILES, profile


@pytest.mark.parametrize("dtype", list(DType))
def test_every_type_can_be_rehearsed(dtype: DType) -> None:
    state = torch.get_rng_state()
    for name in PROFILES:
        rehearse(getattr(torch, dtype.torch_name), profile(name, dtype), "cpu")
    assert torch.equal(torch.get_rng_state(), state), "the problem's own code draws from this generator"
