"""The record of a profile, and the request for one. Missing figures are None, and their metrics are listed.

Times in here were taken under the profiler, which replays each kernel and flushes caches in between: they say how
the kernels of one call compare with each other, and never how fast the candidate is.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum

from kernels.harness.evaluation import Candidate, Isolation
from kernels.problems.inspection import Signature


class ProfileOutcome(StrEnum):
    """``UNAVAILABLE``: this machine gives no counters, whatever the candidate. ``FAILED``: this candidate did not."""

    MEASURED = "measured"
    UNAVAILABLE = "unavailable"
    FAILED = "failed"


class Reason(StrEnum):
    """Why there are no figures."""

    HOST = "host"
    NO_PROFILER = "no_profiler"
    NO_PERMISSION = "no_permission"
    CARD_UNSUPPORTED = "card_unsupported"
    LIBRARY_NOT_LOADED = "library_not_loaded"
    COUNTERS_BUSY = "counters_busy"
    NO_CARD = "no_card"
    TARGET_FAILED = "target_failed"
    NO_KERNEL = "no_kernel"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    PROFILER_FAILED = "profiler_failed"

    @property
    def is_of_machine(self) -> bool:
        """Whether it lies with the machine, so that the next candidate would meet it as well."""
        return self in _OF_MACHINE


_OF_MACHINE = frozenset(
    {
        Reason.HOST,
        Reason.NO_PROFILER,
        Reason.NO_PERMISSION,
        Reason.CARD_UNSUPPORTED,
        Reason.LIBRARY_NOT_LOADED,
        Reason.COUNTERS_BUSY,
        Reason.NO_CARD,
    }
)


class ImpossibleProfile(ValueError):
    """A record that contradicts itself, as measured without a kernel."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Percent of the rate that a unit can sustain: multiprocessors, the memory system as a whole, and its parts."""

    compute_pct: float | None = None
    memory_pct: float | None = None
    dram_pct: float | None = None
    l2_pct: float | None = None
    l1_pct: float | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel was launched. ``registers`` a thread, bytes of shared memory a block, ``waves`` a multiprocessor."""

    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    registers: float | None = None
    shared_static_bytes: float | None = None
    shared_dynamic_bytes: float | None = None
    shared_driver_bytes: float | None = None
    cluster_blocks: float | None = None
    waves: float | None = None


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Percent of the warps a multiprocessor can hold, and how many blocks each resource alone would allow."""

    achieved_pct: float | None = None
    theoretical_pct: float | None = None
    limit_blocks: float | None = None
    limit_registers: float | None = None
    limit_shared_memory: float | None = None
    limit_warps: float | None = None
    limit_barriers: float | None = None

    @property
    def limiters(self) -> tuple[str, ...]:
        """The resources that hold it down, the tightest (all of them where several tie); empty where not known."""
        limits = {
            field.name.removeprefix("limit_").replace("_", " "): value
            for field in fields(self)
            if field.name.startswith("limit_") and (value := getattr(self, field.name)) is not None
        }
        if not limits:
            return ()
        least = min(limits.values())
        return tuple(name for name, value in limits.items() if value == least)


@dataclass(frozen=True, slots=True)
class Schedule:
    """What the warp schedulers did; warps and issues are averages of a scheduler and cycle.

    ``cycles_per_issue`` is how many cycles a warp spends between two instructions that it issues.
    """

    instructions: float | None = None
    ipc: float | None = None
    issue_pct: float | None = None
    active_warps: float | None = None
    eligible_warps: float | None = None
    threads_per_instruction: float | None = None
    cycles_per_issue: float | None = None


@dataclass(frozen=True, slots=True)
class Stall:
    """``cycles`` of those between two issues of a warp go to ``reason``; ``share`` of them all, 0 to 1."""

    reason: str
    cycles: float
    share: float | None


