"""Compiles a stage with the installed g++ and runs it on torch tensors through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from kernels.codegen import emit
from kernels.codegen.emission import Launch
from kernels.dsl.expressions import chain_values
from kernels.dsl.ir import Stage, Value
from kernels.toolchain.build import build
from kernels.toolchain.cache import Cache
from kernels.toolchain.report import BuildOutcome
from tests.codegen.stages import program

CANARY = 0x5A


class Runner:
    """Builds through one cache, so that tests that share a unit compile it once."""

    def __init__(self, root: Path) -> None:
        self.cache = Cache(root)

    def run(self, stage: Stage, storages: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """The stage's result; ``storages`` maps storage names to flat tensors. Checks that no byte behind the
        workspace or the result is written."""
        emission = emit(program(stage))
        report = build(emission, cache=self.cache)
        assert report.outcome is BuildOutcome.BUILT, report.units[0].log
        assert report.units[0].warnings == ()
        (launch,) = emission.plan.steps
        assert isinstance(launch, Launch)
        key = report.units[0].artifact
        assert key is not None
        function = getattr(ctypes.CDLL(str(self.cache.path(key))), launch.symbol)
        values = {value.name: value for value in (*stage.operands, *chain_values(stage.chain))}
        return _call(function, launch, values, storages, stage.result)


def _call(
    function: Any, launch: Launch, values: Mapping[str, Value], storages: Mapping[str, torch.Tensor], result: Value
) -> torch.Tensor:
    dtype = getattr(torch, result.dtype.torch_name)
    padded = torch.full((result.elements * result.dtype.bytes + 256,), CANARY, dtype=torch.uint8)
    workspace = torch.full((launch.workspace_bytes + 256,), CANARY, dtype=torch.uint8)
    pointers = [
        storages[values[name].storage].data_ptr() + values[name].offset * values[name].dtype.bytes
        for name in launch.pointers
    ]
    code = function(
        *[ctypes.c_void_p(pointer) for pointer in pointers],
        ctypes.c_void_p(padded.data_ptr()),
        *[ctypes.c_int64(size) for size in launch.sizes],
        ctypes.c_void_p(workspace.data_ptr()),
        None,
    )
    assert code == 0
    assert (padded[-256:] == CANARY).all(), "written behind the result"
    assert (workspace[launch.workspace_bytes :] == CANARY).all(), "written behind the workspace"
    return padded[:-256].view(dtype).reshape(result.shape)


def view(storage: torch.Tensor, value: Value) -> torch.Tensor:
    """What torch sees where the program sees ``value``."""
    return torch.as_strided(storage, value.shape, value.strides, value.offset)


def filled(value: Value, seed: int = 0, low: float = -2.0, high: float = 2.0) -> torch.Tensor:
    """A flat tensor that covers ``value``, of random numbers that f16 and bf16 can hold."""
    reach = value.offset + sum((e - 1) * s for e, s in zip(value.shape, value.strides, strict=True)) + 1
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.rand(reach, generator=generator, dtype=torch.float64) * (high - low) + low
    return numbers.to(getattr(torch, value.dtype.torch_name))
