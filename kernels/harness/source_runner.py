"""Executes a candidate's Python source: its module in KernelBench's form, built from plain data, with our weights.

Runs only in child processes. The source comes as text and is written to a private folder, where the compilers and
caches of torch and Triton work as well. It has no path of the problem and no line of it. A result is taken as it is
only where it is a plain tensor: a subclass could put its work off until somebody looks.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernels.errors import UserError
from kernels.harness.devices import Device
from kernels.harness.errors import (
    ClassNotDefined,
    ClassNotModule,
    CompilerMissing,
    ConstructorRaised,
    ForwardRaised,
    ImportRaised,
    NinjaMissing,
    OutputMismatch,
    SourceNotPython,
)
from kernels.harness.module_runner import interleave, structure
from kernels.harness.plain_data import from_plain
from kernels.harness.plan_runner import BoundStep, first_line, is_device_fault, is_out_of_memory
from kernels.harness.weights import Weights, adopt

MODULE = "candidate"
"""What ``__name__`` is while a candidate's file runs."""
SEED = 0
"""Set before the file runs and before the module is built; what is not the reference's weight follows from it."""


class SourceRunner:
    """One source on one device. ``form`` is the ``load`` message's subject: source, class, arguments, constants."""

    def __init__(self, form: Mapping[str, Any], device: Device, parameters: dict[str, Tensor]) -> None:
        self.device = device
        self.constants = {int(position): value for position, value in form["constants"].items()}
        self.structure: str | None = None
        self.model: Any = None
        self.weights: Weights | None = None
        self._form = form
        self._parameters = parameters

    def load(self) -> float:
        """Run the file, build the module and copy the weights; gives the seconds that took."""
        began = time.perf_counter()
        file = _workshop() / "candidate.py"
        module = _execute(self._form["source"], file)
        model = _build(module, self._form["class_name"], self._form["arguments"], self._form["keywords"])
        with _told(ConstructorRaised, file, name=self._form["class_name"], count=len(self._form["arguments"])):
            self.model = model.to(self.device.torch_device)
        with torch.no_grad():
            self.weights = adopt(self.model, self._parameters)
        self.device.synchronize()
        return time.perf_counter() - began

    def bind(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> SourceBinding:
        """One call of the module on these inputs. ``outputs`` is only where results are copied to afterwards."""
        return SourceBinding(self, interleave(list(inputs), self.constants))

    def poison_intermediates(self) -> None:
        """A module owns no memory between its operations that could be poisoned."""


class SourceBinding:
    """The module with its arguments filled in."""

    def __init__(self, runner: SourceRunner, arguments: list[Any]) -> None:
        self._runner = runner
        self._model = runner.model
        self._arguments = arguments
        self._results: Any = None
        self.calls = [BoundStep("forward", None, self.__call__)]

    def __call__(self) -> None:
        """One call; raises ForwardRaised for what the candidate raises."""
        try:
            self._results = self._model(*self._arguments)
        except Exception as error:
            raise _named(error, ForwardRaised) from error

    def poison_outputs(self) -> None:
        """A module's results are its own or torch's memory, which is not ours to write to."""

    def release(self) -> None:
        """Let go of the result, so that the next call finds the allocator as a user's would."""
        self._results = None

    def described(self) -> dict[str, Any]:
        """What the call gave: the structure, and for each tensor its type, shape and what is wrong with its kind."""
        self._runner.structure, found = structure(self._results), list(_leaves(self._results))
        return {
            "structure": self._runner.structure,
            "outputs": [[str(t.dtype), list(t.shape)] if isinstance(t, Tensor) else None for t in found],
            "faults": [fault for i, t in enumerate(found) if (fault := self._fault(i, t))],
        }

    def outputs(self) -> list[Tensor]:
        """The results of the last call; OutputMismatch where one is no plain tensor or they are put together anew."""
        found = list(_leaves(self._results))
        for index, result in enumerate(found):
            if fault := self._fault(index, result):
                raise OutputMismatch(reason=fault, check="output kind")
        seen = structure(self._results)
        if self._runner.structure is not None and seen != self._runner.structure:
            reason = f"a call gave {seen}, the first one {self._runner.structure}"
            raise OutputMismatch(reason=reason, check="output kind")
        return found

    def _fault(self, index: int, result: Any) -> str:
        """What keeps a result from being taken as it is; empty where nothing does."""
        right = f"a plain torch.Tensor on {self._runner.device.torch_device} would be right"
        kind = type(result)
        if kind is not Tensor:
            what = "a subclass of torch.Tensor" if issubclass(kind, Tensor) else "no tensor"
            return f"output {index} is a {kind.__qualname__}, {what}; {right}"
        if result.layout is not torch.strided or result.is_quantized:
            return f"output {index} is stored as {result.layout}; {right}"
        if result.device.type != self._runner.device.torch_device:
            return f"output {index} lies on {result.device.type}; {right}"
        if result.is_neg() or result.is_conj():
            return f"output {index} is negated or conjugated only when it is read; {right}"
        return ""


def _leaves(results: Any) -> Iterator[Any]:
    """Whatever a forward gave, lists and tuples taken apart."""
    if isinstance(results, list | tuple):
        for result in results:
            yield from _leaves(result)
    else:
        yield results


def _workshop() -> Path:
    """A private folder, where torch and Triton put what they compile. The sandbox's, or the supervisor's to clear."""
    folder = Path(tempfile.mkdtemp(prefix="candidate-"))
    places = {
        "TORCH_EXTENSIONS_DIR": "extensions",
        "TRITON_CACHE_DIR": "triton",
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
    }
    for name, place in places.items():
        os.environ[name] = str(folder / place)
    # A pool of compiling processes would be counted as left running.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    # ninja comes as a wheel too, beside the interpreter.
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
    return folder


def _execute(source: str, file: Path) -> types.ModuleType:
    """Run the file as a module of its own, with the seed set right before."""
    module = types.ModuleType(MODULE)
    module.__file__ = str(file)
    try:
        text = source.encode("utf-8")
        code = compile(text, str(file), "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SourceNotPython(reason=first_line(error)) from None
    # Triton and torch.jit read the text of functions back from the file.
    file.write_bytes(text)
    linecache.checkcache(str(file))
    sys.modules[MODULE] = module
    torch.manual_seed(SEED)
    with _told(ImportRaised, file):
        exec(code, module.__dict__)  # noqa: S102 - this is what the child is for
    return module


def _build(module: types.ModuleType, name: str, arguments: list[Any], keywords: Any) -> Any:
    found = module.__dict__.get(name)
    if found is None:
        raise ClassNotDefined(name=name)
    if not isinstance(found, type) or not issubclass(found, torch.nn.Module):
        raise ClassNotModule(
            name=name, seen=f"a {type(found).__name__}" if not isinstance(found, type) else "a class"
        )
    given, named = from_plain(arguments), from_plain(keywords)
    torch.manual_seed(SEED)
    with _told(ConstructorRaised, Path(str(module.__file__)), name=name, count=len(given) + len(named)):
        return found(*given, **named)


@contextlib.contextmanager
def _told(kind: type[UserError], file: Path, **fields: Any) -> Iterator[None]:
    """Say whatever the candidate raises inside in our words; memory and card faults keep their own."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise _named(error, kind, **fields) from error


def _named(error: BaseException, kind: type[UserError], **fields: Any) -> BaseException:
    if isinstance(error, UserError) or is_out_of_memory(error) or is_device_fault(error):
        return error
    if "Ninja is required" in str(error):
        return NinjaMissing()
    compiler = os.environ.get("CXX", "c++")
    if f"{compiler}: not found" in str(error) or (
        isinstance(error, FileNotFoundError) and error.filename == compiler
    ):
        return CompilerMissing(compiler=compiler)
    return kind(reason=f"{first_line(error)}{_place(error)}", **fields)


def _place(error: BaseException) -> str:
    """The innermost line of the candidate's own file that the error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).name == "candidate.py" and frame.lineno]
    return f" (line {lines[-1]})" if lines else ""
