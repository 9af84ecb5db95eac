"""The reference's weights for a candidate's module: by name and shape, then by order among equal shapes.

KernelBench builds both modules under one seed, so that parameters made in the same order with the same shapes get the
same numbers; copying by order is what that comes to without telling anybody the seed. Runs only in child processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Weights:
    """What became of each tensor of the module's state_dict: names copied by name, by order, and left as they were.

    ``unused`` are the reference's parameters that no tensor of the module took.
    """

    by_name: tuple[str, ...]
    by_order: tuple[str, ...]
    own: tuple[str, ...]
    unused: tuple[str, ...]

    def form(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "by_name": list(self.by_name),
            "by_order": list(self.by_order),
            "own": list(self.own),
            "unused": list(self.unused),
        }


def adopt(model: torch.nn.Module, parameters: Mapping[str, Tensor]) -> Weights:
    """Copy the reference's parameters into the module's own, in place."""
    state = {name: tensor for name, tensor in model.state_dict().items() if _fillable(tensor)}
    left = dict(parameters)
    by_name, by_order, own = [], [], []
    for name, tensor in state.items():
        if name in left and left[name].shape == tensor.shape:
            tensor.copy_(left.pop(name))
            by_name.append(name)
    for name, tensor in state.items():
        if name in by_name:
            continue
        match = next((other for other, given in left.items() if _alike(given, tensor)), None)
        if match is None:
            own.append(name)
        else:
            tensor.copy_(left.pop(match))
            by_order.append(name)
    return Weights(tuple(by_name), tuple(by_order), tuple(own), tuple(left))


def _fillable(tensor: Any) -> bool:
    return isinstance(tensor, Tensor) and not torch.nn.parameter.is_lazy(tensor)


def _alike(given: Tensor, tensor: Tensor) -> bool:
    return bool(given.shape == tensor.shape and given.is_floating_point() == tensor.is_floating_point())
