"""Recurrent layers as single operations: gates are matrix products, what follows them is element-wise."""

from __future__ import annotations

from sol.bounds.graph import Call, references
from sol.bounds.ops.registry import Cost, rule

_AFTER_GATES = {
    # By hidden element: activations at their own cost, then the state's update.
    "rnn_tanh": (1, "tanh"),
    "rnn_relu": (1, "max"),
    "gru": (13, "two sigmoids, multiply, add, tanh, and (1-z)·n + z·h"),
    "lstm": (14, "three sigmoids, two tanh, and f·c + i·g, o·tanh(c)"),
}
LAYERS = frozenset(_AFTER_GATES)
"""Packet names of recurrent layers."""


@rule(*LAYERS)
def count(call: Call) -> tuple[Cost, ...]:
    """``2·T·B·(all gate weights)``: each weight matrix meets every time step of every sample once."""
    weights = [call.view.spec(value) for value in references(call.argument(2, "params"))]
    matrices = [spec for spec in weights if len(spec.shape) == 2]
    biases = [spec for spec in weights if len(spec.shape) == 1]
    steps = call.first.elements // call.first.shape[-1]
    entries = sum(spec.elements for spec in matrices)
    flops = 2 * steps * entries
    each, parts = _AFTER_GATES[call.op]
    gates = {"gru": 3, "lstm": 4}.get(call.op, 1)
    rows = sum(spec.shape[0] for spec in matrices)
    # Two matrices a layer and direction (a third, the projection, has no gates): half of the rows are hidden units.
    hidden = rows // (2 * gates)
    added = steps * (sum(spec.elements for spec in biases) + rows // 2)
    vector = steps * hidden * each + added
    return (
        Cost("matrix", flops, f"2·T·B·weights = 2·{steps:,}·{entries:,} = {flops:,}"),
        Cost(
            "vector", vector,
            f"T·B·(ops·hidden) + additions = {steps:,}·{each}·{hidden} + {added:,} = {vector:,} ({parts})", 0, 0,
        ),
    )  # fmt: skip


@rule("_thnn_fused_lstm_cell", "_thnn_fused_gru_cell")
def fused_cell(call: Call) -> Cost:
    """The part of a cell behind its products: the gates of one step."""
    each, parts = _AFTER_GATES["lstm" if "lstm" in call.op else "gru"]
    elements = call.out.elements
    return Cost("vector", each * elements, f"{each}·hidden = {each}·{elements:,} = {each * elements:,} ({parts})")
