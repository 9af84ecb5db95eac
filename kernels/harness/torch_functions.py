"""Which torch function a ``torch.*`` stage may mean, by its dotted name. Runs only in child processes."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch

from kernels.harness.errors import TorchFunctionRefused

_NAMESPACES = ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)
_REFUSED_PREFIXES = ("set_", "get_", "is_", "use_", "from_", "manual_", "initial_", "enable_", "vmap", "cond")
_REFUSED = frozenset(
    {"load", "save", "compile", "seed", "frombuffer", "import_ir_module", "unify_type_list", "fork"}
)


def resolve(stage: str, name: str) -> Callable[..., Any]:
    """The function ``torch.NAME`` or ``torch.nn.functional.NAME``; raises TorchFunctionRefused.

    In-place variants are refused (a stage never changes its operands), and so is what configures torch, reads or
    writes files, or runs code that it is handed.
    """
    namespace, _, last = name.rpartition(".")

    def refuse(reason: str) -> TorchFunctionRefused:
        return TorchFunctionRefused(stage=stage, function=name, reason=reason)

    if namespace not in _NAMESPACES:
        raise refuse(f"write a function of {', '.join(_NAMESPACES)}")
    if last.startswith("_") or last.endswith("_"):
        raise refuse("private and in-place functions are not allowed")
    if last in _REFUSED or last.startswith(_REFUSED_PREFIXES):
        raise refuse("it does not compute a tensor from tensors")
    holder: Any = torch
    for segment in namespace.split(".")[1:]:
        holder = getattr(holder, segment)
    function = getattr(holder, last, None)
    if function is None:
        raise refuse(f"torch {torch.__version__} has no such function")
    if not isinstance(function, _FUNCTIONS) and not _is_boolean_dispatch(function):
        raise refuse("it is no function")
    found: Callable[..., Any] = function
    return found


def _is_boolean_dispatch(function: object) -> bool:
    """torch.nn.functional.max_pool2d and its like are plain closures or builtin wrappers, all callable, no class."""
    return callable(function) and not isinstance(function, type | types.ModuleType)
