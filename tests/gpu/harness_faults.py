"""The fault drill on a card: each bad candidate alone and in a batch of 20, and the overhead of an evaluation.

    python -m tests.gpu.harness_faults --cache DIR --build-only     # where nvcc is; needs no card
    python -m tests.gpu.harness_faults --cache DIR --json FILE      # where the card is

Each bad candidate must end in its own outcome, every good one around it must pass, no process may be left and the
card's memory must be as it was. Exit status 1 where any of that fails. This process itself never touches the card.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.codegen.emission import Unit
from kernels.dtypes import DType
from kernels.harness import evaluate, isolation
from kernels.harness.baselines import BaselineKind
from kernels.harness.evaluation import EvaluationRequest, Limits, ModuleCandidate, Outcome, PlanCandidate
from kernels.harness.tolerance import profile
from kernels.targets import Target
from kernels.toolchain import nvcc
from tests.harness.processes import left_running
from tests.harness.programs import PROBLEM, SIGNATURE, one_launch

KERNELS = r"""
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <unistd.h>
#include <cuda_runtime.h>
__global__ void bias_relu_kernel(const float* x, const float* b, float* y, int64_t m, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < m * n) { float v = x[i] + b[i % n]; y[i] = v > 0 ? v : 0; }
}
__global__ void illegal_kernel() { *(volatile float*)8 = 1; }
__global__ void endless_kernel(volatile float* y) { while (y[0] != 12345.0f) {} }
#define API extern "C" int
#define ARGUMENTS const void* x, const void* b, void* y, int64_t m, int64_t n, void*, void* stream
#define RUN(shared) bias_relu_kernel<<<(m * n + 255) / 256, 256, shared, (cudaStream_t)stream>>>( \
  (const float*)x, (const float*)b, (float*)y, m, n)
API bias_relu(ARGUMENTS) { RUN(0); return cudaGetLastError(); }
API illegal(ARGUMENTS) { illegal_kernel<<<1, 1, 0, (cudaStream_t)stream>>>(); return 0; }
API illegal_late(ARGUMENTS) {
  static int launched = 0;
  for (int i = 0; i < 50; i++) { RUN(0); launched++; }
  if (launched > 1000) illegal_kernel<<<1, 1, 0, (cudaStream_t)stream>>>();
  return 0; }
API endless(ARGUMENTS) { endless_kernel<<<1, 1, 0, (cudaStream_t)stream>>>((float*)y); return 0; }
API takes_200_gb(ARGUMENTS) {
  for (int i = 0; i < 2; i++) {
    void* p = nullptr;
    cudaError_t error = cudaMalloc(&p, 100ull << 30);
    if (error) return error == cudaErrorMemoryAllocation ? ENOMEM : error; }
  RUN(0); return cudaGetLastError(); }
API too_much_shared(ARGUMENTS) { RUN(1 << 20); return cudaGetLastError(); }
API segfault(ARGUMENTS) { *(volatile int*)8 = 1; return 0; }
API exits(ARGUMENTS) { _exit(0); }
"""

BY_TORCH = """
import torch

class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        held = [torch.empty(100 << 30, dtype=torch.uint8, device="cuda") for _ in range(2)]
        return torch.relu(x + self.bias)
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """A candidate that fails, as what, and what must stand in the detail."""

    symbol: str
    outcome: Outcome
    says: str
    seconds: float = 30.0


GOOD = Fault("bias_relu", Outcome.PASSED, "")
FAULTS = {
    "illegal access": Fault("illegal", Outcome.CRASH, "illegal memory access"),
    "illegal access after 1,000 launches": Fault("illegal_late", Outcome.CRASH, "illegal memory access"),
    "endless kernel": Fault("endless", Outcome.TIMEOUT, "longer than", 6.0),
    "200 GB of the card": Fault("takes_200_gb", Outcome.OUT_OF_MEMORY, "ENOMEM"),
    "200 GB by torch": Fault("", Outcome.OUT_OF_MEMORY, "out of memory"),
    "too much shared memory": Fault("too_much_shared", Outcome.LAUNCH_ERROR, "error code"),
    "host segfault": Fault("segfault", Outcome.CRASH, "SIGSEGV"),
    "os._exit": Fault("exits", Outcome.CRASH, "exit status 0"),
}
BATCH = 20
MEMORY_SLACK_MIB = 64
LIBRARY = "harness_faults.so"


