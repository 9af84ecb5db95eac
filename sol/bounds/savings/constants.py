"""Values known without computing them: no data can change them, so an honest kernel may skip all behind them.

Follows intervals through clamps and the like (min(x, 0) clamped to [0, 1] is 0), differences of a value with itself,
softmax over one element, sums of a softmax, and means over what a normalisation has just centred. NaN and infinite
data are left out of account.
"""

from __future__ import annotations

import math

from sol.bounds.graph import Call, GraphView, Value
from sol.bounds.ops.constructors import CONSTRUCTORS
from sol.bounds.ops.movement import COPIES
from sol.bounds.ops.normalisation import GROUP_NORMS
from sol.bounds.ops.pooling import MAX_POOLS
from sol.bounds.ops.registry import names
from sol.bounds.ops.softmax import SOFTMAXES
from sol.bounds.ops.views import PERMUTES, RESHAPES

Interval = tuple[float, float]

_SAME_VALUES = RESHAPES | PERMUTES | COPIES | {"squeeze", "unsqueeze", "expand", "select", "slice", "dropout"}
_ONE_ELEMENT_IS_ITSELF = names("sum mean amax amin max min logsumexp prod cumsum")
_UNIT, _SIGNED_UNIT, _POSITIVE = (0.0, 1.0), (-1.0, 1.0), (0.0, math.inf)
_FIXED: dict[str, Interval] = {
    **dict.fromkeys(("sigmoid", "hardsigmoid"), _UNIT),
    **dict.fromkeys(("tanh", "sin", "cos"), _SIGNED_UNIT),
    **dict.fromkeys(("exp", "softplus", "abs", "square", "sqrt"), _POSITIVE),
    "relu6": (0.0, 6.0),
}


def constants(view: GraphView) -> dict[Value, str]:
    """Tensors that no input or parameter can change, each with the reason. Constructors are not among them."""
    return _Pass(view).run()


def intervals(view: GraphView) -> dict[Value, Interval]:
    """Between which ends a tensor's elements lie whatever comes in, for those of which that is known."""
    walk = _Pass(view)
    walk.run()
    return walk.intervals


