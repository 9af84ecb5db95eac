"""Loss functions that stay one operation; the others arrive as element-wise operations and reductions."""

from __future__ import annotations

from sol.bounds.graph import Call
from sol.bounds.ops.registry import Cost, rule

_PER_ELEMENT = {
    "mse_loss": (3, "subtract, square, add"),
    "l1_loss": (3, "subtract, abs, add"),
    "smooth_l1_loss": (6, "subtract, abs, compare, square, scale, add"),
    "huber_loss": (6, "subtract, abs, compare, square, scale, add"),
    "binary_cross_entropy": (6, "two logarithms, two multiplies, two adds"),
    "binary_cross_entropy_with_logits": (7, "multiply, max, subtract, exp, add, log, add"),
    "soft_margin_loss": (5, "multiply, exp, add, log, add"),
    "hinge_embedding_loss": (4, "subtract, max, select, add"),
    "margin_ranking_loss": (5, "subtract, multiply, add, max, add"),
    "poisson_nll_loss": (4, "exp, multiply, subtract, add"),
    "kl_div": (4, "log, subtract, multiply, add"),
    "cosine_similarity": (6, "three products, three additions"),
    "cosine_embedding_loss": (6, "three products, three additions"),
    "triplet_margin_loss": (6, "two differences, two squares, two additions"),
    "pairwise_distance": (3, "subtract, square, add"),
    "multilabel_margin_loss": (4, "subtract, max, compare, add"),
    "multi_margin_loss": (4, "subtract, max, compare, add"),
    "cdist": (3, "subtract, square, add"),
    "_cdist_forward": (3, "subtract, square, add"),
}


@rule(*_PER_ELEMENT)
def count(call: Call) -> Cost:
    """So many operations for each element of the larger operand."""
    each, parts = _PER_ELEMENT[call.op]
    if "cdist" in call.op:
        elements = call.out.elements * call.first.shape[-1]
    else:
        elements = max(spec.elements for spec in call.operands)
    return Cost("vector", each * elements, f"{each}·elements = {each}·{elements:,} = {each * elements:,} ({parts})")


@rule("cross_entropy_loss")
def cross_entropy(call: Call) -> Cost:
    """Logarithm of a softmax (five an element), then one pick and one addition a target."""
    elements = call.first.elements
    target = call.tensor(1, "target")
    picked = target.elements if target is not None else 0
    flops = 5 * elements + picked
    return Cost("vector", flops, f"5·elements + targets = 5·{elements:,} + {picked:,} = {flops:,}")


@rule("nll_loss", "nll_loss_forward", "nll_loss2d", "nll_loss2d_forward", "nll_loss_nd")
def nll_loss(call: Call) -> Cost:
    """One addition a target; one log-probability a target is read."""
    target = call.tensor(1, "target")
    picked = target.elements if target is not None else 0
    read = picked * (call.first.dtype.bytes + (target.dtype.bytes if target is not None else 0))
    return Cost("vector", picked, f"targets = {picked:,}", reads=read)


@rule("ctc_loss", "_ctc_loss")
def ctc_loss(call: Call) -> Cost:
    """Seven for each frame and each of the 2·S + 1 states (two log-add-exps and an addition)."""
    target = call.tensor(1, "targets")
    states = 2 * (target.shape[-1] if target is not None and target.shape else 0) + 1
    frames = call.first.elements // call.first.shape[-1]
    flops = 7 * frames * states
    return Cost("vector", flops, f"7·frames·(2·S + 1) = 7·{frames:,}·{states} = {flops:,}")
