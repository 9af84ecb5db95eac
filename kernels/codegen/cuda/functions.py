"""CUDA text of every function of the language: one template a function, with torch's treatment of NaN and of ties.

CUTLASS's own activations are not used: its ReLu and clamp turn NaN into a number, its sigmoid and tanh may be the
fast approximations, and a candidate must fail where torch fails. What an epilogue often runs costs few instructions
and stays within some units of the last place of FP32: a warp group that computes activations multiplies no tiles.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CudaFunction:
    """``parameters`` after the first are tensors or numbers; ``defaults`` fill the last of them when left out."""

    parameters: tuple[str, ...]
    body: str
    defaults: tuple[float, ...] = ()
    needs: tuple[str, ...] = ()


def _unary(body: str, *needs: str) -> CudaFunction:
    return CudaFunction(("x",), body, needs=needs)


def _binary(body: str) -> CudaFunction:
    return CudaFunction(("a", "b"), body)


HELPERS = {
    "quotient": """\
// a / b within two units in the last place and without a branch; 0 where b is beyond 2^126.
template <class T> __device__ __forceinline__ T quotient(T a, T b) { return a / b; }
template <> __device__ __forceinline__ float quotient<float>(float a, float b) { return __fdividef(a, b); }""",
    "normal_tail": """\
// The normal distribution beyond |x|: in FP32 by Abramowitz and Stegun 7.1.26, with an error below 1e-7.
template <class T> __device__ __forceinline__ T normal_tail(T x) {
  return T(0.5) * ::erfc(::fabs(x) * T(0.70710678118654752440));
}
template <> __device__ __forceinline__ float normal_tail<float>(float x) {
  float z = ::fabs(x) * 0.70710678f, t = quotient(1.0f, 1.0f + 0.3275911f * z);
  float last = 0.7107068705f + t * (-0.7265760135f + t * 0.5307027145f);
  return t * (0.127414796f + t * (-0.142248368f + t * last)) * ::exp(-z * z);
}""",
}
"""Functions that the language does not have, in the order in which they are defined."""
_HELPER_NEEDS = {"normal_tail": ("quotient",)}

_SELU_SCALE = "T(1.0507009873554804934193349852946)"
_SELU_ALPHA = "T(1.6732632423543772848170429916717)"

FUNCTIONS: dict[str, CudaFunction] = {
    "neg": _unary("-x"),
    "abs": _unary("::fabs(x)"),
    "exp": _unary("::exp(x)"),
    "exp2": _unary("::exp2(x)"),
    "expm1": _unary("::expm1(x)"),
    "log": _unary("::log(x)"),
    "log2": _unary("::log2(x)"),
    "log1p": _unary("::log1p(x)"),
    "sqrt": _unary("::sqrt(x)"),
    "rsqrt": _unary("::rsqrt(x)"),
    "reciprocal": _unary("T(1) / x"),
    "square": _unary("x * x"),
    "sin": _unary("::sin(x)"),
    "cos": _unary("::cos(x)"),
    "tanh": _unary("::tanh(x)"),
    "sigmoid": _unary("quotient(T(1), T(1) + ::exp(-x))", "quotient"),
    "erf": _unary("::erf(x)"),
    "erfc": _unary("::erfc(x)"),
    "floor": _unary("::floor(x)"),
    "ceil": _unary("::ceil(x)"),
    "round": _unary("::rint(x)"),
    "trunc": _unary("::trunc(x)"),
    "sign": _unary("T(T(0) < x) - T(x < T(0))"),
    "relu": _unary("x < T(0) ? T(0) : x"),
    "relu6": _unary("clamp(x, T(0), T(6))", "clamp"),
    "gelu": _unary("x * (x < T(0) ? normal_tail(x) : T(1) - normal_tail(x))", "normal_tail"),
    "gelu_tanh": _unary(
        "quotient(x, T(1) + ::exp(T(-1.5957691216057307118) * (x + T(0.044715) * x * x * x)))", "quotient"
    ),
    "silu": _unary("quotient(x, T(1) + ::exp(-x))", "quotient"),
    "softplus": CudaFunction(
        ("x", "beta", "threshold"), "x * beta > threshold ? x : ::log1p(::exp(x * beta)) / beta", (1.0, 20.0)
    ),
    "mish": _unary("x * ::tanh(softplus(x, T(1), T(20)))", "softplus"),
    "elu": CudaFunction(("x", "alpha"), "x > T(0) ? x : alpha * ::expm1(x)", (1.0,)),
    "selu": _unary(f"{_SELU_SCALE} * (x > T(0) ? x : {_SELU_ALPHA} * ::expm1(x))"),
    "celu": CudaFunction(("x", "alpha"), "x > T(0) ? x : alpha * ::expm1(x / alpha)", (1.0,)),
    "leaky_relu": CudaFunction(("x", "slope"), "x > T(0) ? x : x * slope", (0.01,)),
    "hardtanh": CudaFunction(("x", "lo", "hi"), "clamp(x, lo, hi)", (-1.0, 1.0), ("clamp",)),
    "hardsigmoid": _unary("clamp(x + T(3), T(0), T(6)) / T(6)", "clamp"),
    "hardswish": _unary("x * clamp(x + T(3), T(0), T(6)) / T(6)", "clamp"),
    "logsigmoid": _unary("(x < T(0) ? x : T(0)) - ::log1p(::exp(-::fabs(x)))"),
    "softsign": _unary("x / (T(1) + ::fabs(x))"),
    "tanhshrink": _unary("x - ::tanh(x)"),
    "threshold": CudaFunction(("x", "limit", "value"), "x <= limit ? value : x"),
    "clamp": CudaFunction(("x", "lo", "hi"), "x < lo ? (lo < hi ? lo : hi) : (x > hi ? hi : x)"),
    "add": _binary("a + b"),
    "sub": _binary("a - b"),
    "mul": _binary("a * b"),
    "div": _binary("a / b"),
    "min": _binary("a != a ? a : (a < b ? a : b)"),
    "max": _binary("a != a ? a : (a > b ? a : b)"),
    "pow": _binary("::pow(a, b)"),
    "gt": _binary("T(a > b)"),
    "lt": _binary("T(a < b)"),
    "ge": _binary("T(a >= b)"),
    "le": _binary("T(a <= b)"),
    "eq": _binary("T(a == b)"),
    "ne": _binary("T(a != b)"),
    "where": CudaFunction(("c", "a", "b"), "c != T(0) ? a : b"),
}


def with_needs(names: set[str]) -> tuple[str, ...]:
    """The functions and those that they call, each after what it calls, the rest in the table's order."""
    done: dict[str, None] = {}

    def add(name: str) -> None:
        for other in _HELPER_NEEDS.get(name, ()) if name in HELPERS else FUNCTIONS[name].needs:
            add(other)
        done[name] = None

    for name in FUNCTIONS:
        if name in names:
            add(name)
    return tuple(done)


def definitions(names: set[str]) -> str:
    """A namespace ``fn`` with the functions named and what they need; "" for none."""
    rows = []
    for name in with_needs(names):
        if name in HELPERS:
            rows.append(HELPERS[name])
            continue
        function = FUNCTIONS[name]
        parameters = ", ".join(f"T {p}" for p in function.parameters)
        rows.append(
            f"template <class T> __device__ __forceinline__ T {name}({parameters}) {{ return {function.body}; }}"
        )
    return "namespace fn {\n" + "\n".join(rows) + "\n}  // namespace fn" if rows else ""