@dataclass(frozen=True, slots=True)
class Pipes:
    """Percent of active cycles in which a pipe was busy, and warp instructions of the tensor pipe by kind."""

    tensor_pct: float | None = None
    fp32_pct: float | None = None
    fp64_pct: float | None = None
    alu_pct: float | None = None
    xu_pct: float | None = None
    lsu_pct: float | None = None
    tma_pct: float | None = None
    tensor_instructions: float | None = None
    hmma_instructions: float | None = None
    gmma_instructions: float | None = None
    imma_instructions: float | None = None
    dmma_instructions: float | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """Traffic in bytes, hit rates in percent, 32-byte sectors a request of global memory, shared and local memory."""

    dram_read_bytes: float | None = None
    dram_write_bytes: float | None = None
    dram_bytes_s: float | None = None
    l2_bytes: float | None = None
    l2_hit_pct: float | None = None
    l1_hit_pct: float | None = None
    load_requests: float | None = None
    store_requests: float | None = None
    load_sectors_per_request: float | None = None
    store_sectors_per_request: float | None = None
    load_bytes_per_sector: float | None = None
    store_bytes_per_sector: float | None = None
    tma_load_bytes: float | None = None
    tma_store_bytes: float | None = None
    shared_wavefronts: float | None = None
    bank_conflicts: float | None = None
    local_load_bytes: float | None = None
    local_store_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """One launch of one kernel. ``name`` is as people write it; ``missing`` are metrics that gave no figure.

    ``own`` and ``origin`` mean what they mean in ``kernels.harness.measures.KernelActivity``, by the same rule.
    """

    name: str
    own: bool
    origin: str
    duration_s: float | None
    sm_cycles: float | None
    sm_clock_hz: float | None
    dram_clock_hz: float | None
    speed: Speed
    launch: Launch
    occupancy: Occupancy
    schedule: Schedule
    pipes: Pipes
    memory: Memory
    stalls: tuple[Stall, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Method:
    """How it was taken. ``cut``: the call has more launches than ``launch_limit``, and those are not in the record."""

    tool: str
    metric_set: str
    clock_control: str
    cache_control: str
    replay_mode: str
    warmup_calls: int
    launch_limit: int
    cut: bool
    read_by: str
    card: str
    capability: str
    isolation: Isolation | None


@dataclass(frozen=True, slots=True)
class Profile:
    """One call of one candidate under the profiler; ``kernels`` in the order of their launches.

    ``detail`` says in words why there are no figures and what would be right. ``report_bytes`` is the size of the
    ``.ncu-rep``, None where none was kept.
    """

    outcome: ProfileOutcome
    reason: Reason | None
    detail: str
    kernels: tuple[KernelProfile, ...]
    method: Method | None
    report_bytes: int | None
    wall_s: float

    def __post_init__(self) -> None:
        measured = self.outcome is ProfileOutcome.MEASURED
        if measured and (not self.kernels or self.method is None or self.reason is not None):
            raise ImpossibleProfile("measured, but without a kernel or a method, or with a reason for having none")
        if not measured and (self.kernels or self.reason is None):
            raise ImpossibleProfile(f"{self.outcome.value}, but with figures or without a reason")
        unavailable = self.outcome is ProfileOutcome.UNAVAILABLE
        if self.reason is not None and unavailable != self.reason.is_of_machine:
            raise ImpossibleProfile(f"{self.outcome.value} does not go with the reason {self.reason.value}")

    @property
    def total_s(self) -> float | None:
        """All kernels' durations together; None where one of them is not known."""
        durations = [kernel.duration_s for kernel in self.kernels]
        known = [duration for duration in durations if duration is not None]
        return sum(known) if known and len(known) == len(durations) else None

    @property
    def own_share(self) -> float | None:
        """Share of kernel time in the candidate's own kernels, 0 to 1; None where a duration is not known."""
        total = self.total_s
        if not total:
            return None
        return sum(kernel.duration_s or 0.0 for kernel in self.kernels if kernel.own) / total


FIXED, FULL = "fixed", "full"
"""The metric sets: ours alone, or everything the profiler has beside ours."""


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """One candidate on one problem's signature (and, for a module, the problem's own file and size).

    ``report`` is where the ``.ncu-rep`` is to be kept, None for nowhere. ``isolation`` names a method of
    ``kernels.harness.isolation``; None takes the best that works here. ``seconds`` bounds the profiler's whole run.
    """

    problem_path: str
    size: str
    signature: Signature
    candidate: Candidate
    device: str
    metric_set: str = FIXED
    report: str | None = None
    isolation: str | None = None
    seconds: float = 180.0
    launch_limit: int = 48
    report_limit_bytes: int = 256 * 2**20
    memory_bytes: int = 32 * 2**30
