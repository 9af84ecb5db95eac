"""What is done to inputs on purpose: other scales and means, and one element of one tensor.

Whoever remembers an answer by the address, the shape or a sample of its inputs does not see one element. Runs only in
the supervisor (torch at the top).
"""

from __future__ import annotations

import secrets
from enum import StrEnum

import torch
from torch import Tensor


class Change(StrEnum):
    """What is done to the inputs of a round: nothing, every float times 10, or every float plus 5."""

    NONE = "plain"
    SCALED = "scaled"
    SHIFTED = "shifted"


def change_all(tensor: Tensor, change: Change) -> Tensor:
    """The tensor with ``change`` done to every element; whole numbers stay as they are."""
    if change is Change.NONE or not tensor.is_floating_point():
        return tensor
    wide = _computable(tensor)
    return (wide * 10 if change is Change.SCALED else wide + 5).to(tensor.dtype)


def change_one(inputs: list[Tensor]) -> tuple[list[Tensor], str] | None:
    """The inputs with one element changed at a secret place, and where that was in words; the tensors given stay.

    The new value is one that the tensor holds elsewhere, so that it is legal: the largest, or the smallest where that
    one stood there. Tensors of numbers come before whole ones. None where no tensor has two different values.
    """
    order = sorted(range(len(inputs)), key=lambda i: (not inputs[i].is_floating_point(), secrets.randbits(32)))
    for index in order:
        tensor = inputs[index]
        if tensor.numel() < 2 or tensor.is_complex():
            continue
        flat = tensor.reshape(-1)
        wide = _computable(flat)
        low, high = wide.aminmax()
        if not bool(low != high):
            continue
        place = secrets.randbelow(flat.numel())
        changed = flat.clone()
        changed[place] = (low if bool(wide[place] == high) else high).to(flat.dtype)
        found = [changed.reshape(tensor.shape) if i == index else given for i, given in enumerate(inputs)]
        return found, f"element {_place(place, tensor.shape)} of input {index} changed"
    return None


def _computable(tensor: Tensor) -> Tensor:
    """Itself, and in FP32 where its floats have a byte: those torch converts, and computes nothing with."""
    return tensor.float() if tensor.is_floating_point() and tensor.element_size() == 1 else tensor


def _place(flat: int, shape: torch.Size) -> list[int]:
    index = []
    for extent in reversed(shape):
        flat, position = divmod(flat, extent)
        index.append(position)
    return index[::-1]
