"""Row stages from their text, by parser and checker, and what torch makes of each: for the tests of all targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kernels.dsl import check, parse
from kernels.dsl.ir import Stage
from kernels.dtypes import DType
from kernels.problems.inspection import Signature, TensorSpec
from kernels.targets import Policy, Target

F = torch.nn.functional
Tensors = Mapping[str, tuple[str, Sequence[int]]]


def row_stage(call: str, tensors: Tensors, target: Target, channels_last: bool = False) -> Stage:
    """The stage of ``call``, which reads x and, maybe, other ``tensors`` (element type, shape); ``channels_last``
    says how x lies."""
    specs = [TensorSpec(name, DType(dtype), tuple(shape)) for name, (dtype, shape) in tensors.items()]
    head = ", ".join(f"{spec.name}: {spec.dtype}{list(spec.shape)}" for spec in specs)
    relayout = "\n  x = relayout(rowmajor, channels_last)" if channels_last else ""
    head = head.replace("x:", "rowmajor:", 1) if channels_last else head
    text = f"program p({head}) -> {specs[0].dtype}{list(specs[0].shape)}{relayout}\n  made = {call}\n"
    text += f"  other = map({'rowmajor' if channels_last else 'x'})\n  return other\n"
    signature = Signature((specs[0],), tuple(specs[1:]), (TensorSpec("out", specs[0].dtype, specs[0].shape),), {})
    program = check(parse(text), signature, target, Policy.HALF)
    return next(stage for stage in program.stages if stage.name == "made")


def _several(function: Any, x: Any, dim: Any) -> Any:
    """A torch function of one dimension, over several: those go last and become one."""
    dims = sorted(axis % x.ndim for axis in ([dim] if isinstance(dim, int) else dim))
    kept = [axis for axis in range(x.ndim) if axis not in dims]
    order = (*kept, *dims)
    flat = x.permute(order).reshape(*(x.shape[axis] for axis in kept), -1)
    made = function(flat)
    if made.shape != flat.shape:
        return made
    back = [order.index(axis) for axis in range(x.ndim)]
    return made.reshape([x.shape[axis] for axis in order]).permute(back)


REDUCTIONS: dict[str, Any] = {
    "sum": lambda x, dim: x.sum(dim),
    "mean": lambda x, dim: x.mean(dim),
    "max": lambda x, dim: x.amax(dim),
    "min": lambda x, dim: x.amin(dim),
    "prod": lambda x, dim: _several(lambda flat: flat.prod(-1), x, dim),
    "logsumexp": lambda x, dim: x.logsumexp(dim),
    "sumsq": lambda x, dim: x.square().sum(dim),
    "norm1": lambda x, dim: x.abs().sum(dim),
    "norm2": lambda x, dim: torch.linalg.vector_norm(x, 2, dim),
    "var": lambda x, dim: x.var(dim),
    "std": lambda x, dim: x.std(dim),
    "argmax": lambda x, dim: _several(lambda flat: flat.argmax(-1), x, dim),
    "argmin": lambda x, dim: _several(lambda flat: flat.argmin(-1), x, dim),
}
SOFTMAXES: dict[str, Any] = {
    "softmax": lambda x, dim: _several(lambda flat: flat.softmax(-1), x, dim),
    "log_softmax": lambda x, dim: _several(lambda flat: flat.log_softmax(-1), x, dim),
}
"""By kind, over a dimension or several."""


def rms_norm(x: Any, dim: Any, weight: Any = None, eps: float = 1e-5) -> Any:
    """RMSNorm over any dimensions; ``weight`` broadcasts to x."""
    made = x / (x.square().mean(dim, keepdim=True) + eps).sqrt()
    return made if weight is None else made * weight


def tensor(shape: Sequence[int], dtype: str = "f32", seed: int = 0, channels_last: bool = False) -> Any:
    """Random numbers that f16 and bf16 can hold, no two neighbours alike."""
    generator = torch.Generator().manual_seed(seed)
    made = (torch.randn(tuple(shape), generator=generator) * 1.5 + 0.5).to(getattr(torch, DType(dtype).torch_name))
    if channels_last:
        order = (0, *range(2, made.ndim), 1)
        back = (0, made.ndim - 1, *range(1, made.ndim - 1))
        return made.permute(order).contiguous().permute(back)
    return made
