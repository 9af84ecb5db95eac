"""The fixed set of metrics, by the exact names that Nsight Compute has for them on sm_80 and sm_90.

Each entry says where in a KernelProfile a figure goes and which names carry it, the preferred one first. Names that a
card does not have are asked for all the same: it then gives "n/a", and the record lists what is missing. ``launch__``
and ``sm__maximum_warps`` come from the launch itself, the rest are counters.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    """``place`` is a field of KernelProfile, as ``speed.compute_pct``; ``names`` are the profiler's, by preference."""

    place: str
    names: tuple[str, ...]


def _m(place: str, *names: str) -> Metric:
    return Metric(place, names)


_ELAPSED = "avg.pct_of_peak_sustained_elapsed"
_ACTIVE = "avg.pct_of_peak_sustained_active"
_LSU = "pipe_lsu_mem"

METRICS: tuple[Metric, ...] = (
    _m("duration_s", "gpu__time_duration.sum"),
    _m("sm_cycles", "gpc__cycles_elapsed.max"),
    _m("sm_clock_hz", "gpc__cycles_elapsed.avg.per_second"),
    _m("dram_clock_hz", "dram__cycles_elapsed.avg.per_second"),
    # Share of the peak that a unit sustains ("speed of light" in the profiler's own words).
    _m("speed.compute_pct", f"sm__throughput.{_ELAPSED}"),
    _m("speed.memory_pct", f"gpu__compute_memory_throughput.{_ELAPSED}"),
    _m("speed.dram_pct", f"gpu__dram_throughput.{_ELAPSED}", f"dram__throughput.{_ELAPSED}"),
    _m("speed.l2_pct", f"lts__throughput.{_ELAPSED}"),
    _m("speed.l1_pct", f"l1tex__throughput.{_ACTIVE}"),
    # The launch.
    _m("launch.registers", "launch__registers_per_thread"),
    _m("launch.shared_static_bytes", "launch__shared_mem_per_block_static"),
    _m("launch.shared_dynamic_bytes", "launch__shared_mem_per_block_dynamic"),
    _m("launch.shared_driver_bytes", "launch__shared_mem_per_block_driver"),
    _m("launch.cluster_blocks", "launch__cluster_size"),
    _m("launch.waves", "launch__waves_per_multiprocessor"),
    # Occupancy; each limit is blocks a multiprocessor could hold if only that resource counted.
    _m("occupancy.achieved_pct", f"sm__warps_active.{_ACTIVE}"),
    _m("occupancy.theoretical_pct", "sm__maximum_warps_per_active_cycle_pct"),
    _m("occupancy.limit_blocks", "launch__occupancy_limit_blocks"),
    _m("occupancy.limit_registers", "launch__occupancy_limit_registers"),
    _m("occupancy.limit_shared_memory", "launch__occupancy_limit_shared_mem"),
    _m("occupancy.limit_warps", "launch__occupancy_limit_warps"),
    _m("occupancy.limit_barriers", "launch__occupancy_limit_barriers"),
    # The schedulers.
    _m("schedule.instructions", "smsp__inst_executed.sum"),
    _m("schedule.ipc", "sm__inst_executed.avg.per_cycle_active"),
    _m("schedule.issue_pct", f"smsp__issue_active.{_ACTIVE}"),
    _m("schedule.active_warps", "smsp__warps_active.avg.per_cycle_active"),
    _m("schedule.eligible_warps", "smsp__warps_eligible.avg.per_cycle_active"),
    _m("schedule.threads_per_instruction", "smsp__thread_inst_executed_per_inst_executed.ratio"),
    _m("schedule.cycles_per_issue", "smsp__average_warp_latency_per_inst_issued.ratio"),
    # Pipes: share of the cycles in which the multiprocessor was active.
    _m("pipes.tensor_pct", f"sm__pipe_tensor_cycles_active.{_ACTIVE}"),
    _m("pipes.fp32_pct", f"sm__inst_executed_pipe_fma.{_ACTIVE}"),
    _m("pipes.fp64_pct", f"sm__inst_executed_pipe_fp64.{_ACTIVE}"),
    _m("pipes.alu_pct", f"sm__inst_executed_pipe_alu.{_ACTIVE}"),
    _m("pipes.xu_pct", f"sm__inst_executed_pipe_xu.{_ACTIVE}"),
    _m("pipes.lsu_pct", f"sm__inst_executed_pipe_lsu.{_ACTIVE}"),
    _m("pipes.tma_pct", f"sm__inst_executed_pipe_tma.{_ACTIVE}"),
    _m("pipes.tensor_instructions", "sm__inst_executed_pipe_tensor.sum"),
    _m("pipes.hmma_instructions", "sm__inst_executed_pipe_tensor_op_hmma.sum"),
    _m("pipes.gmma_instructions", "sm__inst_executed_pipe_tensor_op_gmma.sum"),
    _m("pipes.imma_instructions", "sm__inst_executed_pipe_tensor_op_imma.sum"),
    _m("pipes.dmma_instructions", "sm__inst_executed_pipe_tensor_op_dmma.sum"),
    # Memory.
    _m("memory.dram_read_bytes", "dram__bytes_read.sum"),
    _m("memory.dram_write_bytes", "dram__bytes_write.sum"),
    _m("memory.dram_bytes_s", "dram__bytes.sum.per_second"),
    _m("memory.l2_bytes", "lts__t_bytes.sum"),
    _m("memory.l2_hit_pct", "lts__t_sector_hit_rate.pct"),
    _m("memory.l1_hit_pct", "l1tex__t_sector_hit_rate.pct"),
    _m("memory.load_requests", f"l1tex__t_requests_{_LSU}_global_op_ld.sum"),
    _m("memory.store_requests", f"l1tex__t_requests_{_LSU}_global_op_st.sum"),
    _m("memory.load_sectors_per_request", f"l1tex__average_t_sectors_per_request_{_LSU}_global_op_ld.ratio"),
    _m("memory.store_sectors_per_request", f"l1tex__average_t_sectors_per_request_{_LSU}_global_op_st.ratio"),
    _m("memory.load_bytes_per_sector", "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"),
    _m("memory.store_bytes_per_sector", "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"),
    _m("memory.tma_load_bytes", "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum"),
    _m("memory.tma_store_bytes", "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum"),
    _m("memory.shared_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"),
    _m("memory.bank_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"),
    # Local memory: what the compiler spilled, and arrays that it could not keep in registers.
    _m("memory.local_load_bytes", f"l1tex__t_bytes_{_LSU}_local_op_ld.sum"),
    _m("memory.local_store_bytes", f"l1tex__t_bytes_{_LSU}_local_op_st.sum"),
)

STALLS: tuple[str, ...] = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle", "long_scoreboard",
    "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected",
    "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
"""Why a warp did not issue, in the profiler's names; ``selected`` is the cycle in which it did."""


def stall_metric(reason: str) -> str:
    """Warps in that state for each cycle with an issue, on average; divided by ``cycles_per_issue`` it is a share."""
    return f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


def all_names() -> tuple[str, ...]:
    """Every name to ask for."""
    return (*(name for metric in METRICS for name in metric.names), *map(stall_metric, STALLS))


def metric_of(place: str) -> str:
    """The preferred name for a place, for those who want to know what a figure rests on."""
    return next(metric.names[0] for metric in METRICS if metric.place == place)