def build(cache: Path, target: Target) -> None:
    """All candidates in one shared object."""
    compiler = nvcc.find(target)
    if compiler is None:
        raise SystemExit(f"{LIBRARY} is not in {cache}, and there is no nvcc")
    cache.mkdir(parents=True, exist_ok=True)
    unit = Unit("harness_faults", "cuda", KERNELS, (), ())
    result = compiler.compile(unit, cache.absolute() / LIBRARY, 300.0)
    if result.outcome != "built":
        raise SystemExit(f"{result.outcome}\n{result.log}")


def request_of(fault: Fault, cache: Path, *, baselines: tuple[BaselineKind, ...] = ()) -> EvaluationRequest:
    """A small request: one round, no baseline unless asked for."""
    plan = PlanCandidate(one_launch(fault.symbol), {fault.symbol: str(cache / LIBRARY)})
    return EvaluationRequest(
        problem_path=str(cache / "problem.py"),
        size="default",
        signature=SIGNATURE,
        candidate=plan if fault.symbol else ModuleCandidate(BY_TORCH),
        device="cuda",
        tolerance=profile("kernelbench", DType.F32),
        rounds=1,
        limits=Limits(seconds=fault.seconds),
        baselines=baselines,
    )


def run(name: str, fault: Fault, cache: Path) -> dict[str, Any]:
    """One evaluation against what it must end in."""
    evaluation = evaluate(request_of(fault, cache))
    right = evaluation.outcome is fault.outcome and fault.says in evaluation.detail
    return {
        "case": name,
        "passed": right,
        "outcome": evaluation.outcome.value,
        "expected": fault.outcome.value,
        "detail": evaluation.detail[:300],
        "wall_s": round(evaluation.wall_s, 2),
        "warm": evaluation.isolation.warm if evaluation.isolation else None,
        "method": evaluation.isolation.method if evaluation.isolation else None,
    }


def batch(count: int) -> list[tuple[str, Fault]]:
    """Faults between good candidates, ``count`` in all."""
    mixed = [pair for name, fault in FAULTS.items() for pair in (("good", GOOD), (name, fault))]
    return (mixed + [("good", GOOD)] * count)[:count]


def overhead(cache: Path, times: int = 3) -> dict[str, Any]:
    """Seconds of evaluations beside eager that are neither the problem's code nor calls; the first is left out."""
    runs, known = [], []
    for number in range(times + 1):
        evaluation = evaluate(request_of(GOOD, cache, baselines=(BaselineKind.EAGER,)))
        runs.append(
            {"wall_s": evaluation.wall_s, "spent_s": evaluation.spent_s, "overhead_s": evaluation.overhead_s}
        )
        if number and evaluation.overhead_s is not None:
            known.append(evaluation.overhead_s)
    return {"median_s": statistics.median(known) if known else None, "runs": runs}


def memory_used_mib() -> list[int]:
    """Memory in use on each card, by nvidia-smi."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return [int(line) for line in subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()]


def drill(cache: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Everything, in order; the first good evaluation starts the servers and is no case."""
    evaluate(request_of(GOOD, cache))
    before = memory_used_mib()
    began = time.monotonic()
    plan = [] if options.skip_alone else list(FAULTS.items())
    plan += batch(options.batch)
    cases = []
    for name, fault in plan:
        cases.append(run(name, fault, cache))
        print(json.dumps(cases[-1]), flush=True)
    left = [" ".join(process.cmdline()) for process in left_running()]
    after = memory_used_mib()
    more = max((b - a for a, b in zip(before, after, strict=True)), default=0)
    return {
        "isolation": isolation.probe(),
        "cases": cases,
        "left_running": left,
        "memory_used_mib": [before, after],
        "nothing_left": not left and more <= MEMORY_SLACK_MIB,
        "drill_s": round(time.monotonic() - began, 1),
        "overhead": overhead(cache),
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", type=Path, default=Path("build/gpu"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--arch", type=Target, default=Target.SM90A)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--skip-alone", action="store_true")
    parser.add_argument("--build-only", action="store_true")
    options = parser.parse_args()
    if not (options.cache / LIBRARY).exists():
        build(options.cache, options.arch)
    if options.build_only:
        return 0
    cache = options.cache.absolute()
    (cache / "problem.py").write_text(PROBLEM, encoding="utf-8")
    found = drill(cache, options)
    summary = {key: value for key, value in found.items() if key != "cases"}
    print(json.dumps(summary, indent=1))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    good = found["nothing_left"] and all(case["passed"] for case in found["cases"])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
