"""One subject in its child process: loaded once, then called on pairs of an input set and an output slot.

Runs only in child processes (torch at the top). It knows no reference, no expected output, no tolerance and no
seed. One path serves checking and timing, so there is nothing here to tell them apart by.
"""

from __future__ import annotations

import gc
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from kernels.errors import UserError
from kernels.harness import channel
from kernels.harness.arena import Arena, layout_from_form
from kernels.harness.devices import open_device
from kernels.harness.errors import DeviceFault, OutOfMemory, SubjectRaised
from kernels.harness.module_runner import ModuleBinding, ModuleRunner
from kernels.harness.plan_form import plan_from_form
from kernels.harness.plan_runner import Binding, PlanRunner, first_line, is_device_fault, is_out_of_memory

Message = channel.Message
Move = Callable[[torch.Tensor, torch.Tensor], None]


class Session:
    """One subject, loaded. Inputs are placed once a set; outputs once a slot; bindings once a pair."""

    def __init__(self, message: Message, arena_fd: int) -> None:
        self.device = open_device(message["device"])
        self.arena = Arena(arena_fd, layout_from_form(message["layout"]))
        self.inputs = [[self.device.place(t) for t in tensors] for tensors in self.arena.inputs]
        self.outputs = [[self.device.place(t) for t in tensors] for tensors in self.arena.outputs]
        parameters = {name: self.device.place(tensor) for name, tensor in self.arena.parameters.items()}
        self.copies_outputs: bool = message["copies_outputs"]
        self._bindings: dict[tuple[int, int], Binding | ModuleBinding] = {}
        subject = message["subject"]
        self.runner: PlanRunner | ModuleRunner
        if subject["kind"] == "plan":
            self.runner = PlanRunner(plan_from_form(subject["plan"]), subject["artifacts"], self.device, parameters)
        else:
            constants = {int(position): value for position, value in subject["constants"].items()}
            self.runner = ModuleRunner(subject["path"], subject["size"], constants, self.device, parameters)

    def binding(self, pair: list[int]) -> Binding | ModuleBinding:
        """The call on input set ``pair[0]`` and output slot ``pair[1]``."""
        key = (pair[0], pair[1])
        if key not in self._bindings:
            self._bindings[key] = self.runner.bind(self.inputs[pair[0]], self.outputs[pair[1]])
        return self._bindings[key]

    def fetch(self, message: Message) -> Message:
        """Bring new contents of input sets and (poisoned) output slots to where calls work."""
        for index in message["sets"]:
            self._each(self.device.refresh, self.inputs[index], self.arena.inputs[index])
        for index in message["slots"]:
            self._each(self.device.refresh, self.outputs[index], self.arena.outputs[index])
        return {}

    def publish(self, message: Message) -> Message:
        """Bring output slots, and input sets with whatever was done to them, to the shared memory."""
        for index in message["sets"]:
            self._each(self.device.publish, self.inputs[index], self.arena.inputs[index])
        for index in message["slots"]:
            self._each(self.device.publish, self.outputs[index], self.arena.outputs[index])
        return {}

    def _each(self, move: Move, placed: list[torch.Tensor], shared: list[torch.Tensor]) -> None:
        for there, here in zip(placed, shared, strict=True):
            move(there, here)

    def _collect(self, binding: Binding | ModuleBinding, slot: int) -> None:
        """Copy the outputs of a call to its slot, where they were not written there in the first place."""
        results = binding.outputs()
        if len(results) != len(self.outputs[slot]):
            raise SubjectRaised(subject="the call", reason=f"gave {len(results)} outputs")
        for result, placed in zip(results, self.outputs[slot], strict=True):
            if result.dtype != placed.dtype or result.shape != placed.shape:
                seen = f"{result.dtype} {list(result.shape)}"
                raise SubjectRaised(subject="the call", reason=f"gave an output of {seen}")
            if result.data_ptr() != placed.data_ptr() or result.stride() != placed.stride():
                placed.copy_(result)

    def verify(self, message: Message) -> Message:
        """One call with poisoned memory in between."""
        pair = message["pair"]
        binding = self.binding(pair)
        self.runner.poison_intermediates()
        binding()
        self.device.synchronize()
        self._collect(binding, pair[1])
        binding.release()
        return {}

    def block(self, message: Message) -> Message:
        """Timed single calls, one for each pair, in order; the device's and the host's nanoseconds of each."""
        pairs = message["pairs"]
        bindings = [self.binding(pair) for pair in pairs]
        samples, host = [], []
        gc.disable()
        try:
            for pair, binding in zip(pairs, bindings, strict=True):
                self.device.before_timed_call()
                by_device, by_host = self.device.time(binding)
                samples.append(by_device)
                host.append(by_host)
                if self.copies_outputs:
                    self._collect(binding, pair[1])
                binding.release()
        finally:
            gc.enable()
        return {"samples": samples, "host": host}

    def stages(self, message: Message) -> Message:
        """One instrumented call: nanoseconds of each step. An uninstrumented one goes before it."""
        binding = self.binding(message["pair"])
        binding()
        self.device.synchronize()
        steps = [[step.stage, step.library, self.device.time(step.call)[0]] for step in binding.calls]
        binding.release()
        return {"stages": steps}

    def answer(self, message: Message) -> Message:
        """Do what a message asks; raises whatever the subject raises."""
        handlers: dict[str, Any] = {
            "fetch": self.fetch,
            "verify": self.verify,
            "block": self.block,
            "publish": self.publish,
            "stages": self.stages,
        }
        result: Message = handlers[message["do"]](message)
        return result


def _limit_memory(extra_bytes: int | None) -> int | None:
    """Cap the address space at what is mapped now (interpreter and torch) and ``extra_bytes``, for good."""
    if extra_bytes is None:
        return None
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    limit = pages * resource.getpagesize() + extra_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return limit


def _openmp_runtimes() -> int:
    """How many OpenMP runtimes are mapped; with more than one, the idle threads of each slow the others."""
    paths = {line.split()[-1] for line in Path("/proc/self/maps").read_text("utf-8").splitlines() if "omp" in line}
    return sum(1 for path in paths if Path(path).name.startswith(("libgomp", "libomp", "libiomp")))


def load(message: Message, arena_fd: int) -> tuple[Session, Message]:
    """The session that a ``load`` message asks for, with its memory capped first; and the answer to it."""
    limit = _limit_memory(message["address_space_bytes"])
    session = Session(message, arena_fd)
    once_s = session.runner.load()
    # What torch has made by now is never searched for garbage again: that takes a fifth of a second each time.
    gc.freeze()
    return session, {
        "once_s": once_s,
        "address_space_bytes": limit,
        "threads": torch.get_num_threads(),
        "openmp": _openmp_runtimes(),
    }


def failure(error: BaseException) -> Message:
    """The answer that says what a subject raised."""
    kind: UserError
    if isinstance(error, UserError):
        kind = error
    elif is_out_of_memory(error):
        kind = OutOfMemory(who="the subject", reason=first_line(error))
    elif is_device_fault(error):
        kind = DeviceFault(who="the subject", reason=first_line(error))
    else:
        kind = SubjectRaised(subject="the subject", reason=first_line(error))
    return {"error": kind.slug(), "detail": str(kind)}
