"""Leaving a card's L2 cache without anything of use, and as a rule without anything that is still to be written back.

Runs only in processes that use the card (torch at the top).
"""

from __future__ import annotations

import torch

_ROW = 1024


class Flush:
    """Reads ``size`` bytes of the card's memory, in one kernel.

    Written lines would be as good at pushing out what L2 holds, but they stay there until something takes their place:
    the timed call would then pay for the write-back of up to a whole L2, which on an H200 makes a kernel that reads
    256 MB look 13 % slower and one that copies them 4 %. With ``writes`` it does write, as other benchmarks do.
    """

    def __init__(self, size: int, *, writes: bool = False) -> None:
        self._writes = writes
        rows = -(-size // (4 * _ROW))
        # Sums of zeros are as quick as any, and cannot raise a flag that is looked at.
        self._source = torch.zeros(rows, _ROW, device="cuda")
        self._sums = torch.empty(rows, device="cuda")
        self._read = torch.sum

    def __call__(self) -> None:
        """Launch it on the current stream, and do not wait."""
        if self._writes:
            self._source.zero_()
        else:
            self._read(self._source, 1, out=self._sums)
