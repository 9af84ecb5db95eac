"""A first text for a hand-written kernel: the launch function with every tensor of the problem named, no work in it.

As it stands it compiles, launches and leaves zeros, so that its evaluation is ``incorrect`` until work is put in.
"""

from __future__ import annotations

from kernels.languages import Language
from kernels.problems.inspection import Signature, TensorSpec
from kernels.raw.header import HEADER, LAUNCH, inputs_of
from kernels.raw.names import identifiers

_SIGNATURE = (
    f'extern "C" int {LAUNCH}(const void* const* inputs, void* const* outputs, void* workspace, void* stream) {{'
)
_CUDA_KERNEL = """\
template <typename T>
__global__ void fill_with_zero(T* to, std::int64_t count) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) to[i] = T(0.0f);
}
"""


def skeleton(signature: Signature, language: Language) -> str:
    """The text, for a .cu or a .cpp source."""
    read, written = inputs_of(signature), signature.outputs
    words = identifiers(spec.name for spec in (*read, *written))
    cuda = language is Language.CU
    lines = [f'#include "{HEADER}"', ""]
    lines += ["#include <cuda_runtime.h>", "", _CUDA_KERNEL] if cuda else []
    lines.append(_SIGNATURE)
    lines += [_named(spec, word, "inputs", const=True) for spec, word in zip(read, words, strict=False)]
    results = words[len(read) :]
    lines += [_named(spec, word, "outputs", const=False) for spec, word in zip(written, results, strict=True)]
    unused = [*words[: len(read)], "workspace", *([] if cuda else ["stream"])]
    lines.append("  " + " ".join(f"(void){word};" for word in unused))
    if cuda:
        lines += [_cuda_fill(word) for word in results]
        lines.append("  return cudaGetLastError();")
    else:
        lines += [f"  for (std::int64_t i = 0; i < problem::{word}::size; ++i) {word}[i] = 0;" for word in results]
        lines.append("  return 0;")
    return "\n".join([*lines, "}", ""])


def _named(spec: TensorSpec, word: str, array: str, *, const: bool) -> str:
    auto = "const auto*" if const else "auto*"
    return f"  {auto} {word} = problem::{word}::of({array});  // {spec.dtype}{list(spec.shape)}"


def _cuda_fill(word: str) -> str:
    blocks = f"(problem::{word}::size + 255) / 256"
    call = f"fill_with_zero<<<{blocks}, 256, 0, cudaStream_t(stream)>>>({word}, problem::{word}::size);"
    return f"  {call}"
