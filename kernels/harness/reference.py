"""The problem's own code, run in the supervisor: its model, its inputs from secret seeds, its expected outputs.

Every step of it is announced before it begins and has a time limit enforced by the kernel (an alarm signal), so that
code which never returns, or takes the process with it, can be told from a fault of the harness.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernels.harness.changes import Change, change_all
from kernels.harness.comparison import Expected
from kernels.harness.errors import OutOfMemory, ProblemMismatch, ProblemRaised
from kernels.harness.evaluation import EvaluationRequest, Outcome
from kernels.harness.input_maker import InputMaker
from kernels.harness.module_runner import flatten, interleave, structure
from kernels.harness.plan_runner import first_line, is_out_of_memory
from kernels.problems.inspection import Signature, TensorSpec
from kernels.problems.load import build_inputs, build_model, load_module, split_arguments

_MOST_KEPT = 16
"""Parameters, and inputs with outputs in float64, must fit so many times into a card's free memory to stay there."""


class ProblemFailed(Exception):
    """The problem's own code failed; ``outcome`` is what the evaluation ends in."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail


class Guard:
    """Announces each step of the problem's code on the private file, and limits the time of all of them together."""

    def __init__(self, report_fd: int, seconds: float) -> None:
        self._report_fd = report_fd
        self._remaining_s = seconds
        self._all_s = seconds

    @property
    def spent_s(self) -> float:
        """Seconds that the problem's code has taken so far."""
        return self._all_s - self._remaining_s

    @contextlib.contextmanager
    def step(self, where: str) -> Iterator[None]:
        """Run problem code inside; raises ProblemFailed for whatever it raises."""
        self._announce(where)
        began = time.monotonic()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, max(self._remaining_s, 0.01))
        try:
            yield
        except ProblemFailed:
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            raise _problem_error(where, error) from error
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._remaining_s -= time.monotonic() - began
            self._announce("")

    def _announce(self, where: str) -> None:
        os.write(self._report_fd, json.dumps({"step": where}).encode() + b"\n")


def _problem_error(where: str, error: BaseException) -> ProblemFailed:
    if isinstance(error, ProblemMismatch):
        return ProblemFailed(Outcome.PROBLEM_ERROR, str(error))
    if is_out_of_memory(error):
        told = OutOfMemory(who=f"the problem's own code ({where})", reason=first_line(error))
        return ProblemFailed(Outcome.OUT_OF_MEMORY, str(told))
    return ProblemFailed(Outcome.PROBLEM_ERROR, str(ProblemRaised(where=where, reason=first_line(error))))


