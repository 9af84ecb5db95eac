"""The generated ``problem.h``: what a hand-written source knows of its problem at compile time.

One struct a tensor, with element type, dimensions, size and a typed view of its pointer. All tensors are dense and
row-major. The same signature and language give the same bytes.
"""

from __future__ import annotations

import json
import math
from typing import Any

from kernels.dtypes import DType
from kernels.languages import Language
from kernels.problems.inspection import Signature, TensorSpec
from kernels.raw.names import CUDA_HEADERS, CUDA_TYPES, HOST_TYPES, identifiers

HEADER = "problem.h"
LAUNCH = "mucutlass_launch"
WORKSPACE = "mucutlass_workspace_bytes"

_DECLARATIONS = f"""\
// Yours to define: do the work of one call on the stream and return 0, or an error code (12 means out of memory).
extern "C" int {LAUNCH}(const void* const* inputs, void* const* outputs, void* workspace, void* stream);

// Yours to define where scratch memory is needed: how many bytes of it each call may use.
extern "C" ::std::size_t {WORKSPACE}();
"""


def inputs_of(signature: Signature) -> tuple[TensorSpec, ...]:
    """What a launch reads, in its order: forward's tensors, then the tensors of the state_dict."""
    return (*signature.inputs, *signature.parameters)


def problem_header(signature: Signature, language: Language) -> str:
    """The text of ``problem.h`` for a signature; element types are those of g++ for .cpp and of CUDA for .cu."""
    read, written = inputs_of(signature), signature.outputs
    words = identifiers(spec.name for spec in (*read, *written))
    blocks = [
        _struct(spec, word, index, language, written=False)
        for index, (spec, word) in enumerate(zip(read, words, strict=False))
    ]
    blocks += [
        _struct(spec, word, index, language, written=True)
        for index, (spec, word) in enumerate(zip(written, words[len(read) :], strict=True))
    ]
    constants = [_constant(position, value) for position, value in sorted(signature.constants.items())]
    head = ["// Made from the problem's signature. Sizes are in elements; every tensor is dense and row-major.",
            "#pragma once", "", *_includes((*read, *written), language), "", "namespace problem {", "",
            f"inline constexpr int input_count = {len(read)};",
            f"inline constexpr int output_count = {len(written)};", *constants, ""]  # fmt: skip
    return "\n".join([*head, "\n\n".join(blocks), "", "}  // namespace problem", "", _DECLARATIONS])


def _includes(specs: tuple[TensorSpec, ...], language: Language) -> list[str]:
    found = ["cstddef", "cstdint"]
    if language is Language.CU:
        types = {spec.dtype for spec in specs}
        found += sorted({header for dtype, header in CUDA_HEADERS.items() if dtype in types})
    return [f"#include <{header}>" for header in found]


def _struct(spec: TensorSpec, word: str, index: int, language: Language, *, written: bool) -> str:
    name = CUDA_TYPES[spec.dtype] if language is Language.CU else HOST_TYPES[spec.dtype]
    bits = language is Language.CPP and spec.dtype in (DType.BF16, DType.F8E4M3, DType.F8E5M2)
    place = f"{'outputs' if written else 'inputs'}[{index}]"
    called = " ".join(spec.name.split())[:80].rstrip("\\")
    lines = [
        f"// {place}: {called}, {spec.dtype}{list(spec.shape)}{', as its bits' if bits else ''}",
        f"struct {word} {{",
        f"  using type = {name};",
        f"  static constexpr int index = {index};",
        f"  static constexpr int rank = {len(spec.shape)};",
        *(f"  static constexpr ::std::int64_t d{axis} = {extent};" for axis, extent in enumerate(spec.shape)),
        f"  static constexpr ::std::int64_t size = {spec.elements};",
    ]
    if written:
        lines.append("  static type* of(void* const* outputs) { return static_cast<type*>(outputs[index]); }")
    else:
        cast = "static_cast<const type*>(inputs[index])"
        lines.append(f"  static const type* of(const void* const* inputs) {{ return {cast}; }}")
    return "\n".join([*lines, "};"])


def _constant(position: int, value: Any) -> str:
    """An argument of forward that is no tensor, by its position; what C++ has no literal for is only mentioned."""
    name = f"argument_{position}"
    if isinstance(value, bool):
        return f"inline constexpr bool {name} = {'true' if value else 'false'};"
    if isinstance(value, int) and -(2**63) < value < 2**63:
        return f"inline constexpr ::std::int64_t {name} = {value};"
    if isinstance(value, float) and math.isfinite(value):
        return f"inline constexpr double {name} = {value!r};"
    if isinstance(value, str) and value.isascii() and value.isprintable():
        return f"inline constexpr const char* {name} = {json.dumps(value)};"
    shown = " ".join(repr(value).split())[:80].rstrip("\\")
    return f"// argument {position} of forward: {shown}"
