"""One small program an operation, in any element type: what the table of legal cells is tried with."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.dtypes import DType
from kernels.problems.inspection import Signature, TensorSpec


@dataclass(frozen=True, slots=True)
class Cell:
    """A program whose tensors ``x`` and others have one element type; ``outputs`` are its results' shapes."""

    text: str
    signature: Signature


@dataclass(frozen=True, slots=True)
class _Sample:
    stage: str
    inputs: dict[str, tuple[int, ...]]
    shapes: tuple[tuple[int, ...], ...]


_X, _W = (32, 64), (48, 64)
_SAMPLES: dict[str, _Sample] = {
    "map": _Sample("map(x)", {"x": _X}, (_X,)),
    "cast": _Sample("cast(x, @)", {"x": _X}, (_X,)),
    "gemm": _Sample("gemm(x, w.T)", {"x": _X, "w": _W}, ((32, 48),)),
    "bmm": _Sample("bmm(x, w.T)", {"x": (3, *_X), "w": (3, *_W)}, ((3, 32, 48),)),
    "grouped_gemm": _Sample("grouped_gemm([x, w], [w.T, x.T])", {"x": _X, "w": _W}, ((32, 48), (48, 32))),
    "conv": _Sample("conv2d(x, w)", {"x": (2, 16, 8, 8), "w": (32, 16, 3, 3)}, ((2, 32, 6, 6),)),
    "reduce": _Sample("reduce(x, sum)", {"x": _X}, ((32,),)),
    "softmax": _Sample("softmax(x)", {"x": _X}, (_X,)),
    "norm": _Sample("rms_norm(x)", {"x": _X}, (_X,)),
    "relayout": _Sample("relayout(x, row_major)", {"x": _X}, (_X,)),
    "pad": _Sample("pad(x, (1, 2))", {"x": _X}, ((32, 67),)),
    "pool": _Sample("max_pool2d(x, 2)", {"x": (2, 16, 8, 8)}, ((2, 16, 4, 4),)),
}

OPS = tuple(_SAMPLES)
"""The operations that there is a sample of, by their name in the checked program."""


def cell(op: str, dtype: DType, out: DType) -> Cell:
    """``op`` on tensors of ``dtype``, with results of ``out``."""
    sample = _SAMPLES[op]
    several = len(sample.shapes) > 1
    head = ", ".join(f"{name}: {_type(dtype, shape)}" for name, shape in sample.inputs.items())
    results = ", ".join(_type(out, shape) for shape in sample.shapes)
    returned = ", ".join(f"y.{index}" for index in range(len(sample.shapes))) if several else "y"
    text = f"program p({head}) -> {results}\n  y = {sample.stage.replace('@', dtype)}\n  return {returned}\n"
    inputs = tuple(TensorSpec(name, dtype, shape) for name, shape in sample.inputs.items())
    outputs = tuple(TensorSpec(f"o{index}", out, shape) for index, shape in enumerate(sample.shapes))
    return Cell(text, Signature(inputs, (), outputs, {}))


def _type(dtype: DType, shape: tuple[int, ...]) -> str:
    return f"{dtype}[{', '.join(map(str, shape))}]"
