"""Element-wise operations: a fixed number of operations an output element.

A special function (exp, log, tanh, erf, sin …) counts as one, as a special-function unit does it; a composite counts
the primitive operations of its definition. What that hides of a software exp's cost can only make a bound lower.
"""

from __future__ import annotations

from sol.bounds.graph import Call
from sol.bounds.ops.registry import Cost, names, product, rule

_SINGLE = names(
    "add sub rsub mul multiply div divide true_divide floor_divide remainder fmod neg abs sign sgn square relu "
    "maximum minimum fmax fmin exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal pow sin cos tan asin acos "
    "atan atan2 sinh cosh tanh asinh acosh atanh erf erfc erfinv lgamma digamma floor ceil round trunc frac eq ne lt "
    "le gt ge logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_not bitwise_xor "
    "bitwise_left_shift bitwise_right_shift __lshift__ __rshift__ __and__ __or__ where masked_fill clamp_min clamp_max "
    "isnan isinf isfinite signbit copysign hypot heaviside i0 sinc nextafter"
)
PER_ELEMENT: dict[str, tuple[int, str]] = dict.fromkeys(sorted(_SINGLE), (1, ""))
PER_ELEMENT |= {
    "clamp": (2, "max, min"),
    "clip": (2, "max, min"),
    "hardtanh": (2, "max, min"),
    "relu6": (2, "max, min"),
    "threshold": (2, "compare, select"),
    "leaky_relu": (2, "multiply, select"),
    "prelu": (2, "multiply, select"),
    "_prelu_kernel": (2, "multiply, select"),
    "rrelu": (2, "multiply, select"),
    "hardshrink": (2, "compare, select"),
    "softshrink": (3, "compare, subtract, select"),
    "tanhshrink": (2, "tanh, subtract"),
    "sigmoid": (3, "exp, add, reciprocal"),
    "logit": (3, "subtract, divide, log"),
    "log_sigmoid": (3, "exp, add, log"),
    "log_sigmoid_forward": (3, "exp, add, log"),
    "logsigmoid": (3, "exp, add, log"),
    "softplus": (3, "exp, add, log"),
    "softsign": (3, "abs, add, divide"),
    "silu": (4, "exp, add, reciprocal, multiply"),
    "swish": (4, "exp, add, reciprocal, multiply"),
    "elu": (3, "exp, subtract, select"),
    "celu": (4, "divide, exp, subtract, select"),
    "selu": (5, "exp, subtract, multiply, select, multiply"),
    "hardsigmoid": (4, "add, max, min, divide"),
    "hardswish": (5, "add, max, min, divide, multiply"),
    "mish": (5, "exp, add, log, tanh, multiply"),
    "lerp": (3, "subtract, multiply, add"),
    "addcmul": (3, "multiply, multiply, add"),
    "addcdiv": (3, "divide, multiply, add"),
    "xlogy": (2, "log, multiply"),
    "logaddexp": (4, "max, subtract, exp, log"),
    "nan_to_num": (3, "three selects"),
    "native_dropout": (2, "compare, multiply"),
    "dropout": (2, "compare, multiply"),
}
"""Operations an output element, and which they are where it is more than one."""

GELU = {
    "none": (5, "multiply, erf, add, multiply, multiply"),
    "tanh": (9, "four for the cube, tanh, four around it"),
}


@rule(*PER_ELEMENT)
def count(call: Call) -> Cost:
    """The table's number times the output's elements (for ``add`` with a factor alpha, two)."""
    each, parts = PER_ELEMENT[call.op]
    if call.op in ("dropout", "native_dropout") and not _trains(call):
        return Cost("none", 0, "no change outside training", 0, 0)
    if call.op in ("add", "sub") and call.number(2, "alpha", 1) != 1:
        each, parts = 2, "multiply, add"
    return _each(call, each, parts)


@rule("gelu")
def gelu(call: Call) -> Cost:
    """``x/2·(1+erf(x/√2))``, or its tanh form."""
    each, parts = GELU.get(str(call.argument(1, "approximate", "none")), GELU["none"])
    return _each(call, each, parts)


@rule("glu")
def glu(call: Call) -> Cost:
    """``a·sigmoid(b)`` on halves."""
    return _each(call, 4, "exp, add, reciprocal, multiply")


def _trains(call: Call) -> bool:
    return call.argument(1, "p", 0.5) != 0 and bool(call.argument(2, "train", True))


def _each(call: Call, each: int, parts: str) -> Cost:
    flops, formula = product("ops·elements", each, *(call.out.shape or (1,)))
    return Cost("vector", flops, f"{formula} ({parts})" if parts else formula)
