"""The elementwise functions of expressions and chains, one row each.

In the checked program a function is ``Apply(name, args)``: the tensors first, then every parameter as ``Const``,
defaults filled in. So ``leaky_relu(x)`` arrives as ``Apply("leaky_relu", (x, Const(0.01)))``.
Comparisons give 1 or 0, and ``where`` takes any number but 0 as true.
"""

from __future__ import annotations

from dataclasses import dataclass

_INF = float("inf")


@dataclass(frozen=True, slots=True)
class Function:
    """``arity`` tensors ``x, y, z``, then ``params`` with their defaults (None: must be given).

    ``meaning`` is the torch expression. ``expand`` is the same in simpler functions of this table, in the language's
    own text; "" marks a primitive, which every target implements itself. A target may implement any other one too.
    """

    name: str
    arity: int
    params: tuple[tuple[str, float | None], ...]
    meaning: str
    expand: str = ""

    @property
    def signature(self) -> str:
        """``leaky_relu(x, slope=0.01)``."""
        shown = [name if value is None else f"{name}={value:g}" for name, value in self.params]
        return f"{self.name}({', '.join([*'xyz'[: self.arity], *shown])})"


def _unary(name: str, meaning: str = "", expand: str = "", **params: float | None) -> Function:
    return Function(name, 1, tuple(params.items()), meaning or f"torch.{name}(x)", expand)


def _binary(name: str, meaning: str, expand: str = "") -> Function:
    return Function(name, 2, (), meaning, expand)


_NN = "torch.nn.functional"
_ROWS = (
    _unary("neg", "-x"),
    _unary("abs"),
    _unary("exp"),
    _unary("exp2"),
    _unary("expm1"),
    _unary("log"),
    _unary("log2"),
    _unary("log1p"),
    _unary("sqrt"),
    _unary("rsqrt", expand="1 / sqrt(x)"),
    _unary("reciprocal", expand="1 / x"),
    _unary("square", expand="x * x"),
    _unary("sin"),
    _unary("cos"),
    _unary("tanh"),
    _unary("sigmoid", expand="1 / (1 + exp(-x))"),
    _unary("erf"),
    _unary("erfc"),
    _unary("floor"),
    _unary("ceil"),
    _unary("round"),
    _unary("trunc"),
    _unary("sign"),
    _unary("relu", expand="max(x, 0)"),
    _unary("relu6", f"{_NN}.relu6(x)", "min(max(x, 0), 6)"),
    _unary("gelu", f"{_NN}.gelu(x)", "0.5 * x * (1 + erf(x * 0.7071067811865476))"),
    _unary(
        "gelu_tanh",
        f"{_NN}.gelu(x, approximate='tanh')",
        "0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))",
    ),
    _unary("silu", f"{_NN}.silu(x)", "x / (1 + exp(-x))"),
    _unary(
        "softplus",
        f"{_NN}.softplus(x, beta, threshold)",
        "where(gt(x * beta, threshold), x, log1p(exp(min(x * beta, threshold))) / beta)",
        beta=1.0,
        threshold=20.0,
    ),
    _unary("mish", f"{_NN}.mish(x)", "x * tanh(softplus(x))"),
    _unary("elu", f"{_NN}.elu(x, alpha)", "where(gt(x, 0), x, alpha * expm1(x))", alpha=1.0),
    _unary(
        "selu",
        f"{_NN}.selu(x)",
        "1.0507009873554805 * where(gt(x, 0), x, 1.6732632423543772 * expm1(x))",
    ),
    _unary("celu", f"{_NN}.celu(x, alpha)", "where(gt(x, 0), x, alpha * expm1(x / alpha))", alpha=1.0),
    _unary("leaky_relu", f"{_NN}.leaky_relu(x, slope)", "where(gt(x, 0), x, slope * x)", slope=0.01),
    _unary("hardtanh", f"{_NN}.hardtanh(x, lo, hi)", "min(max(x, lo), hi)", lo=-1.0, hi=1.0),
    _unary("hardsigmoid", f"{_NN}.hardsigmoid(x)", "min(max(x + 3, 0), 6) / 6"),
    _unary("hardswish", f"{_NN}.hardswish(x)", "x * min(max(x + 3, 0), 6) / 6"),
    _unary("logsigmoid", f"{_NN}.logsigmoid(x)", "min(x, 0) - log1p(exp(-abs(x)))"),
    _unary("softsign", f"{_NN}.softsign(x)", "x / (1 + abs(x))"),
    _unary("tanhshrink", f"{_NN}.tanhshrink(x)", "x - tanh(x)"),
    _unary(
        "threshold",
        f"{_NN}.threshold(x, limit, value)",
        "where(le(x, limit), value, x)",
        limit=None,
        value=None,
    ),
    _unary("clamp", "torch.clamp(x, lo, hi)", "min(max(x, lo), hi)", lo=-_INF, hi=_INF),
    _binary("add", "x + y"),
    _binary("sub", "x - y"),
    _binary("mul", "x * y"),
    _binary("div", "x / y"),
    _binary("min", "torch.minimum(x, y)"),
    _binary("max", "torch.maximum(x, y)"),
    _binary("pow", "torch.pow(x, y)"),
    _binary("gt", "x > y"),
    _binary("lt", "x < y"),
    _binary("ge", "x >= y"),
    _binary("le", "x <= y"),
    _binary("eq", "x == y"),
    _binary("ne", "x != y"),
    Function("where", 3, (), "torch.where(x != 0, y, z)"),
)

FUNCTIONS: dict[str, Function] = {row.name: row for row in _ROWS}
"""By name."""

PARAMETER_ALIASES = {"min": "lo", "max": "hi"}
"""Other names of parameters, as torch spells them."""
