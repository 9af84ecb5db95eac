"""C++ in, shared objects and a report out, through a cache that workers share."""

from __future__ import annotations

from kernels.toolchain.build import available, build
from kernels.toolchain.cache import Cache

__all__ = ["Cache", "available", "build"]
