"""Run a problem file: its module, its model, its inputs. For child processes only; it runs other people's code.

Nothing here sets limits or catches errors: the process around it does.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernels.problems.errors import ProblemHasNoSuchSize
from kernels.problems.files import DEFAULT_SIZE

MODULE = "problem"
"""What ``__name__`` is while a problem file runs."""


def load_module(path: Path, size: str) -> types.ModuleType:
    """Execute the file and write the constants of ``size`` into its globals.

    Raises ProblemHasNoSuchSize, and whatever the file's own code raises.
    """
    module = types.ModuleType(MODULE)
    module.__file__ = str(path)
    # dataclasses and pickling look the module up by name.
    sys.modules[MODULE] = module
    source = path.read_bytes()
    exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102 - this is what the child is for
    apply_size(path, module, size)
    return module


def apply_size(path: Path, module: types.ModuleType, size: str) -> None:
    """Write the constants of ``size`` over the module's own; "default" without SIZES changes nothing."""
    sizes: Mapping[str, Mapping[str, Any]] = getattr(module, "SIZES", None) or {DEFAULT_SIZE: {}}
    if size not in sizes:
        raise ProblemHasNoSuchSize(path=path, size=size, sizes=", ".join(sizes))
    module.__dict__.update(sizes[size])


def build_model(module: types.ModuleType, seed: int) -> Any:
    """``Model(*get_init_inputs())``, as constructed (in training mode, as KernelBench evaluates it).

    ``get_init_inputs`` may also end in a dict of keyword arguments behind a list: ``[[…], {…}]``, as KernelBench
    allows. The seed is set right before, so that two processes build the same parameters.
    """
    import torch

    torch.manual_seed(seed)
    args, kwargs = split_arguments(module.get_init_inputs())
    torch.manual_seed(seed)
    return module.Model(*args, **kwargs)


def build_inputs(module: types.ModuleType, seed: int) -> list[Any]:
    """``get_inputs()`` as a list, with the seed set right before."""
    import torch

    torch.manual_seed(seed)
    return list(module.get_inputs())


def split_arguments(given: Any) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments from what ``get_init_inputs`` returned."""
    if isinstance(given, Mapping):
        return [], dict(given)
    items = list(given)
    if len(items) == 2 and isinstance(items[0], list | tuple) and isinstance(items[1], dict):
        return list(items[0]), dict(items[1])
    return items, {}
