"""The checked program: every size a number, every knob decided, every operand's layout known.

The code generators read this and nothing else. It is produced by ``dsl.check`` for one problem, target and policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from kernels.dsl.syntax import Program, Span
from kernels.dtypes import DType
from kernels.targets import Policy, Target


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor of the program: an input, a parameter, a stage's result, or a free view of one.

    ``shape`` and ``strides`` are in elements, outermost first; ``offset`` counts elements from the start of
    ``storage``, the name of the value that owns the memory (its own name unless it is a view).
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: str

    @property
    def contiguous(self) -> bool:
        """Whether its elements lie row-major without holes (extents of one do not count)."""
        expected = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != expected:
                return False
            expected *= extent
        return True

    @property
    def elements(self) -> int:
        """How many elements it shows."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count


@dataclass(frozen=True, slots=True)
class Acc:
    """In a chain: the value that arrives from the left."""


@dataclass(frozen=True, slots=True)
class Load:
    """An element of ``value``, whose shape already has the result's rank: a broadcast extent has stride 0."""

    value: Value


@dataclass(frozen=True, slots=True)
class Const:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of ``kernels.dsl.functions`` applied to its arguments."""

    function: str
    args: tuple[Expr, ...]


Expr: TypeAlias = "Acc | Load | Const | Apply"


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One link of a chain: its text as written (for comments in the C++), and what it computes from ``Acc``."""

    text: str
    expr: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage with everything decided.

    ``op`` is "cast", "map", "gemm", "bmm", "reduce", "softmax", "norm" or "torch". ``operands`` are its tensors in
    order; ``results`` are contiguous values that it owns. ``knobs`` holds every knob of the op for this target
    (defaults filled in) and ``written`` the names of those the program set itself. ``attributes`` by op:

    * cast: nothing; the result's dtype says it.
    * map: nothing; ``chain[0]`` loads from its operands (no ``Acc``).
    * gemm: ``m n k`` (numbers), ``math`` (how FP32 is multiplied: f32, tf32, ...), ``acc`` (DType of accumulation).
      Operands are A[m, k] and B[k, n] as views; their strides give the layout.
    * bmm: as gemm, with ``batch``; operands A[batch, m, k] and B[batch, k, n].
    * reduce, softmax, norm: ``kind`` (one of ``rows.REDUCTIONS``; softmax, log_softmax; layer_norm, rms_norm),
      ``rows`` and ``columns`` (numbers), ``eps`` (a float for norms, else None), ``weight`` and ``bias`` (whether they
      are there). Operands are x, contiguous and read as [rows, columns], then weight[columns] and bias[columns],
      contiguous and of x's type. The result has x's type: one element a row for reduce, else x's shape. What the
      chain loads is not among the operands and has the result's shape.
    * torch: ``function`` (dotted, as ``torch.softmax``), ``args`` and ``kwargs`` in JSON where a tensor operand is
      ``{"value": name}`` and an element type ``{"dtype": "f32"}``.
    """

    name: str
    op: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    knobs: dict[str, Any]
    written: frozenset[str]
    chain: tuple[ChainStep, ...]
    attributes: dict[str, Any]
    once: bool
    span: Span

    @property
    def result(self) -> Value:
        """The first (for all but some torch stages: the only) result."""
        return self.results[0]


@dataclass(frozen=True, slots=True)
class Caution:
    """Something legal that costs: the rule's name, the message, the place."""

    rule: str
    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class CheckedProgram:
    """A program bound to a problem's sizes, a target and a policy. ``values`` lists every value, views included."""

    name: str
    target: Target
    policy: Policy
    inputs: tuple[Value, ...]
    parameters: tuple[Value, ...]
    values: tuple[Value, ...]
    stages: tuple[Stage, ...]
    outputs: tuple[Value, ...]
    warnings: tuple[Caution, ...]
    program: Program