class _Pass:
    """One walk from inputs to outputs."""

    def __init__(self, view: GraphView) -> None:
        self.view = view
        self.intervals: dict[Value, Interval] = {}
        self.reasons: dict[Value, str] = {}
        self.fixed: set[Value] = set()  # constructors and all that is made of fixed values only
        self.origin: dict[Value, Value] = {}  # a tensor with the same elements in the same order
        self.centred: dict[Value, int] = {}  # how many elements, at least, share one fixed mean
        self.unit_sum: dict[Value, int] = {}  # the axis along which a softmax adds up to one

    def run(self) -> dict[Value, str]:
        for node in self.view.nodes:
            self._visit(self.view.call(node), (node.name, 0))
        return self.reasons

    def _visit(self, call: Call, made: Value) -> None:
        if call.op in CONSTRUCTORS:
            self._constructor(call, made)
            return
        if call.values and all(value in self.fixed for value in call.values):
            self.fixed.add(made)
            if any(value in self.reasons for value in call.values):
                self.reasons[made] = "made of constants only"
        reason = self._reason(call)
        if reason is not None:
            self._know(made, reason)
            return
        if not call.values:
            return
        if _keeps_elements(call):
            self.origin[made] = self._origin(call.values[0])
        self._centre(call, made)
        interval = self._interval(call)
        if interval is not None:
            self.intervals[made] = interval
            if interval[0] == interval[1]:
                self._know(made, f"always {interval[0]:g}")

    def _know(self, made: Value, reason: str) -> None:
        if made in self.fixed:
            return  # made of constructors alone: nothing is saved that anyone would compute
        self.reasons[made] = reason
        self.fixed.add(made)

    def _constructor(self, call: Call, made: Value) -> None:
        self.fixed.add(made)
        filled = {"zeros": 0.0, "zeros_like": 0.0, "ones": 1.0, "ones_like": 1.0}.get(call.op)
        if call.op in ("full", "full_like", "fill"):
            filled = call.argument(1, "fill_value")
        if call.op == "scalar_tensor":
            filled = call.argument(0, "s")
        if isinstance(filled, int | float):
            self.intervals[made] = (float(filled), float(filled))

    def _reason(self, call: Call) -> str | None:
        """Why the result is constant, for the patterns beyond intervals."""
        if call.op in SOFTMAXES and _extent(call) == 1:
            return "a softmax over one element"
        if call.op == "sub" and len(call.values) == 2:
            a, b = call.values
            if self._origin(a) == self._origin(b) and self.view.spec(a).shape == self.view.spec(b).shape:
                return "a value minus itself"
        if call.op in ("sum", "mean") and call.values:
            reduced = [call.first.shape[axis] for axis in call.axes()]
            given = call.values[0]
            if self.unit_sum.get(given) in call.axes():
                return "the sum of a softmax"
            if given in self.centred and math.prod(reduced) >= self.centred[given]:
                return "the mean of what a normalisation has centred"
        return None

    def _origin(self, value: Value) -> Value:
        return self.origin.get(value, value)

    def _centre(self, call: Call, made: Value) -> None:
        """Means that a normalisation fixes stay fixed under scaling and shifting by numbers and parameters."""
        if call.op in GROUP_NORMS:
            self.centred[made] = self._statistics(call)
        elif call.op in ("softmax", "_softmax"):
            axis = call.argument(1, "dim")
            if isinstance(axis, int):
                self.unit_sum[made] = axis % len(call.out.shape)
        elif call.op in ("add", "sub", "mul", "div", "neg") or call.op in RESHAPES | COPIES:
            moving = [value for value in call.values if not self._is_given(value)]
            if len(moving) == 1 and moving[0] in self.centred:
                self.centred[made] = self.centred[moving[0]]

    def _is_given(self, value: Value) -> bool:
        return value in self.fixed or (value[0] in self.view.sources and value[0] not in self.view.inputs)

    def _statistics(self, call: Call) -> int:
        shape = call.first.shape
        if "layer_norm" in call.op:
            return math.prod(call.integers(1, "normalized_shape", shape[-1:]))
        if call.op == "instance_norm":
            return math.prod(shape[2:])
        # The weights differ by channel: only the whole sample's mean is sure to be fixed where they are all one.
        return math.prod(shape[1:])

    def _interval(self, call: Call) -> Interval | None:
        given = self.intervals.get(call.values[0], (-math.inf, math.inf))
        if call.op in ("clamp", "hardtanh", "clip"):
            ends = (-1.0, 1.0) if call.op == "hardtanh" else (-math.inf, math.inf)
            return _clamped(given, call.number(1, "min", ends[0]), call.number(2, "max", ends[1]))
        if call.op == "clamp_min":
            return _clamped(given, call.number(1, "min", -math.inf), math.inf)
        if call.op == "clamp_max":
            return _clamped(given, -math.inf, call.number(1, "max", math.inf))
        if call.op in ("minimum", "maximum", "min", "max") and len(call.values) == 2:
            other = self.intervals.get(call.values[1], (-math.inf, math.inf))
            pick = min if call.op.startswith("min") else max
            return pick(given[0], other[0]), pick(given[1], other[1])
        if call.op == "relu":
            return _clamped(given, 0, math.inf)
        if call.op in SOFTMAXES and "log" not in call.op:
            return 0.0, 1.0
        picked = call.op in ("amax", "amin", "mean", "max", "min") and len(call.values) == 1
        if call.op in _SAME_VALUES | MAX_POOLS or picked:
            return given if call.values[0] in self.intervals else None
        if call.op in ("add", "sub", "mul", "div") and len(call.values) == 1:
            return _by_a_number(call, given) if call.values[0] in self.intervals else None
        return _FIXED.get(call.op)


def _by_a_number(call: Call, given: Interval) -> Interval | None:
    """An interval moved or stretched by a number behind the tensor."""
    number = call.argument(1, "other")
    if not isinstance(number, int | float) or isinstance(number, bool) or call.value(0, "self") is None:
        return None
    if call.number(2, "alpha", 1) != 1 or not number or not math.isfinite(number):
        return None
    if call.op in ("add", "sub"):
        shift = number if call.op == "add" else -number
        return given[0] + shift, given[1] + shift
    scale = number if call.op == "mul" else 1 / number
    low, high = sorted((given[0] * scale, given[1] * scale))
    return low, high


def _clamped(given: Interval, low: float, high: float) -> Interval:
    # torch applies the lower end first, then the upper.
    return min(max(given[0], low), high), min(max(given[1], low), high)


def _extent(call: Call) -> int:
    axis = call.argument(1, "dim")
    return call.first.shape[axis] if isinstance(axis, int) and call.first.shape else 0


def _keeps_elements(call: Call) -> bool:
    same = call.first.elements == call.out.elements
    if call.op in _ONE_ELEMENT_IS_ITSELF and len(call.values) == 1:
        return same
    return call.op in (RESHAPES | COPIES | {"squeeze", "unsqueeze", "dropout"}) and same
