"""What a case of the suite for the card is: a program, its tensors, and what it means in torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Reference = Callable[..., Any]
"""Takes ``torch.nn.functional`` and the program's tensors by name; gives the result."""

TF32, HALF, BRAIN, FULL = 1.2e-3, 1.2e-3, 8e-3, 2e-6
"""Relative errors allowed (Frobenius norm of the difference over that of the reference), by how data is multiplied."""


@dataclass(frozen=True, slots=True)
class Case:
    """``tensors`` maps a name to (element type, shape); ``collective`` says whether CUTLASS has to be compiled.

    ``baseline`` names the torch element type in which the same reference is timed beside it, "" for none;
    ``parameters`` are the tensors that count as a model's, the others are its inputs; ``target`` is what the program
    is compiled for.
    """

    name: str
    text: str
    tensors: dict[str, tuple[str, tuple[int, ...]]]
    reference: Reference
    tolerance: float
    policy: str = "half"
    collective: bool = False
    baseline: str = ""
    parameters: tuple[str, ...] = ()
    target: str = "sm_90a"


def one_stage(
    name: str, expression: str, tensors: dict[str, tuple[str, tuple[int, ...]]], out: str, reference: Reference,
    tolerance: float = FULL, baseline: str = "", **rest: Any,
) -> Case:  # fmt: skip
    """A case of one stage ``y`` that needs no CUTLASS."""
    head = ", ".join(f"{key}: {dtype}{list(shape)}" for key, (dtype, shape) in tensors.items())
    text = f"program {name}({head}) -> {out}\n  y = {expression}\n  return y\n"
    return Case(name, text, tensors, reference, tolerance, baseline=baseline, **rest)


def one_product(
    name: str, stage: str, a: tuple[int, int], b: tuple[int, int], dtypes: str, reference: Reference,
    tolerance: float, more: dict[str, tuple[str, tuple[int, ...]]] | None = None, out: tuple[int, ...] = (0, 0),
    **rest: Any,
) -> Case:  # fmt: skip
    """A case of one gemm stage ``y`` over ``a`` and ``b``; ``dtypes`` is "f16" or "f16 -> f32"."""
    operand, _, result = dtypes.partition(" -> ")
    tensors = {"a": (operand, a), "b": (operand, b), **(more or {})}
    head = ", ".join(f"{key}: {dtype}{list(shape)}" for key, (dtype, shape) in tensors.items())
    text = f"program {name}({head}) -> {result or operand}{list(out)}\n  y = {stage}\n  return y\n"
    return Case(name, text, tensors, reference, tolerance, **{"collective": True, **rest})
