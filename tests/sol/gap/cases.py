"""Small records of a candidate on a made-up card and a made-up host, for hand-worked gaps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernels.codegen.emission import Emission, Launch, Plan, PlanValue, TorchCall, Unit
from kernels.dtypes import DType
from kernels.harness.evaluation import StageShare, Timing
from kernels.harness.measures import Activity, Conditions, KernelActivity, Range
from kernels.profiling.record import (
    KernelProfile,
    Memory,
    Method,
    Occupancy,
    Pipes,
    Profile,
    ProfileOutcome,
    Reason,
    Schedule,
    Speed,
)
from kernels.profiling.record import Launch as Grid
from kernels.targets import Policy, Target
from sol.bounds.record import Bounds, Device, PipeTime
from sol.gap.evidence import Evidence

CARD = Device(
    "card", "cuda", {"f16": 1e15}, {"f32": 6e13}, 2e12, 8e12, 40_000_000, "specification", None,
    {"sms": "100", "boost_clock_ghz": "1.8", "max_clock_ghz": "2"},
)  # fmt: skip
HOST = Device(
    "host", "cpu", {"f32": 1e11}, {"f32": 1e11}, 1e10, 1e11, 4_000_000, "measured", "2026-01-02T10:00:00Z",
    {"cores": "4", "threads": "4"},
)  # fmt: skip


def bounds(compute_s: float = 1e-3, memory_s: float = 4e-4, **more: Any) -> Bounds:
    """1 ms of arithmetic over 0.4 ms of memory unless said otherwise; 800 MB at 2 TB/s are 0.4 ms."""
    steering = max(compute_s, memory_s)
    found = Bounds(
        "card", Policy.HALF, compute_s, memory_s, steering, steering / 2,
        "compute" if compute_s > memory_s else "memory",
        10**12, round(memory_s * 2e12), 1.0, 1.0, (), (),
        pipes=(PipeTime("matrix", DType.F16, 10**12, 1e15, "f16"),),
    )  # fmt: skip
    return replace(found, **more)


def timing(median_s: float, **more: Any) -> Timing:
    """One call of that length."""
    return Timing("candidate", median_s, median_s, median_s, median_s, 1, (median_s,), "events", **more)


def clocks(low: float, high: float, key: str = "sm_clock") -> Conditions:
    """Readings of a clock in MHz."""
    return replace(Conditions("NVML", 3), **{key: Range(low, high)})  # type: ignore[arg-type]


def activity(sum_s: float, span_s: float, launches: float = 2.0, fills: float = 0.0) -> Activity:
    """A call of some kernels of one name, and fills."""
    kernels = [KernelActivity("k", "kernel", launches, sum_s, True, "symbol")]
    if fills:
        kernels.append(KernelActivity("fill", "memset", fills, 0.0, False, "memset"))
    return Activity(tuple(kernels), sum_s, span_s, 3, "CUPTI")


def kernel(seconds: float, blocks: int, **more: Any) -> KernelProfile:
    """One launch: compute and DRAM in percent of their peaks, bytes to and from memory."""
    speed = Speed(compute_pct=more.get("compute"), dram_pct=more.get("dram"))
    memory = Memory(dram_read_bytes=more.get("read"), dram_write_bytes=more.get("written"))
    grid = Grid((blocks, 1, 1), (128, 1, 1), waves=more.get("waves"))
    return KernelProfile(
        "k", True, "symbol", seconds, None, None, None, speed, grid, Occupancy(), Schedule(), Pipes(), memory, (), (),
    )  # fmt: skip


def profile(*kernels: KernelProfile, cut: bool = False, cache_control: str = "none") -> Profile:
    """Some launches with figures."""
    method = Method("ncu", "fixed", "none", cache_control, "kernel", 2, 48, cut, "ours", "card", "9.0", None)
    return Profile(ProfileOutcome.MEASURED, None, "", kernels, method, None, 1.0)


NO_COUNTERS = Profile(ProfileOutcome.UNAVAILABLE, Reason.NO_PERMISSION, "counters need rights", (), None, None, 1.0)


def value(name: str, *shape: int, storage: str = "", broken: bool = False) -> PlanValue:
    """A dense f32 tensor; ``broken`` has a first axis without a stride."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    strides = strides[::-1]
    if broken:
        strides[0] = 0
    return PlanValue(name, DType.F32, shape, tuple(strides), 0, storage or name)


def launch(
    stage: str, pointers: tuple[str, ...], results: tuple[str, ...], *, once: bool = False, threads: int = 0
) -> Launch:
    """A generated stage of the host, threads last among its sizes."""
    return Launch(stage, f"mu_{stage}", pointers, results, (8, threads), 0, once)


def emission(
    values: tuple[PlanValue, ...], steps: tuple[Launch | TorchCall, ...], *, hand_written: bool = False
) -> Emission:
    """x and w come in, the last step's result goes out."""
    source = 'extern "C" int f(const void* x, void* y, int64_t m, int64_t threads, void* workspace, void* stream)'
    units = tuple(
        Unit(step.symbol, "c++", source, (), (step.stage,), hand_written=hand_written)
        for step in steps
        if isinstance(step, Launch)
    )
    return Emission(Target.HOST, units, Plan(values, ("x",), ("w",), steps, steps[-1].results))


def evidence(time_s: float, *, device: Device | None = CARD, of: Bounds | None = None, **more: Any) -> Evidence:
    """Evidence with the card unless said otherwise; ``conditions`` and ``activity`` go into the timing."""
    inner = {key: more.pop(key) for key in ("conditions", "activity", "missing") if key in more}
    return Evidence(of or bounds(), timing(time_s, **inner), device, **more)


def stages(**seconds: float) -> tuple[StageShare, ...]:
    """Stage times."""
    return tuple(StageShare(name, took, False) for name, took in seconds.items())
