"""Runs a whole plan on the host, as the harness's child process does, from text to tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import torch

from kernels.codegen import emit
from kernels.codegen.emission import Launch, Plan, PlanValue, TorchCall
from kernels.dsl import check, parse
from kernels.dsl.simd import detect
from kernels.dtypes import DType
from kernels.problems.inspection import Signature, TensorSpec
from kernels.targets import Policy, Target
from kernels.toolchain.build import build
from kernels.toolchain.cache import Cache
from kernels.toolchain.report import BuildOutcome


def spec(name: str, tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(name, DType.from_torch(str(tensor.dtype)), tuple(tensor.shape))


def run_program(
    text: str,
    inputs: Mapping[str, torch.Tensor],
    parameters: Mapping[str, torch.Tensor],
    output: TensorSpec,
    cache: Cache,
    policy: Policy = Policy.STRICT,
) -> torch.Tensor:
    """The program's one output for these tensors."""
    signature = Signature(
        tuple(spec(name, tensor) for name, tensor in inputs.items()),
        tuple(spec(name, tensor) for name, tensor in parameters.items()),
        (output,),
        {},
    )
    emission = emit(check(parse(text), signature, Target.HOST, policy, detect()))
    report = build(emission, cache=cache)
    assert report.outcome is BuildOutcome.BUILT, [unit.log for unit in report.units]
    objects = {unit.symbol: ctypes.CDLL(str(cache.path(unit.artifact or ""))) for unit in report.units}
    return _run(emission.plan, objects, [*inputs.values()], parameters)


def _run(
    plan: Plan, objects: Mapping[str, Any], inputs: list[torch.Tensor], parameters: Mapping[str, torch.Tensor]
) -> torch.Tensor:
    memory: dict[str, torch.Tensor] = dict(zip(plan.inputs, inputs, strict=True)) | dict(parameters)
    values = {value.name: value for value in plan.values}
    for step in plan.steps:
        if isinstance(step, TorchCall):
            _call_torch(step, values, memory)
            continue
        for name in step.results:
            memory[name] = torch.full(values[name].shape, 77, dtype=_torch(values[name].dtype))
        _launch(step, objects[step.symbol], values, memory)
    return _tensor(values[plan.outputs[0]], memory)


def _launch(
    step: Launch, library: Any, values: Mapping[str, PlanValue], memory: Mapping[str, torch.Tensor]
) -> None:
    workspace = torch.empty(step.workspace_bytes, dtype=torch.uint8)
    tensors = [_tensor(values[name], memory) for name in (*step.pointers, *step.results)]
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]
    sizes = [ctypes.c_int64(size) for size in step.sizes]
    code = getattr(library, step.symbol)(*pointers, *sizes, ctypes.c_void_p(workspace.data_ptr()), None)
    assert code == 0


def _call_torch(step: TorchCall, values: Mapping[str, PlanValue], memory: dict[str, torch.Tensor]) -> None:
    def real(argument: Any) -> Any:
        return _tensor(values[argument["value"]], memory) if isinstance(argument, dict) else argument

    function: Any = torch
    for part in step.function.removeprefix("torch.").split("."):
        function = getattr(function, part)
    memory[step.results[0]] = function(*map(real, step.args), **{k: real(v) for k, v in step.kwargs.items()})


def _torch(dtype: DType) -> torch.dtype:
    result = getattr(torch, dtype.torch_name)
    assert isinstance(result, torch.dtype)
    return result


def _tensor(value: PlanValue, memory: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return torch.as_strided(memory[value.storage], value.shape, value.strides, value.offset)
