"""Tables as ``ncu --csv --page raw --print-units base`` prints them, made up from the documented format.

The figures measure nothing: they exercise the parser and the rules.
"""

from __future__ import annotations

from kernels.profiling.metrics import all_names, metric_of, stall_metric

GEMM = "_ZN7cutlass13device_kernelIN2mu4GemmEEEvNT_6ParamsE"
COPY = "_ZN2mu4copyEPKfPfl"
LIBRARY = "_ZN2at6native27unrolled_elementwise_kernelILi4EEEvi"

_FIXED = (
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size",
    "Device", "CC",
)  # fmt: skip
_UNITS = {
    "gpu__time_duration.sum": "ns",
    "gpc__cycles_elapsed.avg.per_second": "cycle/ns",
    "dram__bytes_read.sum": "byte",
    "dram__bytes_write.sum": "byte",
    "dram__bytes.sum.per_second": "byte/s",
    "launch__registers_per_thread": "register/thread",
    "launch__shared_mem_per_block_dynamic": "byte/block",
}

FIGURES: dict[str, dict[str, str]] = {
    GEMM: {
        "duration_s": "190,528",
        "sm_clock_hz": "1.62",
        "speed.compute_pct": "86.80",
        "speed.memory_pct": "38.20",
        "speed.dram_pct": "12.5",
        "speed.l2_pct": "41.0",
        "launch.registers": "168",
        "launch.shared_static_bytes": "0",
        "launch.shared_dynamic_bytes": "214,016",
        "launch.waves": "1.94",
        "occupancy.achieved_pct": "18.21",
        "occupancy.theoretical_pct": "18.75",
        "occupancy.limit_blocks": "32",
        "occupancy.limit_registers": "1",
        "occupancy.limit_shared_memory": "1",
        "occupancy.limit_warps": "5",
        "schedule.instructions": "12,345,678",
        "schedule.cycles_per_issue": "20.0",
        "pipes.tensor_pct": "84.6",
        "pipes.gmma_instructions": "262,144",
        "memory.dram_read_bytes": "100,663,296",
        "memory.dram_write_bytes": "67,108,864",
        "memory.dram_bytes_s": "880,000,000,000",
        "memory.local_load_bytes": "0",
        "memory.local_store_bytes": "0",
        "stall:gmma": "9.0",
        "stall:barrier": "4.0",
        "stall:selected": "1.0",
    },
    COPY: {
        "duration_s": "51,200",
        "speed.compute_pct": "12.0",
        "speed.memory_pct": "91.5",
        "speed.dram_pct": "91.5",
        "speed.l2_pct": "40.0",
        "launch.registers": "16",
        "launch.waves": "0.6",
        "occupancy.achieved_pct": "71.0",
        "occupancy.theoretical_pct": "100",
        "schedule.cycles_per_issue": "40.0",
        "schedule.threads_per_instruction": "20.0",
        "memory.dram_read_bytes": "67,108,864",
        "memory.dram_write_bytes": "67,108,864",
        "memory.load_requests": "524,288",
        "memory.load_sectors_per_request": "16",
        "memory.load_bytes_per_sector": "8",
        "memory.shared_wavefronts": "1,000",
        "memory.bank_conflicts": "250",
        "memory.local_load_bytes": "1,048,576",
        "memory.local_store_bytes": "524,288",
        "stall:long_scoreboard": "30.0",
        "stall:selected": "1.0",
    },
    LIBRARY: {"duration_s": "8,000", "speed.compute_pct": "20", "speed.memory_pct": "30"},
}


def _metric(place: str) -> str:
    return stall_metric(place.partition(":")[2]) if place.startswith("stall:") else metric_of(place)


def table(*kernels: str, chatter: bool = True) -> str:
    """The table of one call that launched ``kernels`` in this order; a metric without a figure is "n/a"."""
    names = sorted(all_names())
    lines = ["==PROF== Connected to process 4242 (/usr/bin/python3.12)"] if chatter else []
    lines += ['==WARNING== Note: an option has no effect, "as documented".'] if chatter else []
    lines.append(_line((*_FIXED, *names)))
    lines.append(
        _line(("",) * len(_FIXED) + tuple(_UNITS.get(name, "%" if "pct" in name else "") for name in names))
    )
    for index, kernel in enumerate(kernels):
        figures = {_metric(place): value for place, value in FIGURES[kernel].items()}
        fixed = (
            str(index),
            "4242",
            "python3.12",
            "127.0.0.1",
            kernel,
            "1",
            "7",
            "(384, 1, 1)",
            "(132, 2, 1)",
            "0",
            "9.0",
        )
        lines.append(_line((*fixed, *(figures.get(name, "n/a") for name in names))))
    lines += ["==PROF== Disconnected from process 4242"] if chatter else []
    return "\n".join(lines) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
