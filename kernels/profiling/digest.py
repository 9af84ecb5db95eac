"""What limits a candidate, in words with numbers, by fixed rules from a Profile. A pure function.

Each line names the metrics it rests on; a rule whose figures are missing says nothing. The thresholds are those of
Nsight Compute's own rules where it has one (60 and 80 percent of a unit's peak, 32 bytes a sector), and are written
beside the rule where they are ours. It recommends nothing: what to do about it is the feedback tools' business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from kernels.profiling.metrics import metric_of, stall_metric
from kernels.profiling.record import KernelProfile, Profile

HIGH_PCT, BUSY_PCT = 80.0, 60.0
_OCCUPANCY_GAP_PCT = 10.0
_OCCUPANCY_LOW_PCT = 50.0
_STALL_SHARE = 0.3
_SECTOR_BYTES = 32.0
_SECTOR_USE = 0.8
_CONFLICT_SHARE = 0.1
_DIVERGED_THREADS = 24.0
_TAIL_WAVES = 4.0
_WARP = 32.0


class Severity(StrEnum):
    """How much a line weighs: what is at its peak or waited for, what is wasted, or neither."""

    LIMIT = "limit"
    COST = "cost"
    FACT = "fact"


@dataclass(frozen=True, slots=True)
class Line:
    """One finding about one launch (its index in the profile): words with their numbers, and what they rest on."""

    kernel: int
    rule: str
    severity: Severity
    words: str
    metrics: tuple[str, ...]


STALL_WORDS = {
    "barrier": "waiting for the block's other warps at a barrier",
    "branch_resolving": "waiting for a branch target",
    "dispatch_stall": "held back by the dispatcher",
    "drain": "waiting for its stores at the end of the kernel",
    "gmma": "waiting for warpgroup matrix products (wgmma)",
    "imc_miss": "waiting for a constant that is not in its cache",
    "lg_throttle": "waiting for room in the queue of global and local memory instructions",
    "long_scoreboard": "waiting for data from global or local memory, or from L2",
    "math_pipe_throttle": "waiting for a busy arithmetic pipe",
    "membar": "waiting at a memory fence",
    "mio_throttle": "waiting for room in the queue of shared memory and special instructions",
    "misc": "waiting for something else",
    "no_instruction": "waiting for instructions to be fetched",
    "not_selected": "ready while another warp was chosen",
    "selected": "issuing",
    "short_scoreboard": "waiting for shared memory or a special function",
    "sleeping": "asleep of its own will",
    "tex_throttle": "waiting for room in the texture queue",
    "wait": "waiting a fixed number of cycles for the instruction before",
}
"""What each reason means, in words."""
_NO_STALL = frozenset({"selected", "not_selected"})


def percent(value: float) -> str:
    """``62 %``, ``3.1 %`` under ten, with a narrow no-break space."""
    return f"{value:.0f}\u202f%" if value >= 10 or value == 0 else f"{value:.1f}\u202f%"


def amount(value: float) -> str:
    """Bytes in thousands: ``134 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g}\u202f{unit}"
        value /= 1000
    return f"{value:.3g}\u202fTB"


def digest(profile: Profile, *, most_kernels: int = 3) -> tuple[Line, ...]:
    """What limits the launches that take the most time, the longest first; nothing where nothing was measured."""
    order = sorted(range(len(profile.kernels)), key=lambda index: -(profile.kernels[index].duration_s or 0.0))
    lines: list[Line] = []
    for index in order[:most_kernels]:
        lines += _about(index, profile.kernels[index])
    return tuple(lines)


def _about(index: int, kernel: KernelProfile) -> list[Line]:
    found = []
    for rule, severity, judge in _RULES:
        said = judge(kernel)
        if said is not None:
            words, metrics = said
            found.append(Line(index, rule, severity, words, metrics))
    return found


Said = tuple[str, tuple[str, ...]] | None


