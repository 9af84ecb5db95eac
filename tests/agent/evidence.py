"""Hand-made evidence for the feedback tools. Its figures measure nothing: they exercise triggers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agent.feedback import Evidence
from kernels.dsl.simd import AVX512
from kernels.dtypes import DType
from kernels.harness.evaluation import Outcome, StageShare
from kernels.harness.measures import Activity, KernelActivity
from kernels.languages import Language
from kernels.problems.inspection import Signature, TensorSpec
from kernels.profiling.record import (
    KernelProfile,
    Launch,
    Memory,
    Method,
    Occupancy,
    Pipes,
    Profile,
    ProfileOutcome,
    Schedule,
    Speed,
    Stall,
)
from kernels.targets import Policy, Target
from kernels.toolchain.report import BuildOutcome, BuildReport, Resources, UnitReport
from sol.bounds.record import Bounds

GEMM = """program one(x: f32[M, K], weight: f32[N, K]) -> f32[M, N]
  y = gemm(x, weight.T){knobs}
  return y
"""
CHAIN = """program chained(x: f32[M, K], weight: f32[N, K]) -> f32[M, N]
  y = gemm(x, weight.T){knobs} >> mul(2.0) >> add(1.0) >> relu()
  return y
"""
UNFUSED = """program apart(x: f32[M, K], weight: f32[N, K]) -> f32[M, N]
  y = gemm(x, weight.T)
  z = map(relu(y))
  return z
"""
MAP = """program plain(x: f32[M, N]) -> f32[M, N]
  y = map(relu(x)){knobs}
  return y
"""
SOFTMAX = """program rows(x: f32[M, N]) -> f32[M, N]
  y = softmax(x, dim=1){knobs}
  return y
"""
TORCH = """program library(x: f32[M, N]) -> f32[M, N]
  y = torch.softmax(x, dim=1)
  z = map(y * 2.0)
  return z
"""


def tensor(name: str, *shape: int) -> TensorSpec:
    return TensorSpec(name, DType.F32, shape)


def product(m: int = 4096, n: int = 4096, k: int = 4096) -> Signature:
    return Signature((tensor("x", m, k),), (tensor("weight", n, k),), (tensor("y", m, n),), {})


def elementwise(m: int = 4096, n: int = 4096) -> Signature:
    return Signature((tensor("x", m, n),), (), (tensor("y", m, n),), {})


def evidence(source: str = GEMM, knobs: str = "", target: Target = Target.SM90A, **changes: Any) -> Evidence:
    """A candidate that passed in 1 ms and of which nothing else is known."""
    with_weight = "weight" in source
    known = Evidence(
        target=target,
        policy=changes.pop("policy", Policy.TF32),
        signature=changes.pop("signature", product() if with_weight else elementwise()),
        language=Language.MU,
        source=source.replace("{knobs}", knobs),
        outcome=Outcome.PASSED,
        detail="",
        time_s=1e-3,
        units=2 if target is Target.HOST else 132,
        l2_bytes=2**21,
        simd=AVX512,
    )
    return replace(known, **changes)


def bounds(compute_s: float = 4e-4, memory_s: float = 1e-4, bytes_: int = 200_000_000) -> Bounds:
    steering = max(compute_s, memory_s)
    return Bounds(
        device="card",
        policy=Policy.TF32,
        compute_s=compute_s,
        memory_s=memory_s,
        steering_s=steering,
        floor_s=steering / 2,
        bound_class="compute" if compute_s > memory_s else "memory",
        flops=10**11,
        bytes=bytes_,
        intensity=500.0,
        ridge=125.0,
        unknown_ops=(),
        arithmetic=(),
    )


def kernel(**changes: Any) -> KernelProfile:
    """A launch that is out of the ordinary in nothing; ``changes`` name records, as ``memory=Memory(...)``."""
    usual = KernelProfile(
        name="device_kernel",
        own=True,
        origin="symbol",
        duration_s=1e-3,
        sm_cycles=1e6,
        sm_clock_hz=1.6e9,
        dram_clock_hz=2e9,
        speed=Speed(compute_pct=70.0, memory_pct=40.0, dram_pct=30.0, l2_pct=40.0, l1_pct=40.0),
        launch=Launch(grid=(528,), block=(384,), registers=90, waves=8.0),
        occupancy=Occupancy(achieved_pct=70.0, theoretical_pct=75.0, limit_registers=4, limit_shared_memory=3),
        schedule=Schedule(threads_per_instruction=32.0, cycles_per_issue=10.0),
        pipes=Pipes(tensor_pct=80.0, gmma_instructions=1e5),
        memory=Memory(
            dram_read_bytes=1e8,
            dram_write_bytes=1e8,
            l2_hit_pct=70.0,
            l1_hit_pct=60.0,
            load_requests=1e5,
            load_bytes_per_sector=32.0,
            load_sectors_per_request=4.0,
            shared_wavefronts=1e6,
            bank_conflicts=0.0,
            local_load_bytes=0.0,
            local_store_bytes=0.0,
        ),
        stalls=(Stall("long_scoreboard", 2.0, 0.2), Stall("selected", 1.0, 0.1)),
        missing=(),
    )
    return replace(usual, **changes)


def profile(*kernels: KernelProfile) -> Profile:
    method = Method("ncu", "fixed", "none", "all", "kernel", 3, 48, False, "ncu", "card", "9.0", None)
    return Profile(ProfileOutcome.MEASURED, None, "", kernels or (kernel(),), method, None, 5.0)


def memory(**changes: float) -> Memory:
    return replace(kernel().memory, **changes)


def build(registers: int = 90, spills: int = 0, warnings: tuple[str, ...] = (), log: str = "") -> BuildReport:
    outcome = BuildOutcome.FAILED if log else BuildOutcome.BUILT
    resources = () if log else (Resources("device_kernel", registers, spills, spills, spills, None),)
    unit = UnitReport(
        "mu_y", outcome, None if log else "key", None, "nvcc", None, 1.0, False, log, warnings, resources
    )
    return BuildReport(Target.SM90A, (unit,), 1.0, {})


def activity(sum_s: float, own_s: float | None = None) -> Activity:
    own = sum_s if own_s is None else own_s
    parts = (
        KernelActivity("mine", "kernel", 2, own, True, "symbol"),
        KernelActivity("at::library", "kernel", 1, sum_s - own, False, "name"),
    )
    return Activity(parts, sum_s, sum_s, 5, "events")


def shares(**seconds: float) -> tuple[StageShare, ...]:
    return tuple(StageShare(name, value, name.startswith("library_")) for name, value in seconds.items())
