"""Records of what was measured beside the time of a call: kernels on the card, the machine's state, energy.

Records only; no torch, no card, no reading. What was not measured is None, and ``missing`` says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

KernelKind = Literal["kernel", "memcpy", "memset"]


@dataclass(frozen=True, slots=True)
class KernelActivity:
    """One kernel (or copy, or fill) by name: how often one call runs it and for how long, seconds a call.

    ``own``: it is the candidate's, by ``origin`` ("symbol": its shared object holds the name; "name": the name is
    none of a library's). A copy or a fill is nobody's: ``own`` is False there.
    """

    name: str
    kind: KernelKind
    launches: float
    seconds: float
    own: bool
    origin: str


@dataclass(frozen=True, slots=True)
class Activity:
    """What the card did in one call, by its own record. Medians over ``calls`` instrumented calls, in seconds.

    ``sum_s`` adds up kernels, copies and fills; ``span_s`` goes from the first one's start to the last one's end, so
    it holds the gaps between them, and counts once what ran side by side. ``lead_s`` is the least time from the end of
    the flush ahead of a call to its first work.
    """

    kernels: tuple[KernelActivity, ...]
    sum_s: float
    span_s: float
    calls: int
    method: str
    lead_s: float | None = None

    @property
    def launches(self) -> float:
        """Kernels a call, without copies and fills."""
        return sum(kernel.launches for kernel in self.kernels if kernel.kind == "kernel")

    @property
    def own_share(self) -> float | None:
        """Share of kernel time in the candidate's own kernels, 0 to 1; None where no kernel ran."""
        total = sum(kernel.seconds for kernel in self.kernels if kernel.kind == "kernel")
        if not total:
            return None
        return sum(kernel.seconds for kernel in self.kernels if kernel.own) / total

    def share(self, kernel: KernelActivity) -> float | None:
        """A kernel's share of all device time of the call, 0 to 1."""
        total = sum(other.seconds for other in self.kernels)
        return kernel.seconds / total if total else None


@dataclass(frozen=True, slots=True)
class Range:
    """Lowest and highest of some readings."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Conditions:
    """The machine's state while subjects were timed, read by the supervisor beside each block of calls.

    Clocks in MHz, temperature in °C, power in W. ``throttle``: the reasons seen for a lowered clock, in words; () is
    none. ``others``: compute processes on the card that are not this evaluation's. ``others_share``: share of the
    cores' time (0 to 1) that went to other processes during the blocks. ``missing``: what was not read, and why.
    ``cautions``: what in all this speaks against the times, in sentences.
    """

    source: str
    readings: int
    sm_clock: Range | None = None
    memory_clock: Range | None = None
    cpu_clock: Range | None = None
    temperature: Range | None = None
    power: Range | None = None
    load: Range | None = None
    throttle: tuple[str, ...] | None = None
    others: int | None = None
    others_share: float | None = None
    missing: dict[str, str] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()
