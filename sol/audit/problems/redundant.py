"""Operations that change nothing: bounds that hold already, reductions over one element, neutral numbers, undone steps.

Worked out from intervals and shapes; an operation whose effect only some values can show is not redundant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from sol.audit.problems.record import Flaw, ProblemFlaw, number
from sol.audit.record import Severity
from sol.bounds.graph import UNFAMILIAR, Call, GraphView, Value
from sol.bounds.ops.pooling import ADAPTIVE_AVG_POOLS, ADAPTIVE_MAX_POOLS, AVG_POOLS, MAX_POOLS
from sol.bounds.savings.constants import Interval, constants, intervals

_OVER_ONE = frozenset({"sum", "mean", "amax", "amin", "max", "min", "logsumexp", "prod", "cumsum", "cumprod"})
_POOLS = AVG_POOLS | MAX_POOLS | ADAPTIVE_AVG_POOLS | ADAPTIVE_MAX_POOLS
_UNDONE = {("exp", "log"), ("log", "exp"), ("neg", "neg"), ("reciprocal", "reciprocal"), ("log1p", "expm1")}
_UNDONE_BY_SAME = {("mul", "div"), ("div", "mul"), ("add", "sub"), ("sub", "add")}
_IDEMPOTENT = frozenset({"floor", "ceil", "round", "trunc", "sign", "isnan"})
_EVERYTHING = (-math.inf, math.inf)


def flaws(view: GraphView) -> Iterator[ProblemFlaw]:
    """One flaw for each redundant operation; none behind what is constant anyway."""
    known, bounds = constants(view), intervals(view)
    for node in view.nodes:
        call = view.call(node)
        if (node.name, 0) in known or not call.values:
            continue
        try:
            words, neutral = _reason(call, bounds), _neutral(call)
        except UNFAMILIAR:
            continue
        if words is not None:
            yield redundant(call, words)
        elif neutral is not None:
            # Next to no work; some are what an operation of the reference consists of.
            yield redundant(call, neutral, severity=Severity.INFO)


def redundant(call: Call, words: str, *, severity: Severity = Severity.SUSPECT, sure: float = 0.97) -> ProblemFlaw:
    """The flaw of one operation."""
    return ProblemFlaw(
        Flaw.REDUNDANT_OPERATION,
        severity,
        sure,
        "graph",
        f"{call.node.name} ({call.op}): {words}",
        {"elements": float(call.out.elements)},
        (call.node.name,),
    )


def _reason(call: Call, bounds: dict[Value, Interval]) -> str | None:
    return _within(call, bounds) or _over_one(call) or _pools_nothing(call) or _undoes(call)


def _within(call: Call, bounds: dict[Value, Interval]) -> str | None:
    """A clamp of any kind whose ends the values never pass."""
    given = call.values[0]
    low, high = bounds.get(given, _EVERYTHING)
    ends = _ends(call)
    if ends is None or (low, high) == _EVERYTHING or call.out.shape != call.view.spec(given).shape:
        return None
    if ends[0] <= low and high <= ends[1]:
        source = call.view.producers.get(given[0])
        behind = f" behind {source.name} ({call.view.call(source).op})" if source is not None else ""
        return f"what comes in{behind} lies from {number(low)} to {number(high)} already"
    return None


def _ends(call: Call) -> Interval | None:
    """Between which ends an operation is the identity."""
    if call.op in ("relu", "abs"):
        return 0.0, math.inf
    if call.op == "relu6":
        return 0.0, 6.0
    if call.op in ("leaky_relu", "elu", "celu"):
        return 0.0, math.inf
    if call.op == "clamp_min":
        return call.number(1, "min", -math.inf), math.inf
    if call.op == "clamp_max":
        return -math.inf, call.number(1, "max", math.inf)
    if call.op in ("clamp", "clip", "hardtanh"):
        if len(call.values) > 1:
            return None
        default = (-1.0, 1.0) if call.op == "hardtanh" else _EVERYTHING
        return call.number(1, "min", default[0]), call.number(2, "max", default[1])
    return None


def _over_one(call: Call) -> str | None:
    """A reduction or a scan over axes of one element each gives what it is given."""
    if call.op not in _OVER_ONE or len(call.values) != 1:
        return None
    if call.op in ("cumsum", "cumprod"):
        axis = call.argument(1, "dim")
        reduced = [call.first.shape[axis]] if isinstance(axis, int) and call.first.shape else []
    else:
        reduced = [call.first.shape[axis] for axis in call.axes()]
    if reduced and all(extent == 1 for extent in reduced):
        return f"it goes over {len(reduced)} axes of one element each" if len(reduced) > 1 else "over one element"
    return None


def _pools_nothing(call: Call) -> str | None:
    if call.op not in _POOLS or call.out.shape != call.first.shape:
        return None
    if call.op in ADAPTIVE_AVG_POOLS | ADAPTIVE_MAX_POOLS:
        return "it pools to the extents that its input has"
    return "its window is one element" if set(call.integers(1, "kernel_size", (0,))) == {1} else None


def _neutral(call: Call) -> str | None:
    """Times one, plus zero, to the power of one, dropout of nothing."""
    other = call.argument(1, "other")
    if call.op in ("dropout", "native_dropout"):
        return "it drops nothing" if call.number(1, "p", 0.5) == 0 and call.argument(2, "train", True) else None
    if isinstance(other, bool) or not isinstance(other, int | float):
        return None
    if call.op in ("mul", "div") and other == 1:
        return "by one"
    if call.op in ("add", "sub") and other == 0:
        return "by nothing"
    return "to the power of one" if call.op == "pow" and call.argument(1, "exponent") == 1 else None


def _undoes(call: Call) -> str | None:
    """A step that the one before it undoes, or that was done already."""
    source = call.view.producers.get(call.values[0][0])
    if source is None or len(call.values) != 1:
        return None
    before = call.view.call(source)
    if (before.op, call.op) in _UNDONE:
        return f"it undoes {source.name} ({before.op})"
    if call.op == before.op and call.op in _IDEMPOTENT:
        return f"{source.name} ({before.op}) has done it already"
    if len(before.values) != 1 or {before.op, call.op} - {"add", "sub", "mul", "div"}:
        return None
    a, b = before.argument(1, "other"), call.argument(1, "other")
    alike = isinstance(a, int | float) and isinstance(b, int | float) and a == b
    if alike and (before.op, call.op) in _UNDONE_BY_SAME:
        return f"it undoes {source.name} ({before.op} {number(float(a))})"
    return None
