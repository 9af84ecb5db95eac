"""Structure of a product's operands and result: diagonal and triangular matrices, masked and causal scores."""

from __future__ import annotations

from kernels.problems.inspection import Node
from sol.bounds.demand_rules import triangle_elements
from sol.bounds.graph import Call, GraphView, Value
from sol.bounds.known import kept_by, known
from sol.bounds.ops.attention import describe as describe_attention
from sol.bounds.ops.matmul import extents, operand_positions
from sol.bounds.ops.movement import COPIES
from sol.bounds.ops.registry import names
from sol.bounds.ops.softmax import SOFTMAXES
from sol.bounds.ops.views import PERMUTES, RESHAPES

_SAME_MATRIX = PERMUTES | COPIES | RESHAPES | {"expand", "squeeze", "unsqueeze"}
_SCALINGS = names("mul div add sub")
_MASKS = names("where masked_fill tril triu")
_UNKNOWN_MASK = 0.5
"""What a mask that comes as data is taken to leave: causal masks leave a little more."""
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
    if _triangular_result(call) and all(source is None or source.op in ("tril", "triu") for source in made_by):
        # The result's half is in the need already; 2·n³/6 in all where both factors are triangular too.
        found.append((1 / 3, "a triangular result: its factors may be triangular too, 2·n³/6"))
        return found
    share = masked_share(call)
    if share is not None:
        exact = f"a mask written out in the graph leaves {share:.4g} of a factor"
        found.append((share, exact if share != _UNKNOWN_MASK else "masked scores: half may be masked away"))
    return found


def _triangular_result(call: Call) -> bool:
    """Whether a square product is only ever used through a triangle of zeros."""
    users = call.view.users.get((call.node.name, 0), [])
    size = extents(call)
    return bool(users) and size.m == size.n == size.k and all(_keeps_triangle(call, user) for user in users)


def _keeps_triangle(call: Call, node: Node) -> bool:
    user, made = call.view.call(node), (call.node.name, 0)
    if user.op in ("tril", "triu"):
        return True
    kept = kept_by(user, made)
    if kept is None or any(_not_zero(user, value) for value in user.values if value != made):
        return False
    return kept.triangle


def _not_zero(user: Call, value: Value) -> bool:
    """Whether something else than zeros is put where a mask covers; the mask itself is no filling."""
    if user.op != "where" or value == user.value(0, "condition"):
        return False
    filling = known(user.view, value)
    return filling is None or bool(filling.any())


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


def masked_share(call: Call) -> float | None:
    """The share of the scores that a mask leaves, for a product of scores on their way through it, or for the weights
    behind one on their way to values; None where there is no mask. A half where data decides what the mask holds."""
    if _meets_mask_ahead(call):
        return _UNKNOWN_MASK
    shares = [share for value in call.values[:2] if (share := _mask_behind(call.view, value)) is not None]
    return min(shares, default=None)


def _meets_mask_ahead(call: Call) -> bool:
    """Masks whose values are known are left out: what they cover is not needed in the first place."""
    value: Value = (call.node.name, 0)
    for _ in range(_FAR):
        users = call.view.users.get(value, [])
        if len(users) != 1:
            return False
        user = call.view.call(users[0])
        if kept_by(user, value) is not None or user.op in ("tril", "triu"):
            return False
        if user.op in _MASKS or (user.op == "mul" and _is_mask_product(user)):
            return True
        if user.op not in _SAME_MATRIX | _SCALINGS:
            return False
        value = (user.node.name, 0)
    return False


def _mask_behind(view: GraphView, value: Value) -> float | None:
    for _ in range(_FAR):
        node = view.producers.get(value[0])
        if node is None:
            return None
        call = view.call(node)
        data = [each for each in call.values if known(view, each) is None]
        exact = [kept.share for each in data if (kept := kept_by(call, each)) is not None]
        if exact:
            return min(exact)
        if call.op in ("where", "masked_fill") or (call.op == "mul" and _is_mask_product(call)):
            return _UNKNOWN_MASK
        if call.op not in _SAME_MATRIX | _SCALINGS | SOFTMAXES | {"relu", "dropout"} or not call.values:
            return None
        value = call.values[0]
    return None


def _is_mask_product(call: Call) -> bool:
    makers = [maker(call.view, value) for value in call.values]
    return any(source is not None and source.op in _MASKS for source in makers)
