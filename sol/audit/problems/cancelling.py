"""Shifts and scales that what follows takes out again: before a normalisation, a softmax, the subtraction of a mean.

``norm(s·x + t) = norm(x)`` where s and t are the same for all elements that one statistic is taken over; a scale only
up to the normalisation's epsilon and its own sign.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sol.audit.problems.record import ProblemFlaw
from sol.audit.problems.redundant import redundant
from sol.audit.record import Severity
from sol.bounds.graph import UNFAMILIAR, Call, GraphView, Value, references
from sol.bounds.ops.convolution import CONVOLUTIONS
from sol.bounds.ops.matmul import MATMULS
from sol.bounds.ops.movement import COPIES
from sol.bounds.ops.normalisation import BATCH_NORMS, GROUP_NORMS, trains
from sol.bounds.ops.softmax import SOFTMAXES

_FAR = 8


@dataclass(frozen=True, slots=True)
class _Taker:
    """An operation that takes out shifts (and scales) that are constant along ``axes`` of ``value``."""

    call: Call
    value: Value
    axes: frozenset[int]
    scales: bool


def flaws(view: GraphView) -> Iterator[ProblemFlaw]:
    """One flaw for each operation whose effect is taken out again."""
    told: set[str] = set()
    for node in view.nodes:
        try:
            taker = _taker(view.call(node))
        except UNFAMILIAR:
            continue
        if taker is None or _extent(view, taker) <= 1:
            continue
        for flaw in _behind(view, taker):
            if flaw.evidence not in told:
                told.add(flaw.evidence)
                yield flaw


def _extent(view: GraphView, taker: _Taker) -> int:
    shape = view.spec(taker.value).shape
    return math.prod(shape[axis] for axis in taker.axes)


def _taker(call: Call) -> _Taker | None:
    if call.op in BATCH_NORMS and trains(call):
        rank = len(call.first.shape)
        return _Taker(call, call.values[0], frozenset({0, *range(2, rank)}), True)
    if call.op in GROUP_NORMS:
        return _Taker(call, call.values[0], _statistics(call), True)
    if call.op in SOFTMAXES and call.op not in ("logsumexp",):
        axis = call.argument(1, "dim")
        if isinstance(axis, int):
            return _Taker(call, call.values[0], frozenset({axis % len(call.first.shape)}), False)
    if call.op in ("sub", "div") and len(call.values) == 2:
        return _by_own_statistic(call)
    return None


def _statistics(call: Call) -> frozenset[int]:
    shape = call.first.shape
    if "layer_norm" in call.op:
        count = len(call.integers(1, "normalized_shape", ()))
        return frozenset(range(len(shape) - count, len(shape)))
    if call.op == "instance_norm":
        return frozenset(range(2, len(shape)))
    groups = call.number(6 if call.op.startswith("native") else 1, "num_groups", 1)
    return frozenset(range(2 if groups == shape[1] else 1, len(shape)))


def _by_own_statistic(call: Call) -> _Taker | None:
    """``x - mean(x)`` takes out shifts, ``x / norm(x)`` scales."""
    value, statistic = call.values
    node = call.view.producers.get(statistic[0])
    if node is None:
        return None
    made = call.view.call(node)
    wanted = ("mean",) if call.op == "sub" else ("linalg_vector_norm", "norm")
    if made.op not in wanted or not made.values or made.values[0] != value:
        return None
    axes = made.axes(2 if made.op == "linalg_vector_norm" else 1, "dim")
    # A shift goes through a difference of means, a scale through a quotient of norms: never the other.
    return _Taker(call, value, frozenset(axes), call.op == "div")


def _behind(view: GraphView, taker: _Taker) -> Iterator[ProblemFlaw]:
    """Walk back from what is normalised, as long as nothing else sees it."""
    shifts = taker.call.op != "div"
    value = taker.value
    for _ in range(_FAR):
        node = view.producers.get(value[0])
        if node is None or not _only_for(view, value, taker):
            return
        call = view.call(node)
        if call.op in ("add", "sub", "mul", "div"):
            kept, other = _split(call, taker)
            if kept is None:
                return
            is_shift = call.op in ("add", "sub")
            if is_shift and not shifts:
                return
            if is_shift or taker.scales:
                yield _taken_out(call, other, taker, is_shift)
            value = kept
        elif call.op in COPIES or (call.op == "dropout" and not call.argument(2, "train", True)):
            value = call.values[0]
        else:
            if shifts:
                yield from _bias(call, taker)
            return


def _only_for(view: GraphView, value: Value, taker: _Taker) -> bool:
    """Whether only the taker, its own statistic and what was walked through read the value."""
    if value in view.outputs:
        return False
    own = {taker.call.node.name, *(name for name, _ in taker.call.values)}
    users = view.users.get(value, [])
    return len(users) == 1 or all(user.name in own for user in users)


def _split(call: Call, taker: _Taker) -> tuple[Value | None, Value | None]:
    """The operand that goes on, and the one that is constant along the axes (None: a number)."""
    if call.number(2, "alpha", 1) != 1 and len(call.values) == 1:
        return None, None
    first, second = call.value(0, "self"), call.value(1, "other")
    if first is not None and (second is None or _is_constant(call, second, taker)):
        return first, second
    if second is not None and call.op in ("add", "mul") and (first is None or _is_constant(call, first, taker)):
        return second, first
    return None, None


def _is_constant(call: Call, value: Value, taker: _Taker) -> bool:
    shape, rank = call.view.spec(value).shape, len(call.out.shape)
    lead = rank - len(shape)
    return all(axis < lead or shape[axis - lead] == 1 for axis in taker.axes)


def _taken_out(call: Call, other: Value | None, taker: _Taker, is_shift: bool) -> ProblemFlaw:
    what = f"{other[0]}" if other is not None else f"{call.argument(1, 'other')}"
    into = f"{taker.call.node.name} ({taker.call.op}) takes it out again"
    if is_shift:
        return redundant(call, f"a shift by {what} that is the same along each statistic: {into}")
    words = (
        f"a scale by {what} that is the same along each statistic: {into}, up to its epsilon and the scale's sign"
    )
    return redundant(call, words, sure=0.9)


def _bias(call: Call, taker: _Taker) -> Iterator[ProblemFlaw]:
    """The bias of a product or a convolution, where it is the same along the statistics."""
    if call.op in CONVOLUTIONS:
        bias, axis = call.value(2, "bias"), 1
    elif call.op in MATMULS and call.op in ("addmm", "linear"):
        at_end = call.op == "linear"
        bias, axis = call.value(2 if at_end else 0, "bias" if at_end else "self"), len(call.out.shape) - 1
    else:
        return
    if bias is None or axis in taker.axes:
        return
    given = [name for name, _ in references([call.node.args, list(call.node.kwargs.values())])]
    into = f"{taker.call.node.name} ({taker.call.op}) takes it out again"
    if bias[0] in given:
        words = f"its bias {bias[0]} is the same along each statistic: {into}"
        yield redundant(call, words, severity=Severity.INFO)
