"""What is known of a problem once a child process has looked at it: its signature and its graph.

Everything after this (translation, bounds, checking a program) is plain Python over this record; no torch, and
no line of the problem's own code runs again until it is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernels.dtypes import DType


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor's name, element type and shape. ``shape`` is in elements, outermost first."""

    name: str
    dtype: DType
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        """How many elements it has."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def bytes(self) -> int:
        """How many bytes its elements take, without strides."""
        return self.elements * self.dtype.bytes


@dataclass(frozen=True, slots=True)
class Signature:
    """What ``Model.forward`` takes and gives, and the tensors of its ``state_dict``.

    ``inputs`` holds the tensors of ``get_inputs()`` by position, named by forward's parameters; an argument that
    is no tensor is kept in ``constants`` by position, so that the harness can pass it as it is.
    ``parameters`` are the ``state_dict`` entries by dotted name (buffers too).
    """

    inputs: tuple[TensorSpec, ...]
    parameters: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    constants: dict[int, Any]


@dataclass(frozen=True, slots=True)
class Node:
    """One ATen operation of the traced reference.

    ``op`` is the overload's name, as ``aten.addmm.default``. In ``args`` and ``kwargs`` a tensor is
    ``{"ref": "name"}`` (with ``"index": i`` into a node of several results), an element type ``{"dtype": "f32"}``;
    everything else is itself. ``results`` has one entry a result.
    """

    name: str
    op: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: tuple[TensorSpec, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """The reference's forward as straight-line ATen operations; ``outputs`` are references as in ``Node.args``.

    Inputs and parameters are referred to by the names of the signature; ``scalars`` are lifted constants.
    """

    nodes: tuple[Node, ...]
    outputs: tuple[Any, ...]
    scalars: dict[str, TensorSpec]


@dataclass(frozen=True, slots=True)
class Inspection:
    """A problem at one size. ``graph`` is None where tracing failed; ``graph_error`` then says why."""

    size: str
    signature: Signature
    graph: Graph | None
    graph_error: str | None
