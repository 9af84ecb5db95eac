"""The functions' expansions against torch: what the table says a function means is what it expands to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from kernels.dsl.expansion import expand
from kernels.dsl.functions import FUNCTIONS
from kernels.dsl.ir import Acc, Apply, Const, Expr, Load, Value
from kernels.dsl.views import fresh
from kernels.dtypes import DType

POINTS = torch.tensor([-40.0, -6.5, -3.0, -1.0, -0.25, 0.0, 0.5, 1.0, 2.5, 6.0, 25.0, 100.0], dtype=torch.float64)
X = fresh("x", DType.F32, (12,))
PRIMITIVES: dict[str, Callable[..., Any]] = {
    "neg": torch.neg,
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "min": torch.minimum,
    "max": torch.maximum,
    "gt": lambda x, y: (x > y).double(),
    "le": lambda x, y: (x <= y).double(),
    "where": lambda c, x, y: torch.where(c != 0, x, y),
}


def value(expr: Expr) -> torch.Tensor:
    match expr:
        case Const():
            return torch.tensor(expr.value, dtype=torch.float64)
        case Load() | Acc():
            return POINTS
        case Apply():
            args = [value(arg) for arg in expr.args]
            return PRIMITIVES.get(expr.function, getattr(torch, expr.function, None))(*args)  # type: ignore[misc]


EXPANDED = [function for function in FUNCTIONS.values() if function.expand]


@pytest.mark.parametrize("function", EXPANDED, ids=lambda function: function.name)
def test_an_expansion_is_what_torch_gives(function: Any) -> None:
    numbers = [0.75 if default is None else default for _, default in function.params]
    expr = expand(Apply(function.name, (Load(X), *map(Const, numbers))))
    names = dict(zip([name for name, _ in function.params], numbers, strict=True))
    wanted = eval(function.meaning, {"torch": torch, "x": POINTS, **names})
    torch.testing.assert_close(value(expr), wanted, rtol=1e-6, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("function", EXPANDED, ids=lambda function: function.name)
def test_an_expansion_has_primitives_alone(function: Any) -> None:
    expr = expand(Apply(function.name, (Load(X), *(Const(1.0) for _ in function.params))))
    pending: list[Expr] = [expr]
    while pending:
        node = pending.pop()
        if isinstance(node, Apply):
            assert not FUNCTIONS[node.function].expand
            pending += node.args


def test_functions_that_a_target_has_itself_can_be_kept() -> None:
    expr = expand(Apply("mish", (Acc(),)), keep=frozenset({"softplus"}))
    assert expr == Apply("mul", (Acc(), Apply("tanh", (Apply("softplus", (Acc(), Const(1.0), Const(20.0))),))))


def test_signatures_show_defaults() -> None:
    assert FUNCTIONS["leaky_relu"].signature == "leaky_relu(x, slope=0.01)"
    assert FUNCTIONS["threshold"].signature == "threshold(x, limit, value)"
    assert FUNCTIONS["where"].signature == "where(x, y, z)"


def test_values_stay_hashable_in_expressions() -> None:
    assert isinstance(X, Value)
    assert hash(Apply("relu", (Load(X),))) == hash(Apply("relu", (Load(X),)))
