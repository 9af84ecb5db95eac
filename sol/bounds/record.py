"""What a bound is made of: a device's peaks, a problem's work, and the two bounds with their arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kernels.dtypes import DType
from kernels.targets import Policy


@dataclass(frozen=True, slots=True)
class Device:
    """A machine's peaks. Rates are per second (FLOP/s, bytes/s), sizes bytes; a rate not known is absent or None.

    ``matrix_flops`` and ``vector_flops`` are by element type of the operands ("f32", "tf32", "f16", "bf16").
    ``copy_bytes_s`` counts bytes read plus bytes written of a copy far larger than the caches; ``cache_bytes_s``
    the same for one that fits ``cache_bytes``. ``source`` says "measured" or "specification"; ``measured_at`` is an
    ISO 8601 time in UTC.
    """

    name: str
    kind: Literal["cpu", "cuda"]
    matrix_flops: dict[str, float]
    vector_flops: dict[str, float]
    copy_bytes_s: float
    cache_bytes_s: float | None
    cache_bytes: int | None
    source: Literal["measured", "specification"]
    measured_at: str | None
    facts: dict[str, str]


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One operation's work. ``pipe`` says which rate it runs at; ``known`` is False for an op without a rule."""

    node: str
    op: str
    pipe: Literal["matrix", "vector", "none"]
    flops: int
    bytes_read: int
    bytes_written: int
    formula: str
    known: bool


@dataclass(frozen=True, slots=True)
class Work:
    """A problem's work. ``input_bytes`` counts each input and parameter that the output depends on once,
    ``output_bytes`` each output once: what a perfectly fused program must still move."""

    items: tuple[WorkItem, ...]
    matrix_flops: int
    vector_flops: int
    input_bytes: int
    output_bytes: int
    unknown_ops: tuple[str, ...]

    @property
    def flops(self) -> int:
        """All floating-point operations."""
        return self.matrix_flops + self.vector_flops

    @property
    def bytes(self) -> int:
        """Compulsory bytes."""
        return self.input_bytes + self.output_bytes

    @property
    def unfused_bytes(self) -> int:
        """Bytes of all operations one by one, each reading its operands and writing its results."""
        return sum(item.bytes_read + item.bytes_written for item in self.items)


@dataclass(frozen=True, slots=True)
class PipeTime:
    """FLOPs of one element type at one pipe, the rate they run at (FLOP/s, with its source) and the seconds."""

    pipe: Literal["matrix", "vector"]
    dtype: DType
    flops: int
    rate: float
    rate_words: str

    @property
    def seconds(self) -> float:
        """How long they take at that rate."""
        return self.flops / self.rate


@dataclass(frozen=True, slots=True)
class Bounds:
    """The two bounds of one problem on one device under one policy, in seconds.

    ``steering_s`` is the larger of ``compute_s`` and ``memory_s``; ``floor_s`` is what no honest kernel can beat.
    ``intensity`` and ``ridge`` are in FLOP per byte. ``arithmetic`` is the sum written out, one line a step.
    ``floor_flops`` (matrix work that is left) and ``floor_bytes`` make the floor; ``pipes`` make ``compute_s``;
    ``unfused_bytes`` is what the operations would move one by one. Records from before these were kept have None.
    """

    device: str
    policy: Policy
    compute_s: float
    memory_s: float
    steering_s: float
    floor_s: float
    bound_class: Literal["compute", "memory"]
    flops: int
    bytes: int
    intensity: float
    ridge: float
    unknown_ops: tuple[str, ...]
    arithmetic: tuple[str, ...]
    floor_flops: float | None = None
    floor_bytes: int | None = None
    unfused_bytes: int | None = None
    pipes: tuple[PipeTime, ...] = ()
    steering_rests_on: tuple[str, ...] = ()
    floor_rests_on: tuple[str, ...] = ()
