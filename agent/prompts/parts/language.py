"""What a model must know to write in the run's representation: the language reference, the launch ABI, or ModelNew.

In versions of falling length, so that a short prompt has the knobs and rules at least.
"""

from __future__ import annotations

from functools import cache

from agent.prompts.fitting import Part, renditions
from agent.prompts.scene import Scene
from kernels.dsl import reference
from kernels.languages import Language
from kernels.targets import Target

NAME = "language reference"
_ABI = """\
# Launch ABI

One source, complete in itself. It defines

```c++
extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void* workspace, void* stream);
extern "C" std::size_t mucutlass_workspace_bytes();  // only where scratch memory is needed
```

- `#include "problem.h"` brings these declarations and a struct for each tensor: `problem::x::type`, `rank`, `d0`,
  `d1`, …, `size` (elements), `index`, and `of(inputs)` or `of(outputs)`, its typed pointer. All are compile-time
  constants but the pointers. `linear.weight` is `problem::linear_weight`. Arguments of forward that are no tensors
  are `problem::argument_1` by position.
- inputs: forward's tensors in order, then the state_dict's in order; never written to. outputs: the results in order,
  filled with NaN before the call. All dense and row-major.
- workspace: as many bytes as mucutlass_workspace_bytes() returned once, at load; arbitrary contents in each call.
- Return 0, or an error code."""
_CUDA = """\
- stream: a cudaStream_t on which all work must be; do not synchronise. `return cudaGetLastError();` is a good end.
- nvcc compiles it as C++17 for {arch} with the headers of CUTLASS 4.2 and CuTe (`#include "cute/tensor.hpp"`,
  `#include "cutlass/gemm/device/gemm_universal_adapter.h"`). No cuBLAS, no torch, no other file. Wrap kernels in a
  namespace without a name; set cudaFuncAttributeMaxDynamicSharedMemorySize where a kernel takes more than 48 KiB.
- The functions cutlass_list, cutlass_search and cutlass_read, where you are offered them, look into that tree. Check
  a template's parameters there before you use it; a few calls an answer."""
_CPP = """\
- stream is null: it runs on the CPU. g++ compiles it with -O3 -march=native -fopenmp, C++20; 16- and 8-bit floats
  but _Float16 are their bits. Intrinsics (`#include <immintrin.h>`) and `#pragma omp` are there; no library, no other
  file. An exception that leaves the function ends the process."""
_MODEL_NEW = """\
# ModelNew

One Python file that defines `class ModelNew(torch.nn.Module)`, as KernelBench has it:

```python
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return (x + self.bias).clamp_min(0)
```

- The constructor takes what `get_init_inputs()` gives, `forward` what `get_inputs()` gives, and returns what the
  problem's `forward` returns: plain dense tensors on the same device.
- Weights are copied from the reference's state_dict by name and shape: keep the names and shapes of its parameters.
- `torch.utils.cpp_extension.load_inline` {triton}may build kernels; that happens once, outside the timed calls, within
  a time limit. Nothing can be downloaded.
- Work with your own kernels: a call that only rearranges library calls is no kernel, though it is measured."""


def language(scene: Scene, most: int) -> Part:
    """The part; 0 is its rank, since nothing can be written without it."""
    return Part(NAME, 0, most, renditions(*versions(scene.language, scene.started.target)))


@cache
def versions(language: Language, target: Target) -> tuple[tuple[str, str], ...]:
    """The text in falling length, each with what it leaves out."""
    if language is Language.PY:
        triton = "and Triton " if target.is_cuda else ""
        return ((_MODEL_NEW.replace("{triton}", triton), ""),)
    if language.is_raw:
        rest = _CUDA.replace("{arch}", target.value) if language is Language.CU else _CPP
        return ((f"{_ABI}\n{rest}", ""),)
    text = reference(target).rstrip()
    head, *sections = text.split("\n## ")
    named = {section.partition("\n")[0].split(",")[0].split(":")[0]: f"\n## {section}" for section in sections}
    dropped = ("Functions", "Element types", "Views (free)")
    shorter = head + "".join(section for name, section in named.items() if name not in dropped)
    knobs = "# μCUTLASS: knobs and rules\n" + named["Knobs"] + named["Rules"]
    return (
        (text, ""),
        (shorter, f"{NAME}: views, functions and element types"),
        (knobs, f"{NAME}: all but knobs and rules"),
        ("# μCUTLASS: knobs\n" + named["Knobs"], f"{NAME}: all but knobs"),
    )
