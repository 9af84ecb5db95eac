"""Which compiler serves a unit's language on this machine."""

from __future__ import annotations

from kernels.targets import Target
from kernels.toolchain import gxx
from kernels.toolchain.compiler import Compiler

MISSING = {
    "c++": "there is no g++ on PATH; install g++ (Debian: apt install g++)",
    "cuda": "there is no CUDA compiler; install nvcc or this package's extra 'cuda'",
}
"""What to say where there is none."""


def for_language(language: str, target: Target) -> Compiler | None:
    """The compiler of ``c++`` or ``cuda`` units, set to a target's machine code, or None."""
    if language == "c++":
        return gxx.find()
    # Looking for nvcc walks wheels and tool kits; a host build has no need of it.
    from kernels.toolchain import nvcc

    return nvcc.find(target)
