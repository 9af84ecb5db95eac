"""Graphs written by hand, as the inspector would write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernels.dtypes import DType
from kernels.problems.inspection import Graph, Inspection, Node, Signature, TensorSpec

Shape = tuple[int, ...]


class Sketch:
    """A problem built one operation at a time. Every method gives a reference for the next one."""

    def __init__(self) -> None:
        self.inputs: list[TensorSpec] = []
        self.parameters: list[TensorSpec] = []
        self.nodes: list[Node] = []
        self.specs: dict[str, tuple[TensorSpec, ...]] = {}

    def input(self, name: str, *shape: int, dtype: str = "f32") -> dict[str, Any]:
        return self._given(self.inputs, name, shape, dtype)

    def parameter(self, name: str, *shape: int, dtype: str = "f32") -> dict[str, Any]:
        return self._given(self.parameters, name, shape, dtype)

    def _given(self, kept: list[TensorSpec], name: str, shape: Shape, dtype: str) -> dict[str, Any]:
        spec = TensorSpec(name, DType(dtype), shape)
        kept.append(spec)
        self.specs[name] = (spec,)
        return {"ref": name}

    def op(self, op: str, *args: Any, shape: Shape, dtype: str = "f32", **kwargs: Any) -> dict[str, Any]:
        """One operation with one result; ``op`` is the packet name, or the overload's with its dots."""
        return self.several(op, *args, shapes=[shape], dtype=dtype, **kwargs)

    def several(
        self, op: str, *args: Any, shapes: Sequence[Shape], dtype: str = "f32", **kwargs: Any
    ) -> dict[str, Any]:
        """One operation with several results; the reference is to the first."""
        full = op if "." in op else f"aten.{op}.default"
        name = f"{full.split('.')[1]}_{len(self.nodes)}"
        results = tuple(TensorSpec(f"{name}_{i}", DType(dtype), shape) for i, shape in enumerate(shapes))
        self.nodes.append(Node(name, full, tuple(args), kwargs, results))
        self.specs[name] = results
        return {"ref": name}

    def done(self, *outputs: dict[str, Any]) -> Inspection:
        """The inspection with these outputs."""
        shown = []
        for place, reference in enumerate(outputs):
            spec = self.specs[reference["ref"]][reference.get("index", 0)]
            shown.append(TensorSpec(f"out{place}", spec.dtype, spec.shape))
        signature = Signature(tuple(self.inputs), tuple(self.parameters), tuple(shown), {})
        return Inspection("default", signature, Graph(tuple(self.nodes), tuple(outputs), {}), None)


def gemm(m: int, n: int, k: int, dtype: str = "f32") -> Inspection:
    """[M, K] × [K, N]."""
    sketch = Sketch()
    a, b = sketch.input("a", m, k, dtype=dtype), sketch.input("b", k, n, dtype=dtype)
    return sketch.done(sketch.op("mm", a, b, shape=(m, n), dtype=dtype))
