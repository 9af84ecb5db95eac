"""Views that are not dense, with given values. Runs in child processes (torch at the top)."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.harness.arena import poison

_OFFSET, _STEP = 1, 2


def strided_view(tensor: Tensor) -> Tensor:
    """The values of a tensor as a view into a larger buffer, poison between them.

    The last two dimensions are transposed in memory, with an offset and every second element left out. It is dense
    only where there is one element at most.
    """
    *leading, rows, columns = (1,) * (2 - tensor.dim()) + tuple(tensor.shape)
    buffer = torch.empty(*leading, columns, _OFFSET + _STEP * rows, dtype=tensor.dtype, device=tensor.device)
    poison(buffer)
    view = buffer[..., _OFFSET::_STEP].transpose(-1, -2)
    view = view if tensor.dim() >= 2 else view[0] if tensor.dim() == 1 else view[0, 0]
    view.copy_(tensor)
    return view
