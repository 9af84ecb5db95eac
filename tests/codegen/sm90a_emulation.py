"""Runs generated CUDA kernels on the CPU: its threads take turns, between one barrier or warp shuffle and the next.

For kernels that do not use the tensor cores; what it shows is that indices, bounds, strides and the
arithmetic are right, not that a card would agree on the rest.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernels.codegen.emission import StageCode

_SHIM = """
#include <cstdint>
#include <math.h>
#include <string.h>
#define __device__
#define __forceinline__ inline
#define __global__
#define __restrict__
#define __shared__ static
#define __launch_bounds__(...)
using __half = _Float16;
struct __nv_bfloat16 {
  uint16_t bits;
  __nv_bfloat16() = default;
  explicit __nv_bfloat16(float x) {
    uint32_t all;
    memcpy(&all, &x, 4);
    bits = x != x ? 0x7fc0 : uint16_t((all + 0x7fff + (all >> 16 & 1)) >> 16);
  }
  operator float() const { uint32_t all = uint32_t(bits) << 16; float x; memcpy(&x, &all, 4); return x; }
};
struct dim3 { unsigned x, y, z; dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {} };
using cudaStream_t = void*;
enum { cudaLaunchAttributeProgrammaticStreamSerialization = 1 };
struct cudaLaunchAttribute { int id; struct { int programmaticStreamSerializationAllowed; } val; };
struct cudaLaunchConfig_t {
  dim3 gridDim;
  unsigned blockDim;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  int numAttrs;
};
inline void cudaGridDependencySynchronize() {}
constexpr int cudaSuccess = 0;
inline int cudaGetLastError() { return 0; }
inline float rsqrt(float x) { return 1 / sqrtf(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline thread_local dim3 blockIdx, threadIdx, blockDim, gridDim;

template <class Kernel, class... Args>
void run_thread(Kernel kernel, dim3 grid, dim3 block, int threads, int thread, Args... args) {
  gridDim = grid; blockIdx = block; blockDim = dim3(threads); threadIdx = dim3(thread, 0, 0);
  kernel(args...);
}
"""
_ONE_AFTER_THE_OTHER = """
template <class... Args>
void run_block(int threads, Args... args) { for (int t = 0; t < threads; ++t) { (args(t), ...); } }
"""
_SIDE_BY_SIDE = """
#include <stdlib.h>
#include <ucontext.h>
// Threads take turns on one stack each: every one runs up to its next barrier before the first goes on.
struct Fiber { ucontext_t context; void* stack; bool done; };
inline ucontext_t scheduler;
inline Fiber fibers[1024];
inline int current;
inline void (*body)(int);
inline void __syncthreads() { swapcontext(&fibers[current].context, &scheduler); threadIdx.x = unsigned(current); }
template <class T>
inline T exchanged[1024];
template <class T>
T __shfl_xor_sync(unsigned, T value, int step) {
  exchanged<T>[current] = value;
  __syncthreads();
  T other = exchanged<T>[current ^ step];
  __syncthreads();
  return other;
}
inline void enter() { body(current); fibers[current].done = true; }
template <class Thread>
void run_block(int threads, Thread thread) {
  static Thread* running;
  running = &thread;
  body = [](int t) { (*running)(t); };
  for (int t = 0; t < threads; ++t) {
    Fiber& fiber = fibers[t];
    if (!fiber.stack) { fiber.stack = malloc(65536); }
    fiber.done = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = 65536;
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, enter, 0);
  }
  for (bool more = true; more;) {
    more = false;
    for (current = 0; current < threads; ++current) {
      if (fibers[current].done) { continue; }
      swapcontext(&scheduler, &fibers[current].context);
      more = true;
    }
  }
}
"""
_GRID = """
template <class Kernel, class... Args>
void launch(Kernel kernel, dim3 grid, int threads, Args... args) {
  for (unsigned z = 0; z < grid.z; ++z) for (unsigned y = 0; y < grid.y; ++y) for (unsigned x = 0; x < grid.x; ++x) {
    run_block(threads, [=](int thread) { run_thread(kernel, grid, dim3(x, y, z), threads, thread, args...); });
  }
}
template <class... Wanted, class... Args>
void cudaLaunchKernelEx(cudaLaunchConfig_t const* how, void (*kernel)(Wanted...), Args... args) {
  launch(kernel, how->gridDim, int(how->blockDim), Wanted(args)...);
}
"""
_GUARD, _UNTOUCHED = 64, 0xA5
_LAUNCH = re.compile(r"(\w+)<<<(\w+), (\w+), 0, .*>>>\(")


class Emulated:
    """A unit compiled for the CPU."""

    def __init__(self, code: StageCode, folder: Path) -> None:
        library = folder / f"{code.unit.symbol}.so"
        if not library.exists():
            compile_for_cpu(code.unit.source, library)
        self._code = code
        self._function = getattr(ctypes.CDLL(str(library)), code.unit.symbol)

    def __call__(self, inputs: Sequence[Any], result: Any) -> None:
        """Call with torch tensors, in the order of the code's pointers; asserts that the function returns 0."""
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (*inputs, result)]
        sizes = [ctypes.c_int64(size) for size in self._code.sizes]
        room = self._code.workspace_bytes
        workspace = (ctypes.c_ubyte * (room + _GUARD))(*[_UNTOUCHED] * (room + _GUARD))
        assert self._function(*pointers, *sizes, workspace, None) == 0
        assert bytes(workspace)[room:] == bytes([_UNTOUCHED] * _GUARD), "it wrote behind its workspace"


def compile_for_cpu(source: str, library: Path) -> None:
    """Build CUDA text as C++ for this machine; launches become loops."""
    text = _LAUNCH.sub(r"launch(\1, dim3(\2), \3, ", source)
    text = "\n".join(line for line in text.splitlines() if "#include <cuda" not in line)
    waits = "__syncthreads" in source or "__shfl" in source
    run_block = _SIDE_BY_SIDE if waits else _ONE_AFTER_THE_OTHER
    written = library.with_suffix(".cpp")
    written.write_text(_SHIM + run_block + _GRID + text, encoding="utf-8")
    # Two libraries must not share a template's shared memory through the dynamic linker.
    flags = ["-std=c++20", "-O0", "-shared", "-fPIC", "-fno-gnu-unique", "-pthread", "-ffp-contract=off"]
    subprocess.run(["g++", *flags, "-Wno-unknown-pragmas", str(written), "-o", str(library)], check=True)
