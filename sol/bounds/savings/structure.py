"""Structure of a product's operands and result: diagonal and triangular matrices, masked and causal scores."""

from __future__ import annotations

from sol.bounds.demand_rules import triangle_elements
from sol.bounds.graph import Call, GraphView, Value
from sol.bounds.ops.attention import describe as describe_attention
from sol.bounds.ops.matmul import extents, operand_positions
from sol.bounds.ops.movement import COPIES
from sol.bounds.ops.registry import names
from sol.bounds.ops.softmax import SOFTMAXES
from sol.bounds.ops.views import PERMUTES, RESHAPES

_SAME_MATRIX = PERMUTES | COPIES | RESHAPES | {"expand", "squeeze", "unsqueeze"}
_SCALINGS = names("mul div add sub")
_MASKS = names("where masked_fill tril triu")
_FAR = 8
"""How many operations are looked past on the way to a mask."""


def saving(call: Call) -> list[tuple[float, str]]:
    """Factors on the FLOPs of a matrix product, each with its reason."""
    found: list[tuple[float, str]] = []
    size = extents(call)
    left_at, right_at = operand_positions(call.op)
    factors = (call.value(left_at, "self"), call.value(right_at, "weight" if call.op == "linear" else "other"))
    made_by = [maker(call.view, value) if value is not None else None for value in factors]
    for side, source in zip(("left", "right"), made_by, strict=True):
        if source is None:
            continue
        if source.op in ("diag", "diag_embed") and len(source.out.shape) > len(source.first.shape):
            found.append((1 / max(size.k, 1), f"the {side} factor is diagonal: one product an output element"))
        elif source.op in ("tril", "triu"):
            found.append((0.5, f"the {side} factor is triangular"))
    users = call.view.users.get((call.node.name, 0), [])
    kept = [call.view.call(user) for user in users]
    if kept and all(user.op in ("tril", "triu") for user in kept):
        # The result's half is in the need already; 2·n³/6 in all where both factors are triangular too.
        found.append((1 / 3, "a triangular result: its factors may be triangular too, 2·n³/6"))
    elif is_masked(call):
        found.append((0.5, "masked scores: half may be masked away"))
    return found


def attention_saving(call: Call) -> list[tuple[float, str]]:
    """The causal share of the scores, or half where there is a mask."""
    shape = describe_attention(call)
    if shape.causal:
        cells = shape.queries * shape.keys
        share = triangle_elements(shape.queries, shape.keys, 0, lower=True) / cells if cells else 1.0
        return [(share, f"causal: {share:.4g} of the scores are used")]
    return [(0.5, "masked scores: half may be masked away")] if shape.masked else []


def maker(view: GraphView, value: Value) -> Call | None:
    """The operation that made a matrix, views and copies looked past."""
    for _ in range(_FAR):
        node = view.producers.get(value[0])
        if node is None:
            return None
        call = view.call(node)
        if call.op not in _SAME_MATRIX or not call.values:
            return call
        value = call.values[0]
    return None


def is_masked(call: Call) -> bool:
    """Whether a product is scores on their way through a mask, or the weights behind one on their way to values."""
    return _meets_mask_ahead(call) or any(_meets_mask_behind(call.view, value) for value in call.values[:2])


def _meets_mask_ahead(call: Call) -> bool:
    value: Value = (call.node.name, 0)
    for _ in range(_FAR):
        users = call.view.users.get(value, [])
        if len(users) != 1:
            return False
        user = call.view.call(users[0])
        if user.op in _MASKS or (user.op == "mul" and _is_mask_product(user)):
            return True
        if user.op not in _SAME_MATRIX | _SCALINGS:
            return False
        value = (user.node.name, 0)
    return False


def _meets_mask_behind(view: GraphView, value: Value) -> bool:
    for _ in range(_FAR):
        node = view.producers.get(value[0])
        if node is None:
            return False
        call = view.call(node)
        if call.op in ("where", "masked_fill", "mul") and _is_mask_product(call):
            return True
        if call.op == "where":
            return True
        if (
            call.op not in _SAME_MATRIX | _SCALINGS | SOFTMAXES | {"relu", "dropout", "masked_fill"}
            or not call.values
        ):
            return False
        if call.op == "masked_fill":
            return True
        value = call.values[0]
    return False


def _is_mask_product(call: Call) -> bool:
    makers = [maker(call.view, value) for value in call.values]
    return any(source is not None and source.op in _MASKS for source in makers)
