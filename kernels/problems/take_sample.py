"""Run a problem a few times and note the figures of what comes out. For child processes only: it runs others' code."""

from __future__ import annotations

import math
import time
import types
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernels.problems import load, shrinking
from kernels.problems.errors import ProblemUnsupported
from kernels.problems.sample import Budget, Distance, Run, Sample, Spread

_CHUNK = 2**22
_LEAST, _FEWEST = 4, 2
"""Samples that a part is made of, and where not even so many fit."""
_PARAMETERS, _INPUTS, _DRAWS = (11, 12), (101, 102), (1001, 1002)
"""Seeds. None twice: inputs from the same stream as the weights would be correlated with them."""
_MOST_SHIFTED = 12
"""Parameters whose gradient is zero and that are shifted one by one."""
_ALIKE = 1e-3
"""Differences of results, by their largest magnitude, that the order of sums explains."""
_LARGE_S = 45.0
"""What the runs at the largest extent may take, judged by those at the small one."""
_IN_QUESTION = 2e-2
"""Magnitudes below which zeros may pass for results."""


def take(path: Path, size: str, budget: Budget) -> Sample:
    """A sample of a problem at a size. Raises what the problem raises, and ProblemUnsupported where it is too large."""
    warnings.simplefilter("ignore")
    return _Taking(path, size, budget).sample()


