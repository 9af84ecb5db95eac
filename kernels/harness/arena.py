"""One sealed block of shared memory a child: parameters, input sets and output slots, at fixed places.

The supervisor makes it, the child maps it. Its size is sealed, so a child cannot cut it off under the supervisor's
feet. Only the layout travels over the channel; the bytes never do. No torch at the top: the supervisor lays out the
arena while torch is still being imported.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernels.dtypes import DType
from kernels.problems.inspection import Signature, TensorSpec

if TYPE_CHECKING:
    from torch import Tensor

INPUT_SETS = 2
"""How many sets of inputs a child can hold; timed calls go through them in turn."""

MAXIMUM_SLOTS = 10
SLOT_BUDGET_BYTES = {"host": 256 * 2**20, "cuda": 2**30}
"""A card's memory is large, and each block of calls there costs as much as many of its calls."""
_ALIGNMENT = 256
_POISON = 0xFF
POISON_OF_INTEGERS = 0xA5

_F_ADD_SEALS = 1033
_SEALS = 0x1 | 0x2 | 0x4
"""F_SEAL_SEAL, F_SEAL_SHRINK and F_SEAL_GROW of linux/fcntl.h; Python names them from 3.13 on."""


@dataclass(frozen=True, slots=True)
class Region:
    """A contiguous tensor at ``offset`` bytes of the arena."""

    offset: int
    dtype: DType
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return TensorSpec("", self.dtype, self.shape).bytes


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything lies. ``slots`` are the timed output slots; the last of ``outputs`` is for warm-up."""

    parameters: dict[str, Region]
    inputs: tuple[tuple[Region, ...], ...]
    outputs: tuple[tuple[Region, ...], ...]
    total_bytes: int

    @property
    def slots(self) -> int:
        return len(self.outputs) - 1

    @property
    def warmup_slot(self) -> int:
        return len(self.outputs) - 1


def lay_out(signature: Signature, device: str = "host") -> Layout:
    """Two input sets, and as many output slots (1 to 10, and one for warm-up) as the device's budget holds."""
    end = 0

    def place(spec: TensorSpec) -> Region:
        nonlocal end
        region = Region(end, spec.dtype, spec.shape)
        end = -(-(end + max(spec.bytes, 1)) // _ALIGNMENT) * _ALIGNMENT
        return region

    output_bytes = max(sum(spec.bytes for spec in signature.outputs), 1)
    slots = min(max(SLOT_BUDGET_BYTES[device] // output_bytes, 1), MAXIMUM_SLOTS)
    return Layout(
        parameters={spec.name: place(spec) for spec in signature.parameters},
        inputs=tuple(tuple(place(spec) for spec in signature.inputs) for _ in range(INPUT_SETS)),
        outputs=tuple(tuple(place(spec) for spec in signature.outputs) for _ in range(slots + 1)),
        total_bytes=end or _ALIGNMENT,
    )


def create(layout: Layout) -> int:
    """A file descriptor of fresh shared memory of the layout's size, which nobody can change. Caller closes it."""
    descriptor = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, layout.total_bytes)
    fcntl.fcntl(descriptor, _F_ADD_SEALS, _SEALS)
    return descriptor


def layout_form(layout: Layout) -> dict[str, Any]:
    """The layout as JSON, without cattrs: a child has no other use for that import."""
    return {
        "parameters": {name: _region_form(region) for name, region in layout.parameters.items()},
        "inputs": [[_region_form(region) for region in regions] for regions in layout.inputs],
        "outputs": [[_region_form(region) for region in regions] for regions in layout.outputs],
        "total_bytes": layout.total_bytes,
    }


def layout_from_form(form: Mapping[str, Any]) -> Layout:
    """The reverse of ``layout_form``."""
    return Layout(
        parameters={name: _region(region) for name, region in form["parameters"].items()},
        inputs=tuple(tuple(_region(region) for region in regions) for regions in form["inputs"]),
        outputs=tuple(tuple(_region(region) for region in regions) for regions in form["outputs"]),
        total_bytes=form["total_bytes"],
    )


def _region_form(region: Region) -> list[Any]:
    return [region.offset, region.dtype.value, list(region.shape)]


def _region(form: Sequence[Any]) -> Region:
    return Region(form[0], DType(form[1]), tuple(form[2]))


class Arena:
    """The mapped memory as tensors that share it: a file's, or ``card``, the same as bytes on a card."""

    def __init__(self, descriptor: int, layout: Layout, card: Tensor | None = None) -> None:
        self.layout = layout
        self._card = card
        self._memory = mmap.mmap(descriptor, layout.total_bytes) if card is None else b""
        self.parameters = {name: self._tensor(region) for name, region in layout.parameters.items()}
        self.inputs = [[self._tensor(region) for region in regions] for regions in layout.inputs]
        self.outputs = [[self._tensor(region) for region in regions] for regions in layout.outputs]

    def _tensor(self, region: Region) -> Tensor:
        import torch

        dtype = getattr(torch, region.dtype.torch_name)
        count = TensorSpec("", region.dtype, region.shape).elements
        if count == 0:
            return torch.empty(region.shape, dtype=dtype, device="cpu" if self._card is None else self._card.device)
        if self._card is not None:
            return self._card[region.offset : region.offset + region.bytes].view(dtype).reshape(region.shape)
        flat = torch.frombuffer(self._memory, dtype=dtype, count=count, offset=region.offset)
        return flat.reshape(region.shape)


def poison(tensor: Tensor) -> None:
    """Fill a contiguous tensor with what no right answer looks like: NaN in float types, 0xA5 bytes in whole numbers.

    On a CPU by one thread: several would wait for each other where other processes have the cores.
    """
    import torch

    if tensor.numel() == 0:
        return
    value = _POISON if tensor.is_floating_point() else POISON_OF_INTEGERS
    if tensor.device.type == "cpu":
        ctypes.memset(tensor.data_ptr(), value, tensor.nbytes)
    else:
        tensor.reshape(-1).view(torch.uint8).fill_(value)


def copy_over(target: Tensor, source: Tensor) -> None:
    """Copy to a tensor of the same type and shape; on a CPU by one thread, as ``poison`` does."""
    dense = target.is_contiguous() and source.is_contiguous() and not source.is_neg()
    if dense and target.device.type == source.device.type == "cpu":
        ctypes.memmove(target.data_ptr(), source.data_ptr(), target.nbytes)
    else:
        target.copy_(source)


def same_bits(left: Tensor, right: Tensor) -> bool:
    """Whether two contiguous tensors of one type and shape agree bit by bit, NaN included; compared where left is."""
    import torch

    if left.numel() == 0:
        return True
    right = right.to(left.device)
    return bool(torch.equal(left.reshape(-1).view(torch.uint8), right.reshape(-1).view(torch.uint8)))
