"""The problem's own ``Model`` under settings of torch: what each baseline but plain eager is.

Runs only in child processes of the harness that hold no candidate. ``prepare`` does, before anything is timed,
what a user does once: compile, or try settings and keep the fastest.
"""

from __future__ import annotations

import copy
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernels.harness import cardmemory
from kernels.harness.baselines import BaselineKind
from kernels.harness.devices import Device
from kernels.harness.module_runner import ModuleRunner, flatten, interleave

_TRIES, _WARMUPS = 5, 3


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to run a model: a name for people, TF32 or not, the memory format's name, the element type's."""

    name: str
    tf32: bool = False
    channels_last: bool = False
    half: str = ""


class BaselineRunner(ModuleRunner):
    """One baseline. ``form`` holds "path", "size", "baseline" and "policy" beside the constants."""

    def __init__(
        self, form: dict[str, Any], constants: dict[int, Any], device: Device, parameters: dict[str, Tensor]
    ) -> None:
        super().__init__(form["path"], form["size"], constants, device, parameters)
        self._baseline = BaselineKind(form["baseline"])
        self._policy = str(form["policy"])

    def load(self) -> float:
        """As any module; then the settings that hold for the whole process."""
        taken = super().load()
        if self.device.name == "cuda":
            # Now, beside the candidate's checks: nothing is timed yet.
            cardmemory.wake(torch.float32)
        if self._baseline is BaselineKind.TF32:
            _allow_tf32(True)
        return taken

    def prepare(self, inputs: Sequence[Tensor]) -> str:
        """Compile, or search; gives the settings in words. ``inputs`` are a set as later calls will see it."""
        if self._baseline is BaselineKind.COMPILE:
            self._compile(inputs)
            return "inductor, default mode"
        if self._baseline is BaselineKind.BEST:
            return self._search(inputs)
        return ""

    def _compile(self, inputs: Sequence[Tensor]) -> None:
        # Inductor starts a pool of processes and keeps its files under the temporary folder by default.
        for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRITON_HOME"):
            os.environ.setdefault(name, str(Path(tempfile.gettempdir(), name.lower())))
        from torch._inductor import config

        config.compile_threads = 1
        self.model = torch.compile(self.model)
        arguments = interleave(list(inputs), self.constants)
        for _ in range(_WARMUPS):
            self.model(*arguments)
        self.device.synchronize()

    def _search(self, inputs: Sequence[Tensor]) -> str:
        arguments = interleave(list(inputs), self.constants)
        found: list[tuple[float, str, Setting, Callable[..., Any]]] = []
        for setting in settings_for(self.device.name, self._policy, _shapes_of(self.model)):
            model = under(setting, self.model)
            try:
                found.append((self._seconds(model, arguments), setting.name, setting, model))
            except (RuntimeError, NotImplementedError, TypeError):
                # A model that does not run under a setting is not at its best there.
                continue
        _, name, setting, self.model = min(found, key=lambda one: one[:2])
        _allow_tf32(setting.tf32)
        return f"{name}; fastest of {len(found)} settings"

    def _seconds(self, model: Callable[..., Any], arguments: list[Any]) -> float:
        for _ in range(_WARMUPS):
            model(*arguments)
        self.device.synchronize()
        times = []
        for _ in range(_TRIES):
            began = time.perf_counter()
            model(*arguments)
            self.device.synchronize()
            times.append(time.perf_counter() - began)
        return statistics.median(times)


def settings_for(device: str, policy: str, dimensions: set[int]) -> list[Setting]:
    """What may be tried: TF32 and half only as far as the policy allows, channels_last where there are convolutions.

    ``dimensions`` are those of the model's parameters; convolutions in 2 and 3 dimensions have 4 and 5.
    """
    card = device == "cuda"
    precisions = [Setting("without TF32" if card else "defaults")]
    if card and policy in ("tf32", "half"):
        precisions.append(Setting("TF32", tf32=True))
    if policy == "half":
        precisions.append(Setting("half", tf32=card, half="float16" if card else "bfloat16"))
    found = list(precisions)
    if dimensions & {4, 5}:
        found += [
            Setting(f"{one.name}, channels_last", one.tf32, channels_last=True, half=one.half) for one in precisions
        ]
    return found


def under(setting: Setting, model: Any) -> Callable[..., Any]:
    """The model as a call under a setting; conversions of inputs and outputs are part of the call."""
    _allow_tf32(setting.tf32)
    if not setting.channels_last and not setting.half:
        return model  # type: ignore[no-any-return]
    ready = copy.deepcopy(model)
    half = getattr(torch, setting.half) if setting.half else None
    if half is not None:
        ready = ready.to(half)
    if setting.channels_last:
        for parameter in (*ready.parameters(), *ready.buffers()):
            parameter.data = _channels_last(parameter.data)

    def call(*arguments: Any) -> Any:
        results = ready(*[_converted(argument, half, setting.channels_last) for argument in arguments])
        if half is None:
            return results
        return [result.float() if result.dtype == half else result for result in flatten(results)]

    return call


def _converted(argument: Any, half: Any, channels_last: bool) -> Any:
    if not isinstance(argument, Tensor):
        return argument
    if half is not None and argument.dtype == torch.float32:
        argument = argument.to(half)
    return _channels_last(argument) if channels_last else argument


def _channels_last(tensor: Tensor) -> Tensor:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return tensor.contiguous(memory_format=formats[tensor.dim()]) if tensor.dim() in formats else tensor


def _shapes_of(model: Any) -> set[int]:
    return {parameter.dim() for parameter in model.parameters()}


def _allow_tf32(allowed: bool) -> None:
    """TF32 for FP32 products; for convolutions torch allows it by default, and a search turns it off with the rest."""
    torch.set_float32_matmul_precision("high" if allowed else "highest")
    torch.backends.cudnn.allow_tf32 = allowed