def _class(kernel: KernelProfile) -> Said:
    """Compute, memory, both or neither: Nsight Compute calls 60 percent of the peak busy and 80 percent high."""
    compute, memory = kernel.speed.compute_pct, kernel.speed.memory_pct
    if compute is None or memory is None:
        return None
    figures = f"compute {percent(compute)} of its peak, memory {percent(memory)}"
    if compute < BUSY_PCT and memory < BUSY_PCT:
        words = f"Limited by latency: {figures}; neither is near it, so warps wait"
    elif compute >= BUSY_PCT and memory >= BUSY_PCT:
        words = f"Limited by compute and memory alike: {figures}"
    else:
        words = f"Limited by {'compute' if compute > memory else 'memory'}: {figures}"
    return words, (metric_of("speed.compute_pct"), metric_of("speed.memory_pct"))


def _tensor(kernel: KernelProfile) -> Said:
    busy = kernel.pipes.tensor_pct
    if not busy:
        return None
    return f"Tensor pipe busy in {percent(busy)} of the active cycles", (metric_of("pipes.tensor_pct"),)


def _scalar(kernel: KernelProfile) -> Said:
    """The busiest pipe other than the tensor cores, where it is busy."""
    pipes = {"FP32": "fp32_pct", "FP64": "fp64_pct", "integer": "alu_pct", "special-function": "xu_pct"}
    known = {name: (getattr(kernel.pipes, field) or 0.0, field) for name, field in pipes.items()}
    name, (busy, field) = max(known.items(), key=lambda item: item[1][0])
    if busy < BUSY_PCT:
        return None
    return f"{name} pipe busy in {percent(busy)} of the active cycles", (metric_of(f"pipes.{field}"),)


def _memory_part(kernel: KernelProfile) -> Said:
    """Which part of the memory system is the busiest, where memory is busy at all."""
    parts = {"DRAM": "dram_pct", "L2": "l2_pct", "L1 and shared memory": "l1_pct"}
    known = {name: (value, field) for name, field in parts.items() if (value := getattr(kernel.speed, field))}
    if not known or (kernel.speed.memory_pct or 0.0) < BUSY_PCT:
        return None
    name, (busy, field) = max(known.items(), key=lambda item: item[1][0])
    words, metrics = f"{name} is the busiest of the memory system, {percent(busy)}", [metric_of(f"speed.{field}")]
    read, written = kernel.memory.dram_read_bytes, kernel.memory.dram_write_bytes
    if name == "DRAM" and read is not None and written is not None:
        words += f": {amount(read)} read and {amount(written)} written"
        metrics += [metric_of("memory.dram_read_bytes"), metric_of("memory.dram_write_bytes")]
    return words, tuple(metrics)


def _stall(kernel: KernelProfile) -> Said:
    """The longest wait of a warp between two instructions, from 30 percent of that time on (ours)."""
    stall = next((one for one in kernel.stalls if one.reason not in _NO_STALL), None)
    if stall is None or stall.share is None or stall.share < _STALL_SHARE:
        return None
    reason = stall.reason.replace("_", " ")
    words = f"Stalled on {reason} for {percent(stall.share * 100)} of a warp's time: {STALL_WORDS[stall.reason]}"
    return words, (stall_metric(stall.reason), metric_of("schedule.cycles_per_issue"))


def _occupancy(kernel: KernelProfile) -> Said:
    """Few warps, and what holds them down (under 50 percent); or fewer than would fit (10 points, as in ncu)."""
    achieved, possible = kernel.occupancy.achieved_pct, kernel.occupancy.theoretical_pct
    if achieved is None or possible is None:
        return None
    metrics = (metric_of("occupancy.achieved_pct"), metric_of("occupancy.theoretical_pct"))
    if possible - achieved >= _OCCUPANCY_GAP_PCT:
        return (
            f"Occupancy {percent(achieved)} of {percent(possible)} possible: blocks are uneven or too few",
            metrics,
        )
    if possible < _OCCUPANCY_LOW_PCT and (limiters := kernel.occupancy.limiters):
        held = " and ".join(limiters)
        limits = tuple(metric_of(f"occupancy.limit_{name.replace(' ', '_')}") for name in limiters)
        return f"Occupancy {percent(achieved)}, {percent(possible)} possible: held down by {held}", metrics + limits
    return None


