"""Tensors out of nothing: written, and nothing read. A fused program does not even write them."""

from __future__ import annotations

from sol.bounds.graph import Call
from sol.bounds.ops.registry import Cost, names, rule

CONSTRUCTORS = names(
    "full full_like zeros zeros_like ones ones_like empty empty_like empty_strided empty_permuted new_zeros new_ones "
    "new_full new_empty new_empty_strided arange linspace logspace eye scalar_tensor fill zero tensor tril_indices "
    "triu_indices hann_window hamming_window"
)
RANDOM = names(
    "rand randn rand_like randn_like randint randint_like randperm bernoulli normal uniform exponential multinomial "
    "normal_functional"
)
"""Packet names of constructors, and of those whose values are drawn."""


@rule(*CONSTRUCTORS)
def count(call: Call) -> Cost:
    """Results written."""
    return Cost("none", 0, "a constant: nothing is read", reads=0)


@rule(*RANDOM)
def draw(call: Call) -> Cost:
    """One operation an element drawn."""
    elements = call.out.elements
    return Cost("vector", elements, f"elements drawn = {elements:,}", reads=0)
