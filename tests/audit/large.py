"""Honest candidates of any size, made by rule: many kernels, many functions, long tables."""

from __future__ import annotations

_KERNEL = """\
__global__ void step_{n}(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {{
  __shared__ float tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  float sum = 0.0f;
  for (int k = 0; k < columns; k += 32) {{
    if (row < rows && k + threadIdx.x < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + k + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 32; ++i) sum += tile[threadIdx.y][i] * {n}.0f;
    __syncthreads();
  }}
  if (row < rows && column < columns) y[row * columns + column] = sum > 0 ? sum : 0;
}}
void run_{n}(const float* x, float* y, int rows, int columns, cudaStream_t stream) {{
  dim3 blocks((columns + 31) / 32, (rows + 31) / 32), threads(32, 32);
  step_{n}<<<blocks, threads, 0, stream>>>(x, y, rows, columns);
}}
"""
_HELPER = """\
def tile_{n}(x, rows, columns):
    out = torch.empty((rows, columns), device=x.device, dtype=x.dtype)
    size = min(rows, {n} + 32)
    for start in range(0, rows, size):
        stop = min(start + size, rows)
        own.run(x[start:stop], out[start:stop], stop - start, columns)
    return out


"""


def kernels(count: int) -> str:
    """So many kernels, each with the function that launches it; about 210 words and marks each."""
    return "#include <cuda_runtime.h>\n" + "".join(_KERNEL.format(n=n) for n in range(count))


def cuda(count: int) -> str:
    """A source by the launch ABI."""
    calls = "".join(f"  run_{n}(x, y, 512, 512, stream);\n" for n in range(count))
    return (
        kernels(count)
        + 'extern "C" int mucutlass_launch(void** inputs, void** outputs, void* workspace, cudaStream_t stream) {\n'
        + "  const float* x = (const float*)inputs[0];\n  float* y = (float*)outputs[0];\n"
        + calls
        + "  return (int)cudaGetLastError();\n}\n"
    )


def inline(count: int) -> str:
    """A Python file that builds so many kernels from a string."""
    names = ", ".join(f'"run_{n}"' for n in range(count))
    calls = "".join(f"        own.run_{n}(x, y, 512, 512)\n" for n in range(count))
    return (
        "import torch\nfrom torch.utils.cpp_extension import load_inline\n\nSOURCE = r'''\n"
        + kernels(count)
        + f"'''\nown = load_inline('own', cpp_sources='', cuda_sources=SOURCE, functions=[{names}])\n\n\n"
        + "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n        y = torch.empty_like(x)\n"
        + calls
        + "        return y\n"
    )


def helpers(count: int) -> str:
    """A Python file with so many functions of its own; about 70 words and marks each."""
    calls = "".join(f"        y = tile_{n}(y, 512, 512)\n" for n in range(count))
    return (
        "import torch\nfrom torch.utils.cpp_extension import load\n\nown = load('own', ['own.cu'])\n\n\n"
        + "".join(_HELPER.format(n=n) for n in range(count))
        + "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n        y = x\n"
        + calls
        + "        return y\n"
    )


def table(count: int) -> str:
    """A source whose constants are a table of so many numbers."""
    numbers = ", ".join(f"{n % 977}.5f" for n in range(count))
    return f"static const float table[] = {{ {numbers} }};\n" + cuda(1)


MADE = {"cuda.cu": cuda, "inline.py": inline, "helpers.py": helpers, "table.cu": table}
"""Each with how to make it by a count."""
