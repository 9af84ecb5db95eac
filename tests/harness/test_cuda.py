"""The same evaluations on a card; skipped where there is none or no nvcc."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.harness import evaluate
from kernels.harness.evaluation import EAGER, Limits, Outcome
from tests.harness.conftest import MakeRequest
from tests.harness.programs import one_launch

KERNELS = """
#include <cstdint>
#include <cuda_runtime.h>
__global__ void bias_relu_kernel(const float* x, const float* b, float* y, int64_t m, int64_t n, float more) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < m * n) { float v = x[i] + b[i % n]; y[i] = (v > 0 ? v : 0) + more; }
}
__global__ void illegal_kernel(float* y) { ((volatile float*)8)[threadIdx.x] = 1; y[0] = 1; }
__global__ void endless_kernel(volatile float* y) { while (y[0] != 12345.0f) {} }
__global__ void busy_kernel(int64_t cycles) { int64_t t = clock64(); while (clock64() - t < cycles) {} }
#define ARGUMENTS const void* x, const void* b, void* y, int64_t m, int64_t n, void*, void* stream
#define RUN(more) bias_relu_kernel<<<(m * n + 255) / 256, 256, 0, (cudaStream_t)stream>>>( \\
  (const float*)x, (const float*)b, (float*)y, m, n, more)
extern "C" int bias_relu(ARGUMENTS) { RUN(0); return cudaGetLastError(); }
extern "C" int wrong(ARGUMENTS) { RUN(1); return cudaGetLastError(); }
extern "C" int illegal(ARGUMENTS) { illegal_kernel<<<1, 32, 0, (cudaStream_t)stream>>>((float*)y); return 0; }
extern "C" int endless(ARGUMENTS) { endless_kernel<<<1, 1, 0, (cudaStream_t)stream>>>((float*)y); return 0; }
extern "C" int too_much(ARGUMENTS) {
  bias_relu_kernel<<<1, 256, 1 << 20, (cudaStream_t)stream>>>((const float*)x, (const float*)b, (float*)y, m, n, 0);
  return cudaGetLastError(); }
extern "C" int side_stream(ARGUMENTS) {
  static cudaStream_t side = nullptr;
  if (!side) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  RUN(0); busy_kernel<<<1, 1, 0, side>>>(20000000); return cudaGetLastError(); }
"""


def _card() -> bool:
    return shutil.which("nvidia-smi") is not None and shutil.which("nvcc") is not None


pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not _card(), reason="needs an NVIDIA card and nvcc")]


@pytest.fixture(scope="module")
def cuda_objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cuda")
    source = folder / "kernels.cu"
    source.write_text(KERNELS)
    library = folder / "kernels.so"
    command = ["nvcc", "-O2", "-shared", "-Xcompiler", "-fPIC", str(source), "-o", str(library), "-arch=native"]
    subprocess.run(command, check=True)
    return library


@pytest.mark.parametrize(
    ("symbol", "outcome", "said"),
    [
        ("bias_relu", Outcome.PASSED, ""),
        ("wrong", Outcome.INCORRECT, "matched share"),
        ("illegal", Outcome.CRASH, "illegal"),
        ("endless", Outcome.TIMEOUT, "longer than"),
        ("too_much", Outcome.LAUNCH_ERROR, "error code"),
        ("side_stream", Outcome.INCORRECT, "device work"),
    ],
)
def test_each_candidate_on_a_card_ends_in_its_own_outcome(
    make_request: MakeRequest, cuda_objects: Path, symbol: str, outcome: Outcome, said: str
) -> None:
    request = make_request(plan=one_launch(symbol), artifacts={symbol: str(cuda_objects)})
    evaluation = evaluate(replace(request, device="cuda", limits=Limits(seconds=20)))
    assert evaluation.outcome is outcome, evaluation.detail
    assert said in evaluation.detail
    if outcome is Outcome.PASSED:
        assert evaluation.machine is not None
        assert evaluation.machine.kind == "cuda"
        assert evaluation.baseline(EAGER) is not None
