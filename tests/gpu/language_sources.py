"""Problems and candidates of ``harness_languages``: CUDA C++ and CuTe by hand, and Python modules, good and bad."""

from __future__ import annotations

ROWS, COLUMNS = 2048, 1536

BIAS_RELU = f"""
import torch

M, N = {ROWS}, {COLUMNS}


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        return torch.relu(x + self.bias)


def get_inputs():
    return [torch.randn(M, N)]


def get_init_inputs():
    return [N]
"""

HALF_LINEAR = """
import torch


class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = torch.nn.Linear(features, features, dtype=torch.float16)

    def forward(self, x):
        return self.linear(x)


def get_inputs():
    return [torch.randn(1024, 1024, dtype=torch.float16)]


def get_init_inputs():
    return [1024]
"""

# Two dozen short kernels, which take the host longer to launch than the card to run.
SHORT_CALLS = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        for _ in range(24):
            x = torch.sin(x)
        return x


def get_inputs():
    return [torch.randn(128, 128)]


def get_init_inputs():
    return []
"""

MANY_LAUNCHES = SHORT_CALLS[: SHORT_CALLS.index("def get_inputs")].replace("Model(", "ModelNew(", 1)

_HEAD = """
#include "problem.h"
#include <cuda_runtime.h>

using problem::bias;
using problem::x;
"""

PLAIN = (
    _HEAD
    + """
__global__ void bias_relu(const float* from, const float* add, float* to) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < x::size) to[i] = fmaxf(from[i] + add[i % x::d1], 0.0f);
}

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void*, void* stream) {
  const unsigned blocks = (x::size + 255) / 256;
  bias_relu<<<blocks, 256, 0, cudaStream_t(stream)>>>(x::of(inputs), bias::of(inputs), static_cast<float*>(outputs[0]));
  return cudaGetLastError();
}
"""
)

WITH_WORKSPACE = (
    _HEAD
    + """
__global__ void add(const float* from, const float* more, float* to) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < x::size) to[i] = from[i] + more[i % x::d1];
}

__global__ void relu(const float* from, float* to) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < x::size) to[i] = fmaxf(from[i], 0.0f);
}

extern "C" std::size_t mucutlass_workspace_bytes() { return x::size * sizeof(float); }

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void* workspace, void* stream) {
  const unsigned blocks = (x::size + 255) / 256;
  float* sums = static_cast<float*>(workspace);
  add<<<blocks, 256, 0, cudaStream_t(stream)>>>(x::of(inputs), bias::of(inputs), sums);
  relu<<<blocks, 256, 0, cudaStream_t(stream)>>>(sums, static_cast<float*>(outputs[0]));
  return cudaGetLastError();
}
"""
)

CUTE = (
    """
#include <cute/tensor.hpp>
"""
    + _HEAD
    + """
constexpr int TILE_M = 32, TILE_N = 128;
static_assert(x::d0 % TILE_M == 0 && x::d1 % TILE_N == 0);

__global__ void bias_relu(const float* from, const float* add, float* to) {
  using namespace cute;
  auto shape = make_shape(Int<x::d0>{}, Int<x::d1>{});
  auto rows = make_layout(shape, LayoutRight{});
  auto source = make_tensor(make_gmem_ptr(from), rows);
  auto result = make_tensor(make_gmem_ptr(to), rows);
  auto shift = make_tensor(make_gmem_ptr(add), shape, make_stride(Int<0>{}, Int<1>{}));
  auto tile = make_shape(Int<TILE_M>{}, Int<TILE_N>{});
  auto place = make_coord(blockIdx.y, blockIdx.x);
  auto threads = make_layout(make_shape(Int<8>{}, Int<32>{}), LayoutRight{});
  auto mine = local_partition(local_tile(source, tile, place), threads, threadIdx.x);
  auto more = local_partition(local_tile(shift, tile, place), threads, threadIdx.x);
  auto out = local_partition(local_tile(result, tile, place), threads, threadIdx.x);
  CUTE_UNROLL
  for (int i = 0; i < size(out); ++i) out(i) = fmaxf(mine(i) + more(i), 0.0f);
}

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void*, void* stream) {
  const dim3 blocks(x::d1 / TILE_N, x::d0 / TILE_M);
  bias_relu<<<blocks, 256, 0, cudaStream_t(stream)>>>(x::of(inputs), bias::of(inputs), static_cast<float*>(outputs[0]));
  return cudaGetLastError();
}
"""
)

ILLEGAL = PLAIN.replace("if (i < x::size) to[i]", "if (i < x::size) to[i + (std::int64_t(1) << 40)]")

TOO_MUCH_SHARED = PLAIN.replace("256, 0, cudaStream_t", "256, 1 << 20, cudaStream_t")

SIDE_STREAM = (
    PLAIN.replace(
        "  const unsigned blocks",
        """  (void)stream;
  static cudaStream_t side = nullptr;
  if (!side) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  const unsigned blocks""",
    )
    .replace("cudaStream_t(stream)>>>", "side>>>")
    .replace("  bias_relu<<<", "  for (int again = 0; again < 200; ++again) bias_relu<<<")
)

TORCH = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(features, features, dtype=torch.float16))
        self.bias = torch.nn.Parameter(torch.empty(features, dtype=torch.float16))

    def forward(self, x):
        return torch.addmm(self.bias, x, self.weight.t())
"""

ON_THE_HOST = TORCH.replace("self.weight.t())", "self.weight.t()).cpu()")

TRITON = """
import torch
import triton
import triton.language as tl


@triton.jit
def bias_relu(source, shift, target, size, width, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    value = tl.load(source + at, mask=inside) + tl.load(shift + at % width, mask=inside)
    tl.store(target + at, tl.maximum(value, 0.0), mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        blocks = (triton.cdiv(x.numel(), 1024),)
        bias_relu[blocks](x, self.bias, y, x.numel(), x.shape[1], BLOCK=1024)
        return y
"""

INLINE = '''
import torch
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor bias_relu(torch::Tensor x, torch::Tensor bias);"
CUDA = """
#include <c10/cuda/CUDAStream.h>

__global__ void kernel(const float* x, const float* bias, float* y, long size, long width) {
  const long i = long(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < size) y[i] = fmaxf(x[i] + bias[i % width], 0.0f);
}

torch::Tensor bias_relu(torch::Tensor given, torch::Tensor bias) {
  auto x = given.contiguous();
  auto y = torch::empty_like(x);
  const long size = x.numel();
  kernel<<<(size + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), size, x.size(1));
  return y;
}
"""
own = load_inline(name="own", cpp_sources=CPP, cuda_sources=CUDA, functions=["bias_relu"])


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return own.bias_relu(x, self.bias)
'''
