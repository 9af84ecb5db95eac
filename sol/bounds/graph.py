"""A problem's graph with its references resolved: who makes each tensor, who uses it, what shape it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernels.problems.inspection import Graph, Inspection, Node, TensorSpec

Value = tuple[str, int]
"""A tensor: the name of an input, parameter, constant or node, and which of the node's results."""


UNFAMILIAR = (IndexError, KeyError, TypeError, ValueError)
"""What a rule raises for a known operation in a form it was not written for: then the operation counts as unknown."""


def references(argument: Any) -> Iterator[Value]:
    """Every tensor an argument names, in order, lists included."""
    if isinstance(argument, dict):
        if isinstance(argument.get("ref"), str):
            yield argument["ref"], int(argument.get("index", 0))
    elif isinstance(argument, list | tuple):
        for item in argument:
            yield from references(item)


def packet(op: str) -> str:
    """The operation without namespace and overload: ``aten.add_.Tensor`` -> ``add``. Double names stay."""
    parts = op.split(".")
    name = parts[1] if len(parts) > 1 else parts[0]
    return name.removesuffix("_") if not name.endswith("__") else name


class GraphView:
    """Lookups over one traced inspection. Raises ValueError where there is no graph."""

    def __init__(self, inspection: Inspection) -> None:
        if inspection.graph is None:
            raise ValueError("the problem has no graph")
        self.graph: Graph = inspection.graph
        self.nodes = self.graph.nodes
        signature = inspection.signature
        self.sources = {spec.name: spec for spec in (*signature.inputs, *signature.parameters)}
        self.inputs = {spec.name for spec in signature.inputs}
        self.producers: dict[str, Node] = {node.name: node for node in self.nodes}
        self.outputs: tuple[Value, ...] = tuple(references(list(self.graph.outputs)))
        self.arguments: dict[str, tuple[Value, ...]] = {
            node.name: tuple(references([node.args, list(node.kwargs.values())])) for node in self.nodes
        }
        self.known: dict[Value, Any] = {}
        self.kept: dict[tuple[str, Value], Any] = {}
        self.users: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in dict.fromkeys(self.arguments[node.name]):
                self.users.setdefault(value, []).append(node)

    def spec(self, value: Value) -> TensorSpec:
        """Type and shape of a tensor. KeyError where the graph has none of that name."""
        name, index = value
        node = self.producers.get(name)
        if node is not None:
            return node.results[index]
        return self.sources[name] if name in self.sources else self.graph.scalars[name]

    def call(self, node: Node) -> Call:
        """The node with its arguments by position and name."""
        return Call(self, node)


class Call:
    """One operation's arguments, whether they were given by position or by name."""

    def __init__(self, view: GraphView, node: Node) -> None:
        self.view = view
        self.node = node
        self.op = packet(node.op)
        self.values = view.arguments[node.name]

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        """An argument as the record has it, or the default where it was not given."""
        if name in self.node.kwargs:
            return self.node.kwargs[name]
        return self.node.args[position] if 0 <= position < len(self.node.args) else default

    def number(self, position: int, name: str, default: float) -> float:
        """A numeric argument; the default too where it is a tensor or None."""
        value = self.argument(position, name, default)
        return value if isinstance(value, int | float) else default

    def integers(self, position: int, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """A list of integers; a single one becomes a list of one; the default where it is missing or empty."""
        value = self.argument(position, name)
        if isinstance(value, int) and not isinstance(value, bool):
            return (value,)
        if isinstance(value, list | tuple) and value:
            return tuple(int(item) for item in value)
        return default

    def value(self, position: int, name: str) -> Value | None:
        """The tensor given there, or None where it is none."""
        return next(references(self.argument(position, name)), None)

    def tensor(self, position: int, name: str) -> TensorSpec | None:
        """Type and shape of the tensor given there, or None."""
        value = self.value(position, name)
        return None if value is None else self.view.spec(value)

    @property
    def operands(self) -> list[TensorSpec]:
        """All tensor arguments in order, each once."""
        return [self.view.spec(value) for value in dict.fromkeys(self.values)]

    @property
    def first(self) -> TensorSpec:
        """The first tensor argument; IndexError where there is none."""
        return self.view.spec(self.values[0])

    @property
    def out(self) -> TensorSpec:
        """The first result."""
        return self.node.results[0]

    def axes(self, position: int = 1, name: str = "dim") -> tuple[int, ...]:
        """The axes a reduction goes over, non-negative; all of the first operand's where none is given."""
        rank = len(self.first.shape)
        given = self.integers(position, name, tuple(range(rank)))
        return tuple(sorted({axis % rank for axis in given})) if rank else ()
