"""Hand-written C++ and CUDA C++ by the raw launch ABI: from a source and a problem's signature to an emission.

Pure text: nothing is compiled or run here, and the source is passed on byte for byte.
"""

from __future__ import annotations

from kernels.raw.emission import emit_raw
from kernels.raw.header import problem_header
from kernels.raw.skeleton import skeleton

__all__ = ["emit_raw", "problem_header", "skeleton"]
