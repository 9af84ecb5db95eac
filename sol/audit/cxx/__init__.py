"""C++ and CUDA C++ as text: tokens, functions, kernels and launches. Nothing here compiles or runs a line of it."""

from __future__ import annotations
