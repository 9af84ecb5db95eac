"""One subject in its child process: loaded once, then called on pairs of an input set and an output slot.

Runs only in child processes (torch at the top). It knows no reference, no expected output, no tolerance and no
seed. One path serves checking and timing, so there is nothing here to tell them apart by.
"""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from kernels.errors import UserError
from kernels.harness import channel
from kernels.harness.arena import Arena, copy_over, layout_from_form
from kernels.harness.devices import open_device
from kernels.harness.errors import DeviceFault, OutOfMemory, OutputMismatch, SubjectRaised
from kernels.harness.module_runner import ModuleBinding, ModuleRunner
from kernels.harness.plan_form import plan_from_form
from kernels.harness.plan_runner import Binding, PlanRunner, first_line, is_device_fault, is_out_of_memory
from kernels.harness.source_runner import SourceBinding, SourceRunner
from kernels.harness.strided import strided_view

Message = channel.Message
AnyBinding = Binding | ModuleBinding | SourceBinding
Move = Callable[[torch.Tensor, torch.Tensor], None]


class Session:
    """One subject, loaded. Inputs are placed once a set; outputs once a slot; bindings once a pair."""

    def __init__(self, message: Message, arena_fd: int, card: torch.Tensor | None) -> None:
        self.device = open_device(message["device"], shared=card is not None, flush=message["flush"])
        self.arena = Arena(arena_fd, layout_from_form(message["layout"]), card)
        self.inputs = [[self.device.place(t) for t in tensors] for tensors in self.arena.inputs]
        self.outputs = [[self.device.room(t) for t in tensors] for tensors in self.arena.outputs]
        parameters = {name: self.device.place(tensor) for name, tensor in self.arena.parameters.items()}
        self._parameters = parameters
        self.copies_outputs: bool = message["copies_outputs"]
        # A CPU's caches stay as they are between calls: outputs in memory of each call's own would be colder than what
        # torch's allocator gives eager again and again, and eager is what is compared with.
        self._place = self.arena.layout.warmup_slot if self.device.name == "host" else None
        self._bindings: dict[tuple[int, int], AnyBinding] = {}
        subject = message["subject"]
        self.runner: PlanRunner | ModuleRunner | SourceRunner
        if subject["kind"] == "plan":
            self.runner = PlanRunner(plan_from_form(subject["plan"]), subject["artifacts"], self.device, parameters)
        elif subject["kind"] == "source":
            self.runner = SourceRunner(subject, self.device, parameters)
        elif subject["kind"] == "baseline":
            # Imported where it is needed: only the children of baselines run it.
            from kernels.harness.baseline_runner import BaselineRunner

            constants = {int(position): value for position, value in subject["constants"].items()}
            self.runner = BaselineRunner(subject, constants, self.device, parameters)
        else:
            constants = {int(position): value for position, value in subject["constants"].items()}
            self.runner = ModuleRunner(subject["path"], subject["size"], constants, self.device, parameters)

    def binding(self, pair: list[int]) -> AnyBinding:
        """The call on input set ``pair[0]``. It writes to output slot ``pair[1]``, on a CPU always to one place."""
        key = (pair[0], pair[1] if self._place is None else self._place)
        if key not in self._bindings:
            self._bindings[key] = self.runner.bind(self.inputs[key[0]], self.outputs[key[1]])
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

    def first(self, message: Message) -> Message:
        """The first call of a module, which may compile: its seconds, and what it gave."""
        binding = self.binding(message["pair"])
        assert isinstance(binding, SourceBinding)
        began = time.perf_counter()
        binding()
        self.device.synchronize()
        answer = {"seconds": time.perf_counter() - began, **binding.described()}
        binding.release()
        return answer

    def _collect(self, binding: AnyBinding, slot: int) -> None:
        """Copy the outputs of a call to its slot, where they were not written there in the first place."""
        results = binding.outputs()
        if len(results) != len(self.outputs[slot]):
            raise OutputMismatch(reason=f"a call gave {len(results)} outputs", check="shape")
        for result, placed in zip(results, self.outputs[slot], strict=True):
            if result.dtype != placed.dtype or result.shape != placed.shape:
                check = "shape" if result.shape != placed.shape else "dtype"
                seen = f"{result.dtype} {list(result.shape)}"
                raise OutputMismatch(reason=f"a call gave an output of {seen}", check=check)
            if result.data_ptr() != placed.data_ptr() or result.stride() != placed.stride():
                copy_over(placed, result)

    def _poison_place(self, binding: AnyBinding) -> None:
        """Poison what all calls write to; slots of their own were poisoned by the supervisor."""
        if self._place is not None:
            binding.poison_outputs()

    def verify(self, message: Message) -> Message:
        """One call with poisoned memory in between."""
        pair = message["pair"]
        binding = self.binding(pair)
        self.runner.poison_intermediates()
        self._poison_place(binding)
        binding()
        self.device.synchronize()
        self._collect(binding, pair[1])
        binding.release()
        return {}

    def strided(self, message: Message) -> Message:
        """As ``verify``, on views of the inputs that are not dense."""
        chosen, slot = message["pair"]
        views = [strided_view(tensor) for tensor in self.inputs[chosen]]
        binding = self.runner.bind(views, self.outputs[slot])
        binding()
        self.device.synchronize()
        self._collect(binding, slot)
        binding.release()
        for placed, view in zip(self.inputs[chosen], views, strict=True):
            placed.copy_(view)
        return {}

    def block(self, message: Message) -> Message:
        """Timed single calls, one for each pair, in order; the device's and the host's nanoseconds of each."""
        pairs = message["pairs"]
        bindings = [self.binding(pair) for pair in pairs]
        samples, host = [], []
        gc.disable()
        try:
            for pair, binding in zip(pairs, bindings, strict=True):
                self._poison_place(binding)
                self.device.before_timed_call()
                by_device, by_host = self.device.time_cold(binding)
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

    def prepare(self, message: Message) -> Message:
        """What a baseline does once, on an input set that is filled: compile, or search its settings."""
        from kernels.harness.baseline_runner import BaselineRunner

        assert isinstance(self.runner, BaselineRunner)
        began = time.perf_counter()
        settings = self.runner.prepare(self.inputs[message["set"]])
        return {"settings": settings, "seconds": time.perf_counter() - began}

    def trace(self, message: Message) -> Message:
        """The card's own record of one call a pair; ``{"none": reason}`` where there is no such record."""
        if self.device.name != "cuda":
            return {"none": "a CPU keeps no record of kernels"}
        from kernels.harness import tracing

        bindings = [self.binding(pair) for pair in message["pairs"]]
        try:
            calls = tracing.trace(self.device.before_timed_call, self.device.flush, list(bindings))
            return {**tracing.indexed(calls), "method": tracing.METHOD}
        except tracing.NotTraceable as error:
            return {"none": str(error)}
        finally:
            for binding in bindings:
                binding.release()

    def repeat(self, message: Message) -> Message:
        """``calls`` calls back to back on the pairs in turn, behind so many flushes, with one wait at the end."""
        bindings = [self.binding(pair) for pair in message["pairs"]]
        for _ in range(message["flushes"]):
            self.device.flush()
        for number in range(message["calls"]):
            binding = bindings[number % len(bindings)]
            binding()
            binding.release()
        self.device.synchronize()
        return {}

    def finish(self, message: Message) -> Message:
        """Wait for everything that was ever launched, and bring the parameters to the shared memory as they are now.

        A fault of any launch before raises here at the latest.
        """
        self.device.synchronize()
        for name, placed in self._parameters.items():
            self.device.publish(placed, self.arena.parameters[name])
        self.device.synchronize()
        return {}

    def answer(self, message: Message) -> Message:
        """Do what a message asks; raises whatever the subject raises."""
        handlers: dict[str, Any] = {
            "first": self.first,
            "fetch": self.fetch,
            "verify": self.verify,
            "strided": self.strided,
            "block": self.block,
            "publish": self.publish,
            "stages": self.stages,
            "prepare": self.prepare,
            "trace": self.trace,
            "repeat": self.repeat,
            "finish": self.finish,
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


def load(message: Message, arena_fd: int, card: torch.Tensor | None = None) -> tuple[Session, Message]:
    """The session that a ``load`` message asks for, with its memory capped first; and the answer to it.

    ``card`` is the arena as bytes on the card, where it lies there.
    """
    limit = _limit_memory(message["address_space_bytes"])
    session = Session(message, arena_fd, card)
    once_s = session.runner.load()
    # What torch has made by now is never searched for garbage again: that takes a fifth of a second each time.
    gc.freeze()
    weights = session.runner.weights if isinstance(session.runner, SourceRunner) else None
    return session, {
        "once_s": once_s,
        **({"weights": weights.form()} if weights is not None else {}),
        "address_space_bytes": limit,
        "threads": torch.get_num_threads(),
        "openmp": _openmp_runtimes(),
        "device": session.device.facts(),
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
    return {"error": kind.slug(), "detail": str(kind), "check": kind.fields.get("check", "")}
