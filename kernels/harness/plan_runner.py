"""Executes a Plan: raw data pointers into shared objects, torch functions, and views. Runs only in child processes.

All memory that the plan owns is made at load, and so are the argument lists of launches, one set of them for each
pair of input set and output slot, so that a timed call does nothing but calls. A torch stage makes its own result
(as it does everywhere else); the result is adopted where its layout is the plan's, and copied where it is not.
It checks neither values nor times.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernels.codegen.emission import Launch, Plan, PlanValue, TorchCall
from kernels.dtypes import DType
from kernels.errors import UserError
from kernels.harness import torch_functions
from kernels.harness.arena import poison
from kernels.harness.devices import Device
from kernels.harness.errors import (
    ArtifactMissing,
    DeviceFault,
    LaunchFailed,
    OutOfMemory,
    PlanMismatch,
    ResultMismatch,
    SymbolMissing,
    TorchCallFailed,
)

_ENOMEM = 12
WORKSPACE = "mucutlass_workspace_bytes"
"""The function by which a hand-written kernel asks for scratch memory (``kernels.raw.header`` declares it)."""


@dataclass(frozen=True, slots=True)
class BoundStep:
    """One step with everything but the work done. ``library`` is None where nobody knows whose work it is."""

    stage: str
    library: bool | None
    call: Callable[[], None]


class PlanRunner:
    """One plan on one device. Build it, ``load`` it, then ``bind`` it to inputs and outputs as often as needed."""

    def __init__(
        self, plan: Plan, artifacts: dict[str, str], device: Device, parameters: dict[str, Tensor]
    ) -> None:
        self.plan = plan
        self.device = device
        self.values = {value.name: value for value in plan.values}
        self._artifacts = artifacts
        self._functions: dict[str, Any] = {}
        self._fixed: dict[str, Tensor] = {}
        self._check_names()
        for name in plan.parameters:
            if name not in parameters:
                raise PlanMismatch(reason=f"the problem has no parameter {name}")
            self._fixed[self.values[name].storage] = parameters[name].reshape(-1)
        self._owned: dict[str, Tensor] = {}
        self._workspace: Tensor | None = None
        self._asked_bytes = 0

    def _check_names(self) -> None:
        named = {*self.plan.inputs, *self.plan.parameters, *self.plan.outputs}
        for step in self.plan.steps:
            named.update(step.results)
            named.update(step.pointers if isinstance(step, Launch) else ())
        missing = sorted(named - self.values.keys())
        if missing:
            raise PlanMismatch(reason=f"it names values that it does not have: {', '.join(missing)}")

    def load(self) -> float:
        """Open the shared objects, make all memory, run the ``once`` steps; gives the seconds those took."""
        for step in self.plan.steps:
            if isinstance(step, Launch):
                self._functions[step.symbol] = self._open(step)
        self._allocate()
        once = Binding(self, {**self._owned, **self._fixed}, once=True)
        began = time.perf_counter()
        once()
        self.device.synchronize()
        taken = time.perf_counter() - began
        for step in self.plan.steps:
            if step.once:
                self._fixed.update({storage: once.held[storage] for storage in self.storages(step.results)})
        return taken

    def bind(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Binding:
        """The steps of one call on these inputs; results are written straight to ``outputs`` where they can be."""
        if len(inputs) != len(self.plan.inputs) or len(outputs) != len(self.plan.outputs):
            raise PlanMismatch(
                reason=f"it has {len(self.plan.inputs)} inputs and {len(self.plan.outputs)} outputs, "
                f"the problem {len(inputs)} and {len(outputs)}"
            )
        held = {**self._owned, **self._fixed}
        external = self.storages(self.plan.inputs) | self._fixed.keys()
        for name, tensor in zip(self.plan.inputs, inputs, strict=True):
            held[self.values[name].storage] = tensor.reshape(-1)
        for name, tensor in zip(self.plan.outputs, outputs, strict=True):
            value = self.values[name]
            if value.storage not in external and _fills(value, tensor, self._storage_bytes(value.storage)):
                held[value.storage] = tensor.reshape(-1)
                external.add(value.storage)
        return Binding(self, held, once=False)

    def poison_intermediates(self) -> None:
        """Make the memory between the steps useless, so that a result left over from another call shows."""
        for storage, tensor in self._owned.items():
            if storage not in self._fixed:
                poison(tensor)
        if self._workspace is not None:
            poison(self._workspace)

    def storages(self, names: Sequence[str]) -> set[str]:
        return {self.values[name].storage for name in names}

    @property
    def fixed(self) -> set[str]:
        """Storages whose contents outlive calls: parameters, and what the ``once`` steps made."""
        return set(self._fixed)

    def function(self, symbol: str) -> Any:
        return self._functions[symbol]

    @property
    def workspace_address(self) -> int:
        return 0 if self._workspace is None else int(self._workspace.data_ptr())

    def owned(self, storage: str) -> Tensor:
        """Memory for a storage; made on demand for torch results, most of which bring their own."""
        if storage not in self._owned:
            owner = self.values.get(storage) or next(v for v in self.plan.values if v.storage == storage)
            count = -(-self._storage_bytes(storage) // owner.dtype.bytes)
            self._owned[storage] = self._empty(count, owner.dtype)
        return self._owned[storage]

    def _open(self, step: Launch) -> Any:
        symbol = step.symbol
        path = self._artifacts.get(symbol)
        if path is None:
            raise ArtifactMissing(symbol=symbol, path="(no path)", reason="it was not built")
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            raise ArtifactMissing(symbol=symbol, path=path, reason=str(error)) from error
        try:
            function = library[symbol]
        except AttributeError as error:
            raise SymbolMissing(symbol=symbol, path=path) from error
        function.restype = ctypes.c_int
        if step.abi == "arrays":
            self._asked_bytes = max(self._asked_bytes, workspace_bytes(library))
        return function

    def _storage_bytes(self, storage: str) -> int:
        return max(_extent_bytes(value) for value in self.plan.values if value.storage == storage)

    def _allocate(self) -> None:
        external = self.storages(self.plan.inputs) | self._fixed.keys()
        written = self.storages([r for s in self.plan.steps if isinstance(s, Launch) for r in s.results])
        try:
            for storage in sorted(written - external):
                self.owned(storage)
            planned = (s.workspace_bytes for s in self.plan.steps if isinstance(s, Launch))
            needed = max(self._asked_bytes, *planned, 0)
            if needed:
                self._workspace = self._empty(needed, DType.U8)
        except (RuntimeError, MemoryError) as error:
            raise OutOfMemory(who="the candidate's own memory", reason=first_line(error)) from error
        self.poison_intermediates()

    def _empty(self, count: int, dtype: DType) -> Tensor:
        return torch.empty(count, dtype=getattr(torch, dtype.torch_name), device=self.device.torch_device)


class Binding:
    """The plan's ``once`` or other steps on given storages: ``held`` maps a storage to its memory as it is now."""

    def __init__(self, runner: PlanRunner, held: dict[str, Tensor], *, once: bool) -> None:
        self.runner = runner
        self.held = held
        steps = [step for step in runner.plan.steps if step.once is once]
        self._moving: set[str] = set()
        for step in steps:
            if isinstance(step, TorchCall):
                self._moving |= runner.storages(step.results)
        self.calls = [self._bound(step) for step in steps]

    def __call__(self) -> None:
        """One call: all steps in order."""
        for step in self.calls:
            step.call()

    def outputs(self) -> list[Tensor]:
        """The output values as they are now."""
        return [self.tensor(name) for name in self.runner.plan.outputs]

    def poison_outputs(self) -> None:
        """Make the memory useless that launches write the outputs to, so that one left from another call shows."""
        runner = self.runner
        kept = runner.storages(runner.plan.inputs) | runner.fixed | self._moving
        for storage in runner.storages(runner.plan.outputs) - kept:
            poison(self.held[storage])

    def release(self) -> None:
        """Let go of what torch stages made, so that the next call finds the allocator as a user's would."""
        for storage in self._moving:
            self.held.pop(storage, None)

    def _bound(self, step: Launch | TorchCall) -> BoundStep:
        if isinstance(step, Launch):
            return BoundStep(step.stage, False, self._launch(step))
        return BoundStep(step.stage, True, self._torch(step))

    def address(self, name: str) -> int:
        """Where a value's first element lies."""
        value = self.runner.values[name]
        return int(self.held[value.storage].data_ptr()) + value.offset * value.dtype.bytes

    def tensor(self, name: str) -> Tensor:
        """A value as a strided view of its storage."""
        value = self.runner.values[name]
        held = self.held[value.storage]
        dtype = getattr(torch, value.dtype.torch_name)
        if held.dtype != dtype:
            held = held.view(dtype)
        return held.as_strided(value.shape, value.strides, held.storage_offset() + value.offset)

    def _launch(self, step: Launch) -> Callable[[], None]:
        function = self.runner.function(step.symbol)
        names = (*step.pointers, *step.results)
        tail = (
            *(ctypes.c_int64(size) for size in step.sizes),
            ctypes.c_void_p(self.runner.workspace_address),
            ctypes.c_void_p(self.runner.device.stream()),
        )
        if step.abi == "arrays":
            return _caller(step, function, (self._array(step.pointers), self._array(step.results), *tail))

        def looked_up() -> None:
            code = function(*[ctypes.c_void_p(self.address(name)) for name in names], *tail)
            if code:
                raise _launch_error(step, code)

        if self.runner.storages(names) & self._moving:
            return looked_up
        return _caller(step, function, (*(ctypes.c_void_p(self.address(name)) for name in names), *tail))

    def _array(self, names: Sequence[str]) -> ctypes.Array[ctypes.c_void_p]:
        """Addresses as a C array; of a plan with this ABI no value moves."""
        return (ctypes.c_void_p * len(names))(*map(self.address, names))

    def _torch(self, step: TorchCall) -> Callable[[], None]:
        function = torch_functions.resolve(step.stage, step.function)
        arguments = [self._argument(item) for item in step.args]
        keywords = {key: self._argument(item) for key, item in step.kwargs.items()}
        values = [self.runner.values[name] for name in step.results]

        def call() -> None:
            args = [argument() for argument in arguments]
            kwargs = {key: argument() for key, argument in keywords.items()}
            try:
                results = function(*args, **kwargs)
            except (RuntimeError, TypeError, ValueError, IndexError, MemoryError, NotImplementedError) as error:
                raise _torch_error(step, error) from error
            tensors = (results,) if isinstance(results, Tensor) else tuple(results)
            if len(tensors) < len(values):
                raise _mismatch(step, f"{len(tensors)} results", f"{len(values)}")
            for value, tensor in zip(values, tensors, strict=False):
                self._adopt(step, value, tensor)

        return call

    def _argument(self, item: Any) -> Callable[[], Any]:
        if isinstance(item, dict) and "value" in item:
            name = item["value"]
            if name not in self.runner.values:
                raise PlanMismatch(reason=f"a torch stage reads {name}, which is no value")
            if self.runner.values[name].storage in self._moving:
                return lambda: self.tensor(name)
            tensor = self.tensor(name)
            return lambda: tensor
        if isinstance(item, dict) and "dtype" in item:
            item = getattr(torch, DType(item["dtype"]).torch_name)
        elif isinstance(item, list | tuple):
            parts = [self._argument(part) for part in item]
            return lambda: [part() for part in parts]
        return lambda: item

    def _adopt(self, step: TorchCall, value: PlanValue, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise _mismatch(step, type(tensor).__name__, "a tensor")
        seen = str(tensor.dtype)
        if tuple(tensor.shape) != value.shape or seen != f"torch.{value.dtype.torch_name}":
            raise _mismatch(step, f"{seen} {list(tensor.shape)}", f"{value.dtype} {list(value.shape)}")
        if value.offset == 0 and _same_strides(tensor, value):
            self.held[value.storage] = tensor
            return
        self.held[value.storage] = self.runner.owned(value.storage)
        self.tensor(value.name).copy_(tensor)


def _extent_bytes(value: PlanValue) -> int:
    if 0 in value.shape:
        return value.offset * value.dtype.bytes
    last = value.offset + sum((n - 1) * stride for n, stride in zip(value.shape, value.strides, strict=True))
    return (last + 1) * value.dtype.bytes


def _fills(value: PlanValue, tensor: Tensor, storage_bytes: int) -> bool:
    """Whether the value is its whole storage, contiguous, so that the output's own memory can stand in for it."""
    whole = value.offset == 0 and storage_bytes == tensor.numel() * value.dtype.bytes
    return whole and value.shape == tuple(tensor.shape) and _same_strides(tensor, value)


def _same_strides(tensor: Tensor, value: PlanValue) -> bool:
    """Equal strides wherever an extent is more than one."""
    strides = zip(value.shape, tensor.stride(), value.strides, strict=True)
    return all(seen == expected for extent, seen, expected in strides if extent > 1)


def _caller(step: Launch, function: Any, arguments: Sequence[Any]) -> Callable[[], None]:
    """The launch with its arguments filled in."""

    def call() -> None:
        code = function(*arguments)
        if code:
            raise _launch_error(step, code)

    return call


def workspace_bytes(library: ctypes.CDLL) -> int:
    """What a hand-written kernel says it needs for one call; 0 where it does not say."""
    try:
        function = library[WORKSPACE]
    except AttributeError:
        return 0
    function.restype = ctypes.c_size_t
    return int(function())


def _launch_error(step: Launch, code: int) -> LaunchFailed | OutOfMemory:
    if code == _ENOMEM:
        return OutOfMemory(who=f"stage {step.stage}", reason=f"{step.symbol} returned ENOMEM")
    return LaunchFailed(stage=step.stage, symbol=step.symbol, code=code)


def _torch_error(step: TorchCall, error: Exception) -> UserError:
    if is_out_of_memory(error):
        return OutOfMemory(who=f"stage {step.stage}", reason=first_line(error))
    if is_device_fault(error):
        return DeviceFault(who=f"stage {step.stage} or one before it", reason=first_line(error))
    return TorchCallFailed(stage=step.stage, function=step.function, reason=first_line(error))


def _mismatch(step: TorchCall, seen: str, expected: str) -> ResultMismatch:
    return ResultMismatch(stage=step.stage, function=step.function, seen=seen, expected=expected)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception is an allocator's: Python's, torch's on the CPU, or torch's on a card."""
    text = str(error)
    return isinstance(error, MemoryError) or "allocate memory" in text or "out of memory" in text


def is_device_fault(error: BaseException) -> bool:
    """Whether an exception is a sticky fault of a card: every later call of this process fails as well."""
    return "CUDA error" in str(error)


def first_line(error: BaseException) -> str:
    """Type and first line of an exception, at most 300 characters."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:300]
