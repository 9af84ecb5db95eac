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
    def channels_last(self) -> bool:
        """Whether it is [N, C, *spatial] whose elements lie as a dense [N, *spatial, C] (but for extents of one)."""
        if len(self.shape) < 3:
            return False
        expected = 1
        for axis in (1, *range(len(self.shape) - 1, 1, -1), 0):
            if self.shape[axis] != 1 and self.strides[axis] != expected:
                return False
            expected *= self.shape[axis]
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
class Reduction:
    """What ends a product's chain: ``kind`` (one of ``reducing.KINDS``) over the product's dimension ``axis``, its last
    or its last but one. ``keepdim`` leaves an extent of 1 there; ``text`` is the link as written.
    """

    kind: str
    axis: int
    keepdim: bool
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage with everything decided.

    ``op`` is "cast", "map", "gemm", "bmm", "grouped_gemm", "conv", "reduce", "softmax", "norm", "relayout", "pad",
    "pool" or "torch". ``operands`` are its tensors in order; ``results`` are contiguous values that it owns (dense,
    where a stage chooses another memory order). ``knobs`` holds every knob of the op for this target (defaults filled
    in) and ``written`` the names of those the program set itself. ``attributes`` by op:

    * cast: nothing; the result's dtype says it.
    * map: nothing; ``chain[0]`` loads from its operands (no ``Acc``).
    * gemm: ``m n k`` (numbers), ``math`` (how FP32 is multiplied: f32, tf32, ...), ``acc`` (DType of accumulation).
      Operands are A[m, k] and B[k, n] as views; their strides give the layout.
    * bmm: as gemm, with ``batch``; operands A[batch, m, k] and B[batch, k, n].
    * grouped_gemm: ``sizes`` ((m, n, k) of each product), ``math`` and ``acc`` as gemm. Operands are A[m, k] and
      B[k, n] of the first product, then of the second, and so on; one result a product. The chain loads nothing.
    * conv: ``kind`` ("conv" or "conv_transpose"), ``dims`` (1 to 3), ``batch``, ``channels`` (C), ``filters`` (K),
      ``groups``, and tuples of ``dims`` numbers: ``input``, ``kernel``, ``output`` (extents), ``stride``, ``padding``
      (in front; what is padded behind follows from ``output``, as does a transposed one's output_padding) and
      ``dilation``; ``math`` and ``acc`` as gemm. Operands are x[batch, C, *input] and w[K, C/groups, *kernel]
      (conv_transpose: w[C, K/groups, *kernel]) with any strides; the result is [batch, K, *output], row-major or
      channels-last as the knob ``layout`` says. What the chain loads is not among the operands.
    * reduce, softmax, norm: ``kind`` (one of ``rows.REDUCTIONS``; softmax, log_softmax; layer_norm, rms_norm,
      group_norm, instance_norm, batch_norm), ``axes`` (the dimensions of x worked along, ascending), ``groups`` (of a
      group_norm, whose dimension 1, among the axes, is cut into as many that each stand alone; else 0), ``columns``
      (elements worked on together: the extents of ``axes`` multiplied, over ``groups`` where there are any) and
      ``rows`` (how many times: x's elements / columns), ``eps`` (a float for norms, else None), ``affine`` (a norm's:
      the dimensions of x that weight and bias run along, all of ``axes``, or (1,) for the norms by channel; else ()),
      ``weight`` and ``bias`` (whether they are there). Operands are x, row-major or channels-last, then weight and
      bias, row-major, of x's type and the extents of ``affine``. A reduce gives a row-major tensor without ``axes``
      (with keepdim: extents of 1 there) of x's type, or i64 for ``rows.PLACES``: the place counts elements along
      ``axes``, row-major. The others give x's shape, type and layout. What the chain loads is not among the operands
      and has the result's shape. ``prologue`` is None, or a ChainStep without ``Acc`` over loads of x's shape: the
      elements of the rows are what it computes, x (one of its tensors) says how they lie and what type comes out, and
      its other tensors are the last operands, with any strides and types.
    * relayout: ``layout`` (one of ``movement.LAYOUTS``). The operand has any strides; the result is dense in that
      memory order.
    * pad: ``before`` and ``after`` (how many elements, by dimension) and ``value`` (a float). The operand has any
      strides; the result is row-major, or channels-last where the operand is that and not row-major.
    * pool: ``kind`` ("max" or "avg"), ``dims`` (1 to 3), ``batch``, ``channels``, and tuples of ``dims`` numbers:
      ``input``, ``output``, ``kernel``, ``stride``, ``padding`` (in front), ``dilation``; ``count_include_pad`` (for
      "avg": whether the border counts in the divisor). The operand is row-major or channels-last, and so is the
      result. What the chain loads is not among the operands and has the result's shape.
    * torch: ``function`` (dotted, as ``torch.softmax``), ``args`` and ``kwargs`` in JSON where a tensor operand is
      ``{"value": name}`` and an element type ``{"dtype": "f32"}``.

    ``reduction`` is a gemm's or bmm's alone: with one, the result is that of the chain, whose links work on the whole
    product, reduced. Its row-major shape is the product's without ``axis`` (with keepdim: an extent of 1 there).
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
    reduction: Reduction | None = None

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
