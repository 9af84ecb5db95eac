"""Names of a problem's tensors as C++ sees them, and the C++ types of their elements."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernels.dtypes import DType

HOST_TYPES = {
    DType.F64: "double",
    DType.F32: "float",
    DType.F16: "_Float16",
    DType.BF16: "::std::uint16_t",
    DType.F8E4M3: "::std::uint8_t",
    DType.F8E5M2: "::std::uint8_t",
    DType.I64: "::std::int64_t",
    DType.I32: "::std::int32_t",
    DType.I16: "::std::int16_t",
    DType.I8: "::std::int8_t",
    DType.U8: "::std::uint8_t",
    DType.BOOL: "bool",
}
"""g++ has no arithmetic of bf16 and of the 8-bit floats: there a value is its bits."""

CUDA_TYPES = {
    **HOST_TYPES,
    DType.F16: "__half",
    DType.BF16: "__nv_bfloat16",
    DType.F8E4M3: "__nv_fp8_e4m3",
    DType.F8E5M2: "__nv_fp8_e5m2",
}
CUDA_HEADERS = {
    DType.F16: "cuda_fp16.h",
    DType.BF16: "cuda_bf16.h",
    DType.F8E4M3: "cuda_fp8.h",
    DType.F8E5M2: "cuda_fp8.h",
}

_NO_LETTER = re.compile(r"[^A-Za-z0-9_]")
_RESERVED = """
alignas alignof and asm auto bool break case catch char class compl concept const consteval constexpr constinit
continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
extern false final float for friend goto if import inline int long module mutable namespace new noexcept not
nullptr operator or override private protected public register requires return short signed sizeof static
static_assert struct switch template this thread_local throw true try typedef typeid typename union unsigned
using virtual void volatile wchar_t while xor and_eq bitand bitor not_eq or_eq xor_eq std problem inputs outputs
workspace stream
"""
_TAKEN = frozenset(re.split(r"\s+", _RESERVED.strip()))


def identifiers(names: Iterable[str]) -> list[str]:
    """A C++ identifier for each name, in order, no two alike: ``linear.weight`` becomes ``linear_weight``.

    A name that C++ or the launch function has taken gets an underscore behind it, one that is there already a number.
    """
    given: list[str] = []
    seen: set[str] = set()
    for name in names:
        word = _NO_LETTER.sub("_", name).strip("_") or "tensor"
        word = re.sub("__+", "_", word)
        if word[0].isdigit():
            word = f"t{word}"
        if word in _TAKEN:
            word = f"{word}_"
        chosen, number = word, 2
        while chosen in seen:
            chosen, number = f"{word}_{number}", number + 1
        seen.add(chosen)
        given.append(chosen)
    return given
