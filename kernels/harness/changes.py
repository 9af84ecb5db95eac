"""A small change to inputs: one element of one tensor. Runs only in the supervisor (torch at the top).

Whoever remembers an answer by the address, the shape or a sample of its inputs does not see it.
"""

from __future__ import annotations

import secrets

import torch
from torch import Tensor


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
        low, high = flat.aminmax()
        if not bool(low != high):
            continue
        place = secrets.randbelow(flat.numel())
        changed = flat.clone()
        changed[place] = low if bool(flat[place] == high) else high
        found = [changed.reshape(tensor.shape) if i == index else given for i, given in enumerate(inputs)]
        return found, f"element {_place(place, tensor.shape)} of input {index} changed"
    return None


def _place(flat: int, shape: torch.Size) -> list[int]:
    index = []
    for extent in reversed(shape):
        flat, position = divmod(flat, extent)
        index.append(position)
    return index[::-1]
