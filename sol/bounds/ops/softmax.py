"""Softmax and its kin, stable forms: the maximum is subtracted first."""

from __future__ import annotations

from sol.bounds.graph import Call
from sol.bounds.ops.registry import Cost, names, product, rule

SOFTMAXES = names("softmax _softmax log_softmax _log_softmax softmin _safe_softmax")
"""Packet names of softmax in all its forms."""


@rule(*SOFTMAXES)
def count(call: Call) -> Cost:
    """Five an element: maximum, subtract, exp, add, divide (or, for the logarithm, subtract)."""
    flops, formula = product("5·elements", 5, *call.out.shape)
    last = "subtract" if "log" in call.op else "divide"
    return Cost("vector", flops, f"{formula} (max, subtract, exp, add, {last})")


@rule("logsumexp")
def logsumexp(call: Call) -> Cost:
    """Four an input element, and a logarithm and an addition an output element."""
    given, left = call.first.elements, call.out.elements
    flops = 4 * given + 2 * left
    formula = f"4·inputs + 2·outputs = 4·{given:,} + 2·{left:,} = {flops:,}"
    return Cost("vector", flops, f"{formula} (max, subtract, exp, add; log, add)")