def _waves(kernel: KernelProfile) -> Said:
    """A grid that does not fill the card, or a last wave that leaves it partly idle (under 4 waves, ours)."""
    waves = kernel.launch.waves
    if waves is None or waves <= 0 or waves >= _TAIL_WAVES:
        return None
    if waves < 1:
        words = f"The grid fills {percent(waves * 100)} of the card once"
    elif (last := waves % 1.0) > 0:
        words = f"{waves:.2f} waves: in the last one {percent(last * 100)} of the card has work"
    else:
        return None
    return words, (metric_of("launch.waves"),)


def _coalescing(kernel: KernelProfile) -> Said:
    """How much of each 32-byte sector is used by global loads and stores; under 80 percent (ours) is a waste."""
    said, metrics = [], []
    for what in ("load", "store"):
        used = getattr(kernel.memory, f"{what}_bytes_per_sector")
        requests, sectors = (
            getattr(kernel.memory, f"{what}_{name}") for name in ("requests", "sectors_per_request")
        )
        if not requests or not used or used >= _SECTOR_USE * _SECTOR_BYTES:
            continue
        wide = f", {sectors:.3g} sectors a request" if sectors else ""
        said.append(f"{what}s use {used:.3g} of 32 bytes of a sector{wide}")
        metrics += [metric_of(f"memory.{what}_bytes_per_sector"), metric_of(f"memory.{what}_sectors_per_request")]
    return ("Global memory: " + "; ".join(said), tuple(metrics)) if said else None


def _conflicts(kernel: KernelProfile) -> Said:
    conflicts, wavefronts = kernel.memory.bank_conflicts, kernel.memory.shared_wavefronts
    if not conflicts or not wavefronts or conflicts / wavefronts < _CONFLICT_SHARE:
        return None
    share = percent(conflicts / wavefronts * 100)
    words = f"Bank conflicts are {share} of the shared memory's wavefronts"
    return words, (metric_of("memory.bank_conflicts"), metric_of("memory.shared_wavefronts"))


def _spills(kernel: KernelProfile) -> Said:
    known = {"loaded": kernel.memory.local_load_bytes, "stored": kernel.memory.local_store_bytes}
    moved = [f"{amount(value)} {what}" for what, value in known.items() if value]
    if not moved:
        return None
    words = f"Local memory, for spilled registers or arrays: {' and '.join(moved)}"
    return words, (metric_of("memory.local_load_bytes"), metric_of("memory.local_store_bytes"))


def _divergence(kernel: KernelProfile) -> Said:
    threads = kernel.schedule.threads_per_instruction
    if threads is None or threads >= _DIVERGED_THREADS:
        return None
    words = f"{threads:.3g} of {_WARP:.0f} threads take part in an instruction"
    return words, (metric_of("schedule.threads_per_instruction"),)


_RULES: tuple[tuple[str, Severity, Callable[[KernelProfile], Said]], ...] = (
    ("class", Severity.LIMIT, _class),
    ("tensor-pipe", Severity.FACT, _tensor),
    ("busy-pipe", Severity.LIMIT, _scalar),
    ("memory-part", Severity.LIMIT, _memory_part),
    ("stall", Severity.LIMIT, _stall),
    ("occupancy", Severity.FACT, _occupancy),
    ("waves", Severity.COST, _waves),
    ("coalescing", Severity.COST, _coalescing),
    ("bank-conflicts", Severity.COST, _conflicts),
    ("local-memory", Severity.COST, _spills),
    ("divergence", Severity.COST, _divergence),
)
