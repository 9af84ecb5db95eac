"""Result types of those torch functions whose shape rule is plain, so that their annotation may be left out.

Only rules that hold for every legal call are here; for all else ``result_of`` gives None and the program must say the
type. Nothing here imports torch.
"""

from __future__ import annotations

from typing import Any

from kernels.dsl.ir import Value

Result = tuple[str, tuple[int, ...]]

_NAMES = (
    "softmax", "log_softmax", "layer_norm", "group_norm", "batch_norm", "instance_norm", "rms_norm", "relu", "gelu",
    "silu", "sigmoid", "tanh", "softplus", "elu", "selu", "leaky_relu", "hardtanh", "hardswish", "hardsigmoid", "mish",
    "softsign", "normalize",
)  # fmt: skip
_SAME = frozenset(f"{module}.{name}" for module in ("torch", "torch.nn.functional") for name in _NAMES)
_REDUCTIONS = frozenset({"torch.mean", "torch.amax", "torch.amin", "torch.logsumexp"})
_POSITIONS = ("input", "dim", "keepdim")


def result_of(
    function: str, args: tuple[Any, ...], kwargs: dict[str, Any], values: dict[str, Value]
) -> Result | None:
    """Element type and shape of the one result; None where no rule is sure. ``args`` are in JSON form."""
    given = dict(zip(_POSITIONS, args, strict=False)) | kwargs
    first = given.get("input")
    if not isinstance(first, dict) or "value" not in first or _asks_for_type([*args, *kwargs.values()]):
        return None
    source = values[first["value"]]
    if not source.dtype.is_float:
        return None
    if function in _SAME:
        return str(source.dtype), source.shape
    if function in _REDUCTIONS:
        return _reduced(source, given.get("dim"), given.get("keepdim", False), kwargs)
    return None


def _asks_for_type(args: list[Any]) -> bool:
    return any(isinstance(arg, dict) and "dtype" in arg for arg in args)


def _reduced(source: Value, dim: Any, keepdim: Any, kwargs: dict[str, Any]) -> Result | None:
    dims = [dim] if isinstance(dim, int) else dim
    rank = len(source.shape)
    if set(kwargs) - set(_POSITIONS) or not isinstance(dims, list) or not dims or not isinstance(keepdim, bool):
        return None
    if not all(isinstance(d, int) and -rank <= d < rank for d in dims):
        return None
    gone = {d % rank for d in dims}
    kept = (
        1 if axis in gone else extent for axis, extent in enumerate(source.shape) if keepdim or axis not in gone
    )
    return str(source.dtype), tuple(kept)
