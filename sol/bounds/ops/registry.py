"""The table of operations: which rule counts which ATen operation. One module a family registers its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sol.bounds.graph import Call, packet

Pipe = Literal["matrix", "vector", "none"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What an operation takes at one pipe. Bytes left None are all operands once and all results once."""

    pipe: Pipe
    flops: int
    formula: str
    reads: int | None = None
    writes: int | None = None


Rule = Callable[[Call], Cost | tuple[Cost, ...]]

_RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for operations by packet name (``mm``, ``_softmax``), all overloads alike."""

    def register(function: Rule) -> Rule:
        for name in names:
            if name in _RULES:
                raise ValueError(f"{name} has two rules")
            _RULES[name] = function
        return function

    return register


def rule_for(op: str) -> Rule | None:
    """The rule of an operation by its overload's name, or None where the table has none."""
    return _RULES.get(packet(op))


def known() -> frozenset[str]:
    """All packet names with a rule."""
    return frozenset(_RULES)


def names(text: str) -> frozenset[str]:
    """Packet names from a text with blanks between."""
    return frozenset(text.split())


def product(symbols: str, *factors: int) -> tuple[int, str]:
    """The product and how it came about: ``("2·M·N·K", 2, 4, 5, 6)`` -> ``(240, "2·M·N·K = 2·4·5·6 = 240")``."""
    result = math.prod(factors)
    return result, f"{symbols} = {'·'.join(str(factor) for factor in factors)} = {result:,}"