class Reference:
    """The problem at one size with secret weights. ``maker`` has sets of inputs made ahead, where there is one.

    ``making_s`` is about what the making of one more set takes, whoever made the last one.
    """

    def __init__(
        self, request: EvaluationRequest, guard: Guard, device: str, maker: InputMaker | None = None
    ) -> None:
        self._guard = guard
        self._maker = maker
        self._signature = request.signature
        self._device = device
        self.structure = ""
        self.making_s = 0.0
        with guard.step("loading the problem file"):
            self._module = load_module(Path(request.problem_path), request.size)
        with guard.step("building Model"):
            self._model = build_model(self._module, secret_seed()).to(device)
            self.parameters = self._checked_parameters()
            self._exact, self.exact_note = self._in_float64()
        self._kept = _where_kept(device, _wide_bytes(request.signature))

    def _checked_parameters(self) -> dict[str, Tensor]:
        """Copies that stay as they are, beside the model where there is room."""
        state = {name: tensor.detach() for name, tensor in self._model.state_dict().items()}
        for spec in self._signature.parameters:
            if spec.name not in state:
                raise ProblemMismatch(seen=f"no parameter {spec.name}", expected="there is one")
            _match(spec, state[spec.name])
        where = _where_kept(self._device, sum(spec.bytes for spec in self._signature.parameters))
        return {
            spec.name: state[spec.name].to(where, copy=True, memory_format=torch.contiguous_format)
            for spec in self._signature.parameters
        }

    def init_arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """What get_init_inputs gives, positional and by keyword; raises ProblemFailed."""
        with self._guard.step("get_init_inputs"):
            return split_arguments(self._module.get_init_inputs())

    def _in_float64(self) -> tuple[Any, str]:
        try:
            return copy.deepcopy(self._model).double(), ""
        except (RuntimeError, TypeError, MemoryError) as error:
            return None, f"no float64 model: {first_line(error)}"

    def inputs(self, change: Change = Change.NONE) -> list[Tensor]:
        """A fresh set of tensors from a new secret seed, contiguous, where they are kept; raises ProblemFailed."""
        with self._guard.step("get_inputs"):
            tensors = self._maker.take() if self._maker is not None else None
            if tensors is not None and self._maker is not None:
                self.making_s = self._maker.made_s
            else:
                began = time.monotonic()
                given = build_inputs(self._module, secret_seed())
                tensors = [item for item in given if isinstance(item, Tensor)]
                self.making_s = time.monotonic() - began
            if len(tensors) != len(self._signature.inputs):
                raise ProblemMismatch(seen=f"{len(tensors)} inputs", expected=f"{len(self._signature.inputs)}")
            for spec, tensor in zip(self._signature.inputs, tensors, strict=True):
                _match(spec, tensor)
            return [change_all(tensor.detach().to(self._kept).contiguous(), change) for tensor in tensors]

    def expect(self, inputs: list[Tensor]) -> Expected:
        """What the reference gives for these inputs, in both precisions; raises ProblemFailed."""
        with self._guard.step("forward"):
            inputs = [tensor.to(self._device) for tensor in inputs]
            own = self._run(self._model, inputs)
            if len(own) != len(self._signature.outputs):
                raise ProblemMismatch(seen=f"{len(own)} outputs", expected=f"{len(self._signature.outputs)}")
            for spec, tensor in zip(self._signature.outputs, own, strict=True):
                _match(spec, tensor)
        if self._exact is not None:
            with self._guard.step("forward in float64"):
                try:
                    wide = [t.double() if t.is_floating_point() else t for t in inputs]
                    exact = self._run(self._exact, wide)
                except Exception as error:  # noqa: BLE001 -- a model that cannot run in float64 is no error
                    self._exact, self.exact_note = None, f"it does not run in float64: {first_line(error)}"
                else:
                    return Expected(own, [_exact_of(o, e) for o, e in zip(own, exact, strict=True)], "")
        return Expected(own, [tensor.double() for tensor in own], self.exact_note)

    def agrees_with_itself(self, inputs: list[Tensor], expected: Expected, limit: float) -> bool:
        """Whether a second run on the same inputs stays within ``limit`` of the first (live dropout does not)."""
        with self._guard.step("forward"):
            again = self._run(self._model, inputs)
        return all(
            torch.allclose(a.double(), b.double(), rtol=limit, atol=limit, equal_nan=True)
            for a, b in zip(again, expected.own, strict=True)
        )

    def _run(self, model: Any, inputs: list[Tensor]) -> list[Tensor]:
        """One forward on copies of the inputs; buffers that it changes (running statistics) are put back."""
        before = [(buffer, buffer.clone()) for buffer in model.buffers()]
        with torch.no_grad():
            copies = [tensor.to(self._device, copy=True) for tensor in inputs]
            given = model(*interleave(copies, self._signature.constants))
            self.structure = structure(given)
            state = {tensor.untyped_storage().data_ptr() for tensor in model.state_dict().values()}
            results = [self._result(tensor, state) for tensor in flatten(given)]
            if self._device != "cpu":
                # What was only launched is neither over nor counted as the problem's time.
                torch.cuda.synchronize()
            for buffer, value in before:
                buffer.copy_(value)
        return results

    def _result(self, tensor: Tensor, state: set[int]) -> Tensor:
        """A result to keep: contiguous, and not in memory that the model goes on using."""
        kept = tensor.to(self._kept).contiguous()
        return kept.clone() if kept.untyped_storage().data_ptr() in state else kept


def secret_seed() -> int:
    """A seed that nobody can predict."""
    return int.from_bytes(os.urandom(7), "little")


def _wide_bytes(signature: Signature) -> int:
    """Bytes of a set of inputs and of its outputs in float64."""
    return 8 * sum(spec.elements for spec in signature.outputs) + sum(spec.bytes for spec in signature.inputs)


def _where_kept(device: str, size: int) -> str:
    """Where tensors of so many bytes stay: on the card, which compares fastest, if there is room to spare."""
    return device if device == "cpu" or _MOST_KEPT * size <= torch.cuda.mem_get_info()[0] else "cpu"


def _exact_of(own: Tensor, exact: Tensor) -> Tensor:
    """The float64 result where it is one; whole numbers are compared with what the problem itself gives."""
    return exact.double() if own.is_floating_point() else own.double()


def _match(spec: TensorSpec, tensor: Tensor) -> None:
    seen = f"{spec.name}: {tensor.dtype} {list(tensor.shape)}"
    expected = f"{spec.name}: torch.{spec.dtype.torch_name} {list(spec.shape)}"
    if seen != expected:
        raise ProblemMismatch(seen=seen, expected=expected)


def constants_of(signature: Signature) -> dict[str, Any]:
    """The arguments of forward that are no tensors, as a JSON object by position."""
    return {str(position): value for position, value in signature.constants.items()}
