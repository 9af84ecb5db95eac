"""Normalisations. Statistics take five operations an element (sum; subtract, square, sum; scale), weights one each."""

from __future__ import annotations

from sol.bounds.graph import Call
from sol.bounds.ops.registry import Cost, rule

BATCH_NORMS: dict[str, tuple[int, int, int | None]] = {
    "batch_norm": (1, 2, 5),
    "native_batch_norm": (1, 2, 5),
    "cudnn_batch_norm": (1, 2, 5),
    "_native_batch_norm_legit": (1, 2, 5),
    "_native_batch_norm_legit_functional": (1, 2, 5),
    "_native_batch_norm_legit_no_training": (1, 2, None),
    "_batch_norm_with_update_functional": (1, 2, -1),
    "_batch_norm_no_update": (1, 2, None),
}
"""Places of weight and bias, and of the training flag: None never trains, -1 always."""

_GROUPED: dict[str, tuple[int, int]] = {
    "layer_norm": (2, 3), "native_layer_norm": (2, 3), "group_norm": (2, 3), "native_group_norm": (1, 2),
    "instance_norm": (1, 2),
}  # fmt: skip
GROUP_NORMS = frozenset(_GROUPED)
"""Normalisations whose statistics come from a part of one sample."""


def trains(call: Call) -> bool:
    """Whether a batch normalisation takes its statistics from this batch."""
    place = BATCH_NORMS[call.op][2]
    if place == -1:
        return True
    if place is None:
        return False
    name = "train" if "native" in call.op else "training"
    if call.op == "_native_batch_norm_legit" and call.node.op.endswith("no_stats"):
        return bool(call.argument(3, "training", True))
    return bool(call.argument(place, name, False))


@rule(*BATCH_NORMS)
def batch_norm(call: Call) -> Cost:
    """Training: five and the weights. Otherwise one multiply and one add, the statistics being known."""
    if trains(call):
        weight, bias, _ = BATCH_NORMS[call.op]
        return _statistics(call, 5, weight, bias)
    return _each(call, 2, "multiply, add")


@rule(*GROUP_NORMS)
def group_norm(call: Call) -> Cost:
    """Five and the weights."""
    return _statistics(call, 5, *_GROUPED[call.op])


@rule("rms_norm", "_fused_rms_norm")
def rms_norm(call: Call) -> Cost:
    """Three (square, add, scale) and the weight."""
    return (
        _each(call, 4, "square, add, scale, weight")
        if call.tensor(2, "weight")
        else _each(call, 3, "square, add, scale")
    )


@rule("local_response_norm")
def local_response_norm(call: Call) -> Cost:
    """Square, running sum (add, subtract), power (multiply, add, pow), divide."""
    return _each(call, 7, "square, add, subtract, multiply, add, power, divide")


def _statistics(call: Call, each: int, weight: int, bias: int) -> Cost:
    parts = "add, subtract, square, add, scale"
    if call.tensor(weight, "weight"):
        each, parts = each + 1, parts + ", weight"
    if call.tensor(bias, "bias"):
        each, parts = each + 1, parts + ", bias"
    return _each(call, each, parts)


def _each(call: Call, each: int, parts: str) -> Cost:
    elements = call.first.elements
    return Cost("vector", each * elements, f"{each}·elements = {each}·{elements:,} = {each * elements:,} ({parts})")
