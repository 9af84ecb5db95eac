"""Run a problem at a smaller extent: which constant of its file only makes its inputs longer. For child processes.

Found by trying, without memory: each whole number at the top level is halved, and one counts where the inputs shrink
along one axis each, the parameters stay as they are and forward still runs.
"""

from __future__ import annotations

import contextlib
import types
from dataclasses import dataclass
from typing import Any

from kernels.problems import load

_LEAST = 2
_SEED = 0

Shapes = tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True, slots=True)
class Handle:
    """A constant to turn, its value in the file, and which axis of each argument it changes (None: none)."""

    name: str
    whole: int
    axes: tuple[int | None, ...]

    @property
    def leads(self) -> bool:
        """Whether it is the outermost axis of every argument that it changes, as a batch is."""
        return all(axis in (0, None) for axis in self.axes)


def find(module: types.ModuleType) -> Handle | None:
    """The constant to turn; None where there is none. Batches before other axes, then the largest."""
    before = _arguments(module)
    if before is None:
        return None
    found = []
    for name, value in list(vars(module).items()):
        if type(value) is int and value >= 2 * _LEAST and not name.startswith("_"):
            with turned(module, name, value // 2):
                after = _arguments(module)
            axes = _axes(before, after, value, value // 2) if after is not None else None
            if axes is not None:
                found.append(Handle(name, value, axes))
    for handle in sorted(found, key=lambda handle: (not handle.leads, -handle.whole)):
        if _runs(module, handle):
            return handle
    return None


@contextlib.contextmanager
def turned(module: types.ModuleType, name: str, value: int) -> Any:
    """The module with one constant at another value."""
    before = vars(module)[name]
    vars(module)[name] = value
    try:
        yield
    finally:
        vars(module)[name] = before


def _arguments(module: types.ModuleType) -> Shapes | None:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            given = load.build_inputs(module, _SEED)
    except Exception:  # noqa: BLE001 - a problem that cannot do this is run whole
        return None
    return tuple(tuple(item.shape) if isinstance(item, torch.Tensor) else None for item in given)


def _axes(before: Shapes, after: Shapes, whole: int, taken: int) -> tuple[int | None, ...] | None:
    """Which axis of each argument follows the constant; None where it does something else, or nothing."""
    if len(before) != len(after):
        return None
    axes: list[int | None] = []
    for old, new in zip(before, after, strict=True):
        if old is None or new is None or len(old) != len(new):
            if old != new:
                return None
            axes.append(None)
            continue
        changed = [place for place, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]]
        if len(changed) > 1 or any(new[place] * whole != old[place] * taken for place in changed):
            return None
        axes.append(changed[0] if changed else None)
    return tuple(axes) if any(axis is not None for axis in axes) else None


def _runs(module: types.ModuleType, handle: Handle) -> bool:
    """Whether the model has the same parameters and takes the smaller inputs; tried without memory."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            parameters = _state(module)
            with turned(module, handle.name, handle.whole // 2):
                if _state(module) != parameters:
                    return False
                model = load.build_model(module, _SEED)
                model(*load.build_inputs(module, _SEED))
    except Exception:  # noqa: BLE001 - see above
        return False
    return True


def _state(module: types.ModuleType) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in load.build_model(module, _SEED).state_dict().items()}


def part(values: list[Any], handle: Handle, share: float) -> list[Any]:
    """The first ``share`` of the arguments along the handle's axes."""
    return [
        value if axis is None else value.narrow(axis, 0, round(value.shape[axis] * share)).contiguous()
        for value, axis in zip(values, handle.axes, strict=True)
    ]
