"""A profile as rows for people: the same quantities, names and units on pages and on the command line.

Pure text of numbers; what was not measured is None here and drawn as such by whoever shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernels.profiling.digest import amount, percent
from kernels.profiling.metrics import metric_of
from kernels.profiling.record import KernelProfile


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity. ``text`` has its unit, None where it was not measured; ``share`` is 0 to 1 where a bar fits."""

    name: str
    text: str | None
    metric: str
    share: float | None = None
    note: str = ""


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.3g}"


def _hertz(value: float) -> str:
    return f"{value / 1e9:.3g}\u202fGHz"


def _kib(value: float) -> str:
    """Shared memory comes in powers of two."""
    return f"{value / 1024:.3g}\u202fKiB" if value else "0\u202fB"


def _rate(value: float) -> str:
    return f"{amount(value)}/s"


def _value(kernel: KernelProfile, place: str) -> float | None:
    group, _, field = place.rpartition(".")
    found: float | None = getattr(getattr(kernel, group) if group else kernel, field)
    return found


def _row(
    kernel: KernelProfile, name: str, place: str, text: Callable[[float], str], note: str = "", *, bar: bool = False
) -> Row:
    value = _value(kernel, place)
    if value is None:
        return Row(name, None, metric_of(place), note=note)
    return Row(name, text(value), metric_of(place), min(value / 100, 1.0) if bar else None, note)


def speed_rows(kernel: KernelProfile) -> tuple[Row, ...]:
    """Percent of the rate each unit can sustain, with what it moved beside it."""
    rate = _row(kernel, "", "memory.dram_bytes_s", _rate).text or ""
    hit = _row(kernel, "", "memory.l2_hit_pct", percent).text
    rows = (
        ("Compute (SM)", "speed.compute_pct", ""),
        ("Memory", "speed.memory_pct", ""),
        ("DRAM", "speed.dram_pct", rate),
        ("L2", "speed.l2_pct", f"{hit} hits" if hit else ""),
        ("L1 and shared", "speed.l1_pct", ""),
        ("Tensor pipe", "pipes.tensor_pct", "of active cycles"),
    )
    return tuple(_row(kernel, name, place, percent, note, bar=True) for name, place, note in rows)


def pipe_rows(kernel: KernelProfile) -> tuple[Row, ...]:
    """The other pipes, in percent of active cycles."""
    rows = (
        ("FP32", "fp32_pct"), ("FP64", "fp64_pct"), ("Integer and logic", "alu_pct"), ("Special functions", "xu_pct"),
        ("Load and store", "lsu_pct"), ("TMA", "tma_pct"),
    )  # fmt: skip
    return tuple(_row(kernel, name, f"pipes.{field}", percent, bar=True) for name, field in rows)


def occupancy_rows(kernel: KernelProfile) -> tuple[Row, ...]:
    """Warps on a multiprocessor, of those that it can hold: what was achieved and what the launch makes possible."""
    return (
        _row(kernel, "Achieved", "occupancy.achieved_pct", percent, bar=True),
        _row(kernel, "Possible", "occupancy.theoretical_pct", percent, bar=True),
    )


def limit_rows(kernel: KernelProfile) -> tuple[Row, ...]:
    """How many blocks a multiprocessor could hold if only that resource counted; the tightest ones are named so."""
    limiters = kernel.occupancy.limiters
    rows = []
    for name in ("registers", "shared memory", "warps", "blocks", "barriers"):
        place, note = f"occupancy.limit_{name.replace(' ', '_')}", "the limit" if name in limiters else ""
        row = _row(kernel, f"By {name}", place, _blocks, note)
        if row.text is not None or name != "barriers":
            rows.append(row)
    return tuple(rows)


def _blocks(value: float) -> str:
    return f"{value:.0f} block" if value == 1 else f"{value:.0f} blocks"


def launch_rows(kernel: KernelProfile) -> tuple[Row, ...]:
    """Grid, block and what a block takes."""
    launch = kernel.launch
    grid, block = (" × ".join(map(str, extents)) if extents else None for extents in (launch.grid, launch.block))
    rows = [Row("Grid", grid, "launch__grid_size"), Row("Block", block, "launch__block_size")]
    if launch.cluster_blocks:
        rows.append(_row(kernel, "Cluster", "launch.cluster_blocks", _blocks))
    return (
        *rows,
        _row(kernel, "Waves", "launch.waves", lambda value: f"{value:.3g}"),
        _row(kernel, "Registers a thread", "launch.registers", _number),
        _row(kernel, "Static shared memory", "launch.shared_static_bytes", _kib),
        _row(kernel, "Dynamic shared memory", "launch.shared_dynamic_bytes", _kib),
        _row(kernel, "SM clock", "sm_clock_hz", _hertz),
        _row(kernel, "DRAM clock", "dram_clock_hz", _hertz),
    )


def memory_rows(kernel: KernelProfile) -> tuple[Row, ...]:
    """Traffic, hits, and how well global, shared and local memory are used."""
    rows = [
        _row(kernel, "DRAM read", "memory.dram_read_bytes", amount),
        _row(kernel, "DRAM written", "memory.dram_write_bytes", amount),
        _row(kernel, "L2 traffic", "memory.l2_bytes", amount),
        _row(kernel, "L2 hits", "memory.l2_hit_pct", percent),
        _row(kernel, "L1 hits", "memory.l1_hit_pct", percent),
        _row(kernel, "Sectors a load request", "memory.load_sectors_per_request", _number),
        _row(kernel, "Bytes used of a loaded sector", "memory.load_bytes_per_sector", _number, "of 32"),
        _row(kernel, "Sectors a store request", "memory.store_sectors_per_request", _number),
        _row(kernel, "Bytes used of a stored sector", "memory.store_bytes_per_sector", _number, "of 32"),
        _row(kernel, "Shared memory wavefronts", "memory.shared_wavefronts", _number),
        _row(kernel, "Bank conflicts", "memory.bank_conflicts", _number),
        _row(kernel, "Local memory loaded", "memory.local_load_bytes", amount, "spills and arrays"),
        _row(kernel, "Local memory stored", "memory.local_store_bytes", amount, "spills and arrays"),
    ]
    for name, field in (("TMA loaded", "tma_load_bytes"), ("TMA stored", "tma_store_bytes")):
        row = _row(kernel, name, f"memory.{field}", amount)
        if row.text is not None:
            rows.append(row)
    return tuple(rows)


def schedule_rows(kernel: KernelProfile) -> tuple[Row, ...]:
    """What the schedulers did."""
    return (
        _row(kernel, "Warp instructions", "schedule.instructions", _number),
        _row(kernel, "Instructions a cycle and SM", "schedule.ipc", _number),
        _row(kernel, "Cycles with an issue", "schedule.issue_pct", percent),
        _row(kernel, "Active warps a scheduler", "schedule.active_warps", _number),
        _row(kernel, "Eligible warps a scheduler", "schedule.eligible_warps", _number),
        _row(kernel, "Cycles between a warp's issues", "schedule.cycles_per_issue", _number),
        _row(kernel, "Threads an instruction", "schedule.threads_per_instruction", _number, "of 32"),
    )