class _Taking:
    """One problem under way."""

    def __init__(self, path: Path, size: str, budget: Budget) -> None:
        self.path, self.size, self.budget = path, size, budget
        self.began = time.monotonic()
        self.module: types.ModuleType = load.load_module(path, size)
        self.handle = shrinking.find(self.module) if budget.small < 1 else None
        self.notes: list[str] = []
        self.run_s = 0.0
        self.taken = self.whole = self.handle.whole if self.handle is not None else 1

    def sample(self) -> Sample:
        """The small sample; its magnitudes at the largest extent that fits where that makes a difference."""
        self._turn(self.budget.small)
        made = self._measure()
        if _says_too_little(made):
            before = self.taken
            in_time = before / self.whole * _LARGE_S / (len(_INPUTS) * max(self.run_s, 1e-3))
            share = min(self.budget.large, in_time)
            if int(self.whole * share) > before:
                self._turn(share)
                self.notes.append(f"all but the figures of the runs: at {self.handle_name} = {before}")
                runs, notes = self._magnitudes(), tuple(dict.fromkeys(self.notes))
                made = replace(
                    made, runs=runs, taken=self.taken, seconds=time.monotonic() - self.began, notes=notes
                )
        return made

    @property
    def handle_name(self) -> str:
        """The constant that is turned, "" for none."""
        return self.handle.name if self.handle is not None else ""

    def _magnitudes(self) -> tuple[Run, ...]:
        """Two runs with other inputs, nothing of the first kept when the second begins."""
        import torch

        model = load.build_model(self.module, _PARAMETERS[0])
        runs = []
        with torch.no_grad():
            for seed in _INPUTS:
                outputs = _spreads(self._run(model, load.build_inputs(self.module, seed), _DRAWS[0]))
                runs.append(Run(_PARAMETERS[0], seed, outputs))
        return tuple(runs)

    def _turn(self, share: float) -> None:
        """Choose the extent to run at."""
        if self.handle is None:
            if self.budget.large < 1:
                raise ProblemUnsupported(
                    path=self.path,
                    reason=f"no constant of the file makes its inputs shorter, and only {self.budget.large:.1%} of it "
                    "fits the machine",
                )
            return
        self.taken = min(self.whole, max(_LEAST, int(self.whole * share)))
        if self.taken > self.whole * self.budget.large and self.taken == _LEAST:
            self.taken = min(self.whole, _FEWEST)
        if self.taken > self.whole * self.budget.large:
            raise ProblemUnsupported(
                path=self.path, reason=f"even {self.handle.name} = {self.taken} does not fit the machine"
            )
        vars(self.module)[self.handle.name] = self.taken

    def _measure(self) -> Sample:
        import torch

        model = load.build_model(self.module, _PARAMETERS[0])
        names = _argument_names(self.module)
        began = time.monotonic()
        runs, inputs = [], load.build_inputs(self.module, _INPUTS[0])
        with torch.no_grad():
            first = self._run(model, inputs, _DRAWS[0])
            runs.append(Run(_PARAMETERS[0], _INPUTS[0], _spreads(first)))
            self.run_s = time.monotonic() - began
            again = _farthest(self._run(model, inputs, _DRAWS[1]), first)
            coupled, trend = self._coupled(model, inputs, first, again)
            others = load.build_inputs(self.module, _INPUTS[1])
            second = self._run(model, others, _DRAWS[0])
            runs.append(Run(_PARAMETERS[0], _INPUTS[1], _spreads(second)))
            apart = _farthest(second, first)
            second = []
            replaced = self._replaced(model, inputs, others, first, names, apart)
        others = []
        ignored = self._ignored(model, inputs, again)
        first = []
        del model
        with torch.no_grad():
            if self._in_time("other parameters") and self._has_parameters():
                model = load.build_model(self.module, _PARAMETERS[1])
                runs.append(Run(_PARAMETERS[1], _INPUTS[0], _spreads(self._run(model, inputs, _DRAWS[0]))))
        seconds, notes = time.monotonic() - self.began, tuple(dict.fromkeys(self.notes))
        return Sample(
            self.size, self.handle_name, self.taken, self.whole, seconds, tuple(runs), again, apart,
            coupled, trend, replaced, ignored, notes,
        )  # fmt: skip

    def _has_parameters(self) -> bool:
        return bool(self.state)

    def _in_time(self, what: str) -> bool:
        """Whether there is time for one thing more; a note says that it was left out."""
        if time.monotonic() - self.began < self.budget.seconds:
            return True
        self.notes.append(f"{what}: not measured, the time was over")
        return False

    def _run(self, model: Any, inputs: list[Any], seed: int, *, restore: bool = True) -> list[Any]:
        """One forward; what it changes of its buffers is put back, unless a backward pass needs it."""
        import torch

        self.state = list(model.state_dict())
        before = [(buffer, buffer.clone()) for buffer in model.buffers()] if restore else []
        torch.manual_seed(seed)
        given = [item.clone() if _is_small(item) else item for item in inputs]
        out = [item for item in torch.utils._pytree.tree_flatten(model(*given))[0] if torch.is_tensor(item)]
        for buffer, value in before:
            buffer.copy_(value)
        return out

    def _coupled(
        self, model: Any, inputs: list[Any], first: list[Any], again: Distance
    ) -> tuple[bool | None, float | None]:
        """Run the first half alone: are its results the first half of the results, and how large are they?"""
        if self.handle is None or self.taken < _LEAST or not self._in_time("half the extent"):
            return None, None
        half = self.taken // 2
        try:
            alone = self._run(model, shrinking.part(inputs, self.handle, half / self.taken), _DRAWS[0])
        except Exception as error:  # noqa: BLE001 - a model may not take so few
            self.notes.append(f"half the extent: {type(error).__name__}")
            return None, None
        largest = max((spread.largest for spread in _spreads(alone)), default=0.0)
        trend = max((spread.largest for spread in _spreads(first)), default=0.0) / largest if largest else None
        if again.tolerance > 1e-4:
            return None, trend
        return not all(_is_part(one, whole) for one, whole in zip(alone, first, strict=True)), trend

    def _replaced(
        self, model: Any, inputs: list[Any], others: list[Any], first: list[Any], names: list[str], apart: Distance
    ) -> dict[str, Distance]:
        """Each input in turn taken from another seed."""
        import torch

        tensors = [place for place, item in enumerate(inputs) if torch.is_tensor(item)]
        if len(tensors) == 1:
            return {names[tensors[0]]: apart}
        found: dict[str, Distance] = {}
        for place in tensors:
            if not self._in_time(f"input {names[place]} alone"):
                break
            mixed = [others[place] if place == each else item for each, item in enumerate(inputs)]
            found[names[place]] = _farthest(self._run(model, mixed, _DRAWS[0]), first)
        return found

    def _ignored(self, model: Any, inputs: list[Any], again: Distance) -> dict[str, Distance] | None:
        """Parameters with a gradient of zero, and what shifting each does. None where that was not measured."""
        import torch

        named = [(name, value) for name, value in model.named_parameters() if value.is_floating_point()]
        if not named:
            return {}
        if not self.budget.gradients or again.tolerance > 1e-4 or not self._in_time("gradients of parameters"):
            return None
        if self.handle is not None and self.taken > _LEAST:
            inputs = shrinking.part(inputs, self.handle, max(_LEAST, self.taken // 8) / self.taken)
        try:
            for _, value in named:
                value.requires_grad_(True)
            out = self._run_with_gradients(model, inputs)
            grads = torch.autograd.grad(out, [value for _, value in named], allow_unused=True)
        except Exception as error:  # noqa: BLE001 - not every reference has a backward pass
            self.notes.append(f"gradients of parameters: {type(error).__name__}")
            return None
        flat = [pair for pair, grad in zip(named, grads, strict=True) if grad is None or not bool(grad.any())]
        del grads, out
        with torch.no_grad():
            return self._shifted(model, inputs, flat)

    def _run_with_gradients(self, model: Any, inputs: list[Any]) -> Any:
        """One number that every output element of floating point goes into, each with a weight of its own."""
        import torch

        results = [item for item in self._run(model, inputs, _DRAWS[0], restore=False) if item.requires_grad]
        generator = torch.Generator().manual_seed(5)
        return torch.stack(
            [(item * torch.rand(item.shape, generator=generator, dtype=item.dtype)).sum() for item in results]
        ).sum()

    def _shifted(self, model: Any, inputs: list[Any], flat: list[tuple[str, Any]]) -> dict[str, Distance]:
        found: dict[str, Distance] = {}
        plain = self._run(model, inputs, _DRAWS[0]) if flat else []
        for name, value in flat[:_MOST_SHIFTED]:
            before = value.clone()
            value.copy_(before * 1.5 + 0.5)
            distance = _farthest(self._run(model, inputs, _DRAWS[0]), plain)
            value.copy_(before)
            if distance.tolerance < 1e-6:
                found[name] = distance
        return found


def _says_too_little(sample: Sample) -> bool:
    """Whether zeros or one number might pass for the results, here or at the whole extent: more samples reach
    farther, and where samples affect each other magnitudes move."""
    if sample.is_whole:
        return False
    spreads = [spread for run in sample.runs for spread in run.outputs]
    here = max(spread.largest for spread in spreads)
    moved = 1.0 if not sample.trend else math.pow(sample.trend, math.log2(sample.whole / sample.taken))
    alike = all((s.most - s.least) / (2 + abs(s.most) + abs(s.least)) <= _IN_QUESTION for s in spreads)
    return alike or min(here, here * moved) <= _IN_QUESTION


def _argument_names(module: types.ModuleType) -> list[str]:
    import inspect

    parameters = list(inspect.signature(module.Model.forward).parameters.values())[1:]
    names = [item.name for item in parameters if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]
    return names + [f"input{place}" for place in range(len(names), 64)]


def _is_small(item: Any) -> bool:
    """Small inputs are copied, so that a forward that writes to them changes nothing for the next."""
    import torch

    return bool(torch.is_tensor(item) and item.numel() < 2**26)


def _chunks(tensor: Any) -> Iterator[Any]:
    import torch

    flat = tensor.detach().contiguous().view(-1)
    for start in range(0, flat.numel(), _CHUNK):
        chunk = flat[start : start + _CHUNK]
        yield chunk if chunk.dtype in (torch.float32, torch.float64, torch.complex64) else chunk.double()


def _spreads(outputs: list[Any]) -> tuple[Spread, ...]:
    return tuple(_spread(f"out{place}" if len(outputs) > 1 else "out", out) for place, out in enumerate(outputs))


def _spread(name: str, tensor: Any) -> Spread:
    import torch

    count, total, squares, least, most, finite, shift = 0, 0.0, 0.0, math.inf, -math.inf, True, None
    for chunk in _chunks(tensor.abs() if tensor.is_complex() else tensor):
        low, high = chunk.aminmax()
        if not (math.isfinite(low) and math.isfinite(high)):
            finite, chunk = False, chunk[chunk.isfinite()]
            if not chunk.numel():
                continue
            low, high = chunk.aminmax()
        least, most = min(least, float(low)), max(most, float(high))
        # Around one of them: the deviation of numbers that are large and alike survives FP32.
        shift = float(chunk[0]) if shift is None else shift
        moved = chunk - shift
        count, total = count + chunk.numel(), total + float(moved.sum())
        squares += float(torch.linalg.vector_norm(moved)) ** 2
    if not count or shift is None:
        return Spread(name, 0.0, 0.0, 0.0, 0.0, finite)
    mean = total / count
    return Spread(name, least, most, mean + shift, math.sqrt(max(0.0, squares / count - mean * mean)), finite)


def _farthest(given: list[Any], expected: list[Any]) -> Distance:
    """The distance of the outputs that are farthest apart; NaN where both have it is no difference."""
    tolerance = largest = 0.0
    for one, other in zip(given, expected, strict=True):
        if one.shape != other.shape:
            return Distance(math.inf, math.inf)
        for a, b in zip(_chunks(one), _chunks(other), strict=True):
            same = a == b
            if bool(same.all()):
                continue
            apart = (a - b).abs()
            apart[same | (a.isnan() & b.isnan())] = 0.0
            apart = apart.nan_to_num_(nan=math.inf, posinf=math.inf)
            largest = max(largest, float(apart.max()))
            tolerance = max(tolerance, float((apart / (1 + b.abs().nan_to_num_(posinf=0.0))).max()))
    return Distance(tolerance, largest)


def _is_part(alone: Any, whole: Any) -> bool:
    """Whether the results of a part of the inputs are the same part of the results."""
    if alone.dim() != whole.dim():
        return False
    changed = [place for place in range(alone.dim()) if alone.shape[place] != whole.shape[place]]
    if len(changed) != 1:
        return False
    same = whole.narrow(changed[0], 0, alone.shape[changed[0]])
    return _farthest([alone], [same]).largest <= _ALIKE * _spread("", whole).largest
