from __future__ import annotations

import itertools
import os

import pytest
import torch

from kernels.dtypes import DType
from kernels.harness import arena
from kernels.problems.inspection import Signature, TensorSpec
from tests.harness.programs import SIGNATURE


def test_two_maps_of_an_arena_share_every_tensor() -> None:
    layout = arena.lay_out(SIGNATURE)
    descriptor = arena.create(layout)
    try:
        ours, theirs = arena.Arena(descriptor, layout), arena.Arena(descriptor, layout)
        ours.inputs[1][0].fill_(3)
        theirs.outputs[4][0].fill_(5)
        assert bool((theirs.inputs[1][0] == 3).all())
        assert bool((ours.outputs[4][0] == 5).all())
        assert not ours.inputs[0][0].any()
        assert not ours.outputs[3][0].any()
    finally:
        os.close(descriptor)


def test_nobody_can_cut_the_arena_short() -> None:
    layout = arena.lay_out(SIGNATURE)
    descriptor = arena.create(layout)
    try:
        for size in (0, layout.total_bytes * 2):
            with pytest.raises(PermissionError):
                os.ftruncate(descriptor, size)
        assert os.fstat(descriptor).st_size == layout.total_bytes
    finally:
        os.close(descriptor)


def test_the_layout_survives_its_json_form() -> None:
    layout = arena.lay_out(SIGNATURE)
    assert arena.layout_from_form(arena.layout_form(layout)) == layout


def test_large_outputs_get_fewer_slots_and_empty_tensors_have_a_place() -> None:
    big = TensorSpec("y", DType.F32, (64, 2**20))
    assert arena.lay_out(Signature((), (), (big,), {})).slots == 1
    assert arena.lay_out(Signature((), (), (big,), {}), "cuda").slots == 4
    assert arena.lay_out(SIGNATURE).slots == arena.MAXIMUM_SLOTS
    layout = arena.lay_out(Signature((TensorSpec("x", DType.F32, (0, 3)),), (), (), {}))
    descriptor = arena.create(layout)
    try:
        assert arena.Arena(descriptor, layout).inputs[0][0].shape == torch.Size([0, 3])
    finally:
        os.close(descriptor)


def test_regions_do_not_overlap_and_are_aligned() -> None:
    layout = arena.lay_out(SIGNATURE)
    regions = [*layout.parameters.values(), *(r for s in (*layout.inputs, *layout.outputs) for r in s)]
    ordered = sorted(regions, key=lambda region: region.offset)
    assert all(region.offset % 256 == 0 for region in ordered)
    assert all(a.offset + a.bytes <= b.offset for a, b in itertools.pairwise(ordered))
    assert ordered[-1].offset + ordered[-1].bytes <= layout.total_bytes


def test_tensors_are_poisoned_whole_and_copied_by_value() -> None:
    source = torch.randn(3, 4)
    for target in (torch.zeros(3, 4), torch.zeros(4, 3).T, torch.zeros(3, 8)[:, ::2]):
        arena.copy_over(target, source)
        assert torch.equal(target, source)
    arena.poison(source)
    assert bool(source.isnan().all())
    whole = torch.zeros(5, dtype=torch.int32)
    arena.poison(whole)
    assert whole.unique().tolist() == [torch.tensor([0xA5] * 4, dtype=torch.uint8).view(torch.int32).item()]
    numbers = torch.randn(3, 4)
    negated = torch.complex(numbers, numbers).conj().imag
    assert negated.is_neg()
    target = torch.zeros(3, 4)
    arena.copy_over(target, negated)
    assert torch.equal(target, -numbers)
