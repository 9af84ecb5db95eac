"""A traced module (torch.export) as a Graph record. For child processes only: it handles torch objects."""

from __future__ import annotations

import math
import operator
from typing import Any

from kernels.dtypes import DType
from kernels.problems import recurrent
from kernels.problems.inspection import Graph, Node, TensorSpec


class NotRecordable(ValueError):
    """A traced value that the Graph record has no form for; its text says which."""


def spec_of(name: str, tensor: Any) -> TensorSpec:
    """Name, element type and shape of a tensor; NotRecordable for types the language lacks."""
    try:
        dtype = DType.from_torch(str(tensor.dtype))
    except KeyError:
        raise NotRecordable(f"{name} has element type {tensor.dtype}, which the language does not have") from None
    shape = []
    for extent in tensor.shape:
        if not isinstance(extent, int):
            raise NotRecordable(f"{name} has the extent {extent}, which depends on values")
        shape.append(extent)
    return TensorSpec(name, dtype, tuple(shape))


class GraphWriter:
    """Turns the nodes of an exported program into records, under names that no input or parameter has."""

    def __init__(self, program: Any, names: dict[str, str]) -> None:
        """``names`` gives the signature's name of each placeholder that is a forward argument."""
        self.program = program
        self.taken: set[str] = set()
        self.references: dict[str, Any] = {}
        self.scalars: dict[str, TensorSpec] = {}
        self.nodes: list[Node] = []
        self._name_placeholders(names)

    def write(self) -> Graph:
        """All nodes that the outputs depend on, in order."""
        outputs: list[Any] = []
        for node in self.program.graph.nodes:
            if node.op == "call_function":
                self._function(node)
            elif node.op == "output":
                outputs = self._outputs(node)
            elif node.op != "placeholder":
                raise NotRecordable(f"the graph holds a {node.op} ({node.target})")
        graph = Graph(nodes=tuple(self.nodes), outputs=tuple(outputs), scalars=self.scalars)
        return without_unused(graph)

    def _name_placeholders(self, names: dict[str, str]) -> None:
        signature = self.program.graph_signature
        states = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
        persistent = set(self.program.state_dict)
        constants = dict(signature.inputs_to_lifted_tensor_constants)
        self.taken |= set(names.values()) | set(states.values())
        for node in self.program.graph.nodes:
            if node.op != "placeholder":
                continue
            if node.name in names:
                self.references[node.name] = {"ref": names[node.name]}
            elif states.get(node.name) in persistent:
                self.references[node.name] = {"ref": states[node.name]}
            elif node.name in states or node.name in constants:
                self._constant(node, states.get(node.name) or constants[node.name])
            else:
                # An argument that is no tensor: export checks it and computes with its value.
                self.references[node.name] = None

    def _constant(self, node: Any, target: str) -> None:
        """A tensor that is in no state_dict: a single number becomes a node, anything else a scalar by name."""
        name = self._fresh(node.name)
        spec = spec_of(name, node.meta["val"])
        value = self.program.constants.get(target)
        if hasattr(value, "fake_mode"):
            # A fake tensor made from a number remembers it.
            value = getattr(value, "constant", None)
        if spec.shape == () and value is not None:
            args = (value.item(),)
            kwargs = {"dtype": {"dtype": spec.dtype.value}}
            self.nodes.append(Node(name, "aten.scalar_tensor.default", args, kwargs, (spec,)))
        else:
            self.scalars[name] = spec
        self.references[node.name] = {"ref": name}

    def _fresh(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self.taken:
            name, count = f"{wanted}_{count}", count + 1
        self.taken.add(name)
        return name

    def _function(self, node: Any) -> None:
        if node.target is operator.getitem:
            source, index = node.args
            reference = self.references[source.name]
            self.references[node.name] = {"ref": reference["ref"], "index": index}
            return
        value = node.meta.get("val")
        if value is None:
            # Assertions on sizes and types: they give nothing.
            return
        if str(node.target) == "aten.copy.default" and _alike(node.args[0].meta["val"], node.args[1].meta["val"]):
            # A buffer that forward overwrites is what it was overwritten with.
            self.references[node.name] = self.references[node.args[1].name]
            return
        name = self._fresh(node.name)
        several = isinstance(value, list | tuple)
        tensors = list(value) if several else [value]
        results = tuple(
            spec_of(f"{name}_{place}" if several else name, tensor)
            if hasattr(tensor, "dtype")
            else TensorSpec(f"{name}_{place}", DType.F32, (0,))
            for place, tensor in enumerate(tensors)
        )
        record = Node(
            name=name,
            op=recurrent.aten_name(str(node.target)),
            args=tuple(self.encode(arg) for arg in node.args),
            kwargs={key: self.encode(arg) for key, arg in node.kwargs.items()},
            results=results,
        )
        self.nodes.append(record)
        self.references[node.name] = {"ref": name}

    def _outputs(self, node: Any) -> list[Any]:
        kinds = [item.kind.name for item in self.program.graph_signature.output_specs]
        values = node.args[0]
        return [self.encode(value) for kind, value in zip(kinds, values, strict=True) if kind == "USER_OUTPUT"]

    def encode(self, value: Any) -> Any:
        """An argument as the record has it: references, numbers, words, lists of them."""
        import torch

        if isinstance(value, torch.fx.Node):
            return self.references[value.name]
        if isinstance(value, list | tuple):
            return [self.encode(item) for item in value]
        if isinstance(value, torch.dtype):
            try:
                return {"dtype": DType.from_torch(str(value)).value}
            except KeyError:
                raise NotRecordable(f"an operation has element type {value}") from None
        if isinstance(value, torch.device | torch.memory_format | torch.layout):
            return str(value)
        if isinstance(value, float) and not math.isfinite(value):
            # JSON has no infinity: the record holds its word from the start, as the codec writes it.
            return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise NotRecordable(f"an operation has the argument {value!r}")


def _alike(one: Any, other: Any) -> bool:
    return bool(one.dtype == other.dtype and one.shape == other.shape)


def without_unused(graph: Graph) -> Graph:
    """The graph without nodes and constants that no output depends on (running statistics, assertions)."""
    needed = set(references(graph.outputs))
    kept = []
    for node in reversed(graph.nodes):
        if node.name in needed:
            kept.append(node)
            needed |= set(references([node.args, node.kwargs]))
    scalars = {name: spec for name, spec in graph.scalars.items() if name in needed}
    return Graph(nodes=tuple(reversed(kept)), outputs=graph.outputs, scalars=scalars)


def references(value: Any) -> list[str]:
    """Every name referred to in arguments, however nested."""
    if isinstance(value, dict):
        if isinstance(value.get("ref"), str):
            return [value["ref"]]
        return [name for item in value.values() for name in references(item)]
    if isinstance(value, list | tuple):
        return [name for item in value for name in references(item)]
    return []
