"""Executes the ``Model`` of a Python file as a subject: how torch eager is measured, by the candidate's own loop.

Runs only in child processes. The model's weights come from the arena, not from a seed, so it computes with the
same numbers as every other subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernels.harness.devices import Device
from kernels.harness.errors import SubjectRaised
from kernels.harness.plan_runner import BoundStep, first_line


class ModuleRunner:
    """A problem file's Model at one size. ``constants`` are forward's arguments that are no tensors, by position."""

    def __init__(
        self, path: str, size: str, constants: dict[int, Any], device: Device, parameters: dict[str, Tensor]
    ) -> None:
        from kernels.problems.load import build_model, load_module

        self.device = device
        self.constants = constants
        self._parameters = parameters
        model = build_model(load_module(Path(path), size), 0)
        self.model = model.to(device.torch_device)

    def load(self) -> float:
        """Take over the arena's parameters; nothing is done once for a plain module, so it took 0 seconds."""
        state = self.model.state_dict()
        with torch.no_grad():
            for name, tensor in self._parameters.items():
                state[name].copy_(tensor)
        self.device.synchronize()
        return 0.0

    def bind(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> ModuleBinding:
        """One call of the model on these inputs. ``outputs`` is only where results are copied to afterwards."""
        return ModuleBinding(self, interleave(list(inputs), self.constants))

    def poison_intermediates(self) -> None:
        """A module owns no memory between its operations that could be poisoned."""


class ModuleBinding:
    """The model with its arguments filled in."""

    def __init__(self, runner: ModuleRunner, arguments: list[Any]) -> None:
        self._model = runner.model
        self._arguments = arguments
        self._results: Any = None
        self.calls = [BoundStep("forward", True, self.__call__)]

    def __call__(self) -> None:
        """One call. The result of the call before is freed first, outside nobody's time but its own."""
        self._results = self._model(*self._arguments)

    def poison_outputs(self) -> None:
        """A module's results are its own or torch's memory, which is not ours to write to."""

    def release(self) -> None:
        """Let go of the result, so that the next call finds the allocator as a user's would."""
        self._results = None

    def outputs(self) -> list[Tensor]:
        """The results of the last call, contiguous."""
        return [tensor.contiguous() for tensor in flatten(self._results)]


def interleave(tensors: list[Tensor], constants: dict[int, Any]) -> list[Any]:
    """forward's arguments by position: tensors in order, with the constants at their places."""
    arguments: list[Any] = []
    rest = iter(tensors)
    for position in range(len(tensors) + len(constants)):
        arguments.append(constants[position] if position in constants else next(rest))
    return arguments


def structure(results: Any) -> str:
    """How a forward's result is put together, in words: "a tensor", "[a tensor, a tensor]" for a tuple or list."""
    if isinstance(results, list | tuple):
        return "[" + ", ".join(map(structure, results)) + "]"
    return "a tensor" if isinstance(results, Tensor) else f"a {type(results).__name__}"


def flatten(results: Any) -> list[Tensor]:
    """The tensors of a forward's result: one, or those of a tuple or list, in order."""
    if isinstance(results, Tensor):
        return [results]
    if isinstance(results, list | tuple):
        return [tensor for result in results for tensor in flatten(result)]
    error = TypeError(f"forward gave {type(results).__name__}, which is no tensor")
    raise SubjectRaised(subject="forward", reason=first_line(error))
