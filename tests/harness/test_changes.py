"""Inputs with one element changed, and views that are not dense."""

from __future__ import annotations

import pytest
import torch

from kernels.dtypes import DType
from kernels.harness.changes import Change, change_all, change_one
from kernels.harness.strided import strided_view


def test_one_element_becomes_another_of_its_tensors_values_and_the_rest_stays() -> None:
    floats, whole = torch.randn(7, 9), torch.arange(5)
    for _ in range(20):
        changed = change_one([whole, floats])
        assert changed is not None
        inputs, where = changed
        assert inputs[0] is whole, "tensors of numbers come first"
        different = (inputs[1] != floats).nonzero()
        assert len(different) == 1
        assert where == f"element {different[0].tolist()} of input 1 changed"
        assert float(inputs[1][tuple(different[0])]) in (float(floats.max()), float(floats.min()))


def test_indices_stay_legal() -> None:
    labels = torch.randint(0, 3, (50,))
    changed = change_one([labels])
    assert changed is not None
    assert set(changed[0][0].tolist()) <= set(labels.tolist())
    assert int((changed[0][0] != labels).sum()) == 1


def test_without_two_different_values_nothing_can_be_changed() -> None:
    assert change_one([torch.ones(4, 4), torch.tensor(3.0)]) is None
    assert change_one([]) is None


@pytest.mark.parametrize("dtype", list(DType))
def test_inputs_of_every_type_can_be_changed(dtype: DType) -> None:
    given = (torch.arange(12) % 3).to(getattr(torch, dtype.torch_name))
    changed = change_one([given])
    assert changed is not None
    (one,), _ = changed
    assert one.dtype == given.dtype
    assert int((one.double() != given.double()).sum()) == 1
    scaled, shifted = change_all(given, Change.SCALED), change_all(given, Change.SHIFTED)
    assert scaled.dtype == shifted.dtype == given.dtype
    assert torch.equal(scaled.double(), given.double() * (10 if dtype.is_float else 1))
    assert torch.equal(shifted.double(), given.double() + (5 if dtype.is_float else 0))


@pytest.mark.parametrize("shape", [(12,), (4, 6), (2, 3, 4, 5), (5, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.bool])
def test_a_strided_view_has_the_values_and_is_not_dense(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    given = (torch.rand(shape) * 5).to(dtype)
    view = strided_view(given)
    assert torch.equal(view, given)
    assert view.dtype == dtype
    assert not view.is_contiguous()
    assert view.storage_offset() > 0
    assert view.untyped_storage().nbytes() > given.untyped_storage().nbytes()


def test_read_as_dense_a_strided_view_gives_poison() -> None:
    given = torch.ones(4, 6)
    assert bool(torch.as_strided(strided_view(given), (4, 6), (6, 1)).isnan().any())


@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (3, 0)])
def test_what_cannot_be_strided_keeps_its_values(shape: tuple[int, ...]) -> None:
    given = torch.ones(shape)
    assert torch.equal(strided_view(given), given)
