"""The graph while it is being rewritten: nodes in order, who uses what, and fresh names.

A pass takes a Work and replaces its nodes; records stay frozen, so a pass makes new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from kernels.dtypes import DType
from kernels.problems.inspection import Graph, Node, Signature, TensorSpec

FLOATS = frozenset({DType.F32, DType.F16, DType.BF16})
"""Element types that own kernels compute in."""

_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def words(text: str) -> frozenset[str]:
    """The names in a text, for tables of operations."""
    return frozenset(text.split())


def base(op: str) -> str:
    """``aten.add.Tensor`` -> ``add``."""
    parts = op.split(".")
    return parts[1] if len(parts) > 1 else op


def is_ref(value: Any) -> bool:
    """Whether an argument is a tensor."""
    return isinstance(value, dict) and isinstance(value.get("ref"), str)


def key(ref: dict[str, Any]) -> tuple[str, int]:
    """Name and result number of a reference."""
    return ref["ref"], int(ref.get("index", 0))


def number(value: Any) -> float | int | None:
    """A number of the record (infinities travel as words); None for anything else."""
    if isinstance(value, str):
        return _WORDS.get(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value


def refs(value: Any) -> Iterable[dict[str, Any]]:
    """Every reference in arguments, however nested."""
    if is_ref(value):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from refs(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from refs(item)


def substitute(value: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Arguments with every reference changed."""
    if is_ref(value):
        return change(value)
    if isinstance(value, dict):
        return {name: substitute(item, change) for name, item in value.items()}
    if isinstance(value, list):
        return [substitute(item, change) for item in value]
    if isinstance(value, tuple):
        return tuple(substitute(item, change) for item in value)
    return value


class Work:
    """Nodes by order and by name, the signature's tensors, and the outputs."""

    def __init__(self, signature: Signature, graph: Graph) -> None:
        self.signature = signature
        self.scalars = graph.scalars
        self.leaves: dict[str, TensorSpec] = {
            spec.name: spec for spec in (*signature.inputs, *signature.parameters, *graph.scalars.values())
        }
        self.nodes: list[Node] = []
        self.outputs: list[Any] = list(graph.outputs)
        self.set_nodes(list(graph.nodes))

    def set_nodes(self, nodes: list[Node]) -> None:
        """Replace the nodes; names and users are counted anew."""
        self.nodes = nodes
        self.by_name = {node.name: node for node in nodes}
        self.order = {node.name: place for place, node in enumerate(nodes)}
        self.users: dict[str, list[str]] = {node.name: [] for node in nodes}
        for node in nodes:
            for name in {ref["ref"] for ref in refs([node.args, node.kwargs])}:
                if name in self.users:
                    self.users[name].append(node.name)
        self.returned = {ref["ref"] for ref in refs(self.outputs)}

    def spec(self, ref: dict[str, Any]) -> TensorSpec:
        """Type and shape of what a reference names."""
        name, index = key(ref)
        return self.by_name[name].results[index] if name in self.by_name else self.leaves[name]

    def producer(self, ref: Any) -> Node | None:
        """The node behind a reference to a first result; None for inputs, parameters and other results."""
        if not is_ref(ref) or key(ref)[1] != 0:
            return None
        return self.by_name.get(ref["ref"])

    def fresh(self, wanted: str, taken: set[str]) -> str:
        """A node name not in use; ``taken`` holds names that the running pass has given."""
        name, count = wanted, 1
        while name in self.by_name or name in self.leaves or name in taken:
            name, count = f"{wanted}_{count}", count + 1
        taken.add(name)
        return name

    def redirect(self, targets: dict[str, dict[str, Any]]) -> None:
        """Let all uses of some nodes' first results go to other references, and drop those nodes."""

        def change(ref: dict[str, Any]) -> dict[str, Any]:
            while ref["ref"] in targets and key(ref)[1] == 0:
                ref = targets[ref["ref"]]
            return ref

        self.outputs = substitute(self.outputs, change)
        self.set_nodes(
            [
                replace(node, args=substitute(node.args, change), kwargs=substitute(node.kwargs, change))
                for node in self.nodes
                if node.name not in targets
            ]
        )

    def drop_unused(self) -> None:
        """Drop nodes that no output depends on."""
        needed = {ref["ref"] for ref in refs(self.outputs)}
        kept: list[Node] = []
        for node in reversed(self.nodes):
            if node.name in needed:
                kept.append(node)
                needed |= {ref["ref"] for ref in refs([node.args, node.kwargs])}
        self.set_nodes(kept[::-1])


def only_first(work: Work, node: Node) -> bool:
    """Whether nothing reads any result but the first."""
    readers = [work.by_name[user] for user in work.users[node.name]]
    used = [key(ref) for reader in readers for ref in refs([reader.args, reader.kwargs])]
    used += [key(ref) for ref in refs(work.outputs)]
    return all(index == 0 for name, index in used if name == node.name)


class Builder:
    """Makes the nodes that stand in for one node of the graph."""

    def __init__(self, work: Work, taken: set[str]) -> None:
        self.work = work
        self.taken = taken
        self.nodes: list[Node] = []
        self.specs: dict[str, TensorSpec] = {}

    def spec(self, ref: dict[str, Any]) -> TensorSpec:
        """Type and shape, of new nodes too."""
        return self.specs[ref["ref"]] if ref["ref"] in self.specs else self.work.spec(ref)

    def add(
        self, op: str, args: tuple[Any, ...], dtype: DType, shape: tuple[int, ...], name: str | None = None
    ) -> dict[str, Any]:
        """One node with one result; the reference to it. ``name`` keeps a name that is about to be free."""
        given = name if name is not None else self.work.fresh(base(op), self.taken)
        spec = TensorSpec(given, dtype, shape)
        self.nodes.append(Node(given, op, args, {}, (spec,)))
        self.specs[given] = spec
        return {"ref": given}

    def view(self, ref: dict[str, Any], shape: tuple[int, ...], name: str | None = None) -> dict[str, Any]:
        """``ref`` in another shape; itself where nothing changes and no name must be kept."""
        spec = self.spec(ref)
        if spec.shape == shape and name is None:
            return ref
        return self.add("aten.view.default", (ref, list(shape)), spec.dtype, shape, name)
