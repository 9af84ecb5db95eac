"""What a card has to load before the first outputs can be compared, loaded while the problem's model is being made.

CUDA loads a kernel when it is first launched, which takes it a millisecond or more; checking and comparing have dozens.
So everything that is done to a card's tensors in a round is done once to small ones, beside other work. Runs only in
the supervisor (torch at the top), in a thread of its own; it decides nothing, and what fails here fails again later.
"""

from __future__ import annotations

import contextlib

import torch

from kernels.harness import cardmemory
from kernels.harness.arena import poison, same_bits
from kernels.harness.changes import change_one
from kernels.harness.comparison import Expected, disagree, magnitude, measure, moved
from kernels.harness.evaluation import EvaluationRequest, Tolerance
from kernels.harness.pieces import TILE

_ROWS = 2 * TILE + 1
"""Whole tiles and a part of one."""


def wake_card(request: EvaluationRequest) -> None:
    """Make this process's context on the card, and load what comparisons need there, then what products do.

    Every problem's outputs are compared; where its forward has products, it may have loaded cuBLAS itself by then.
    """
    cardmemory.wake()
    with contextlib.suppress(RuntimeError):
        for name in dict.fromkeys(spec.dtype.torch_name for spec in request.signature.outputs):
            rehearse(getattr(torch, name), request.tolerance, "cuda")
    cardmemory.wake(torch.float32, torch.float64)


def rehearse(dtype: torch.dtype, tolerance: Tolerance, device: str) -> None:
    """A round's comparisons of an output of one type on a device, right ones and wrong ones."""
    # Nothing of a generator is used up here: the problem's own code may draw from it meanwhile.
    own = (torch.arange(_ROWS * _ROWS, device=device) % 8).reshape(_ROWS, _ROWS).to(dtype)
    expected = Expected([own], [own.double()], "")
    expected.eager(tolerance)
    magnitude(expected)
    measure([own.clone()], expected, tolerance)
    disagree([own], [own.clone()], expected, tolerance)
    if (changed := change_one([own])) is not None:
        others = changed[0]
        moved(expected, Expected(others, [others[0].double()], ""))
        measure(others, expected, tolerance)
        same_bits(own, others[0])
        poison(others[0])
