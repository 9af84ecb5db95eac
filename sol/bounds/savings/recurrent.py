"""What a recurrent layer can do without: the backward direction's steps behind the one that is used."""

from __future__ import annotations

from sol.bounds.graph import Call, Value, references
from sol.bounds.regions import Region

_BIDIRECTIONAL_AT = 7


def saving(call: Call, needed: dict[Value, Region]) -> list[tuple[float, str]]:
    """Every step feeds the next: a last step needs all before it. But of two directions the last layer's backward
    one may stop after the first step where only a part of the sequence is used."""
    region = needed.get((call.node.name, 0))
    if region is not None and region.is_full:
        return []
    if not call.argument(_BIDIRECTIONAL_AT, "bidirectional", False):
        return []
    states = [index for index in range(1, len(call.node.results)) if (call.node.name, index) in needed]
    if states:
        return []
    weights = [call.view.spec(value) for value in references(call.argument(2, "params"))]
    matrices = [spec for spec in weights if len(spec.shape) == 2]
    total = sum(spec.elements for spec in matrices)
    backward = sum(spec.elements for spec in matrices[-2:])
    share = 1 - backward / total if total else 1.0
    return [(share, "the last layer's backward direction may stop where the sequence is used no further")]
