"""How our matrix FLOPs compare with torch's own counter (``torch.utils.flop_counter``), and where the two may differ.

Both count two FLOPs a multiplication and addition, padding of convolutions and the masked half of attention included.
They differ where torch has no formula, and where the reference computes what it does not return.
"""

from __future__ import annotations

from dataclasses import dataclass

from sol.bounds.graph import packet
from sol.bounds.record import Work

WITHOUT_FORMULA = {
    "mv": "a matrix-vector product",
    "addmv": "a matrix-vector product",
    "dot": "a product of two vectors",
    "vdot": "a product of two vectors",
    "outer": "an outer product",
    "addr": "an outer product",
    "addbmm": "a sum of products",
}
"""Operations that torch's counter has no formula for: it counts them as nothing, we count them."""

NOT_RETURNED = {
    "28_VisionTransformer": (
        308_281_344,
        "tokens attend along the batch, so the patches never reach the class token",
    ),
    "32_ConvolutionalVisionTransformer": (28_835_840, "tokens attend along the batch, and one token is returned"),
    "36_LSTMHn": (51_200, "the last linear layer's result is dropped, the hidden state is returned"),
    "37_LSTMCn": (51_200, "the last linear layer's result is dropped, the cell state is returned"),
    "49_Mamba2ReturnFinalState": (
        21_474_836_480,
        "the blocks' own outputs are dropped, the last state is returned",
    ),
}
"""FLOPs of KernelBench problems that no output depends on, and why: torch counts them, a fused program leaves them."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Matrix FLOPs as we and torch count them. ``unexplained`` is what no listed reason accounts for: 0 is right."""

    ours: int
    torch: int
    unexplained: int
    reasons: tuple[str, ...]


def compare(name: str, work: Work, torch_flops: int) -> Comparison:
    """Our count of a problem (called ``name`` in KernelBench) against torch's on the meta device."""
    reasons = []
    extra = 0
    for item in work.items:
        words = WITHOUT_FORMULA.get(packet(item.op))
        if item.pipe == "matrix" and words is not None:
            extra += item.flops
            reasons.append(f"{item.node}: {item.flops:,} FLOP of {words}, for which torch has no formula")
    dropped, why = NOT_RETURNED.get(name, (0, ""))
    if dropped:
        reasons.append(f"{dropped:,} FLOP that torch counts and no output depends on: {why}")
    unexplained = work.matrix_flops - extra + dropped - torch_flops
    return Comparison(work.matrix_flops, torch_flops, unexplained, tuple(reasons))
