"""Programs as single Python files in KernelBench's ``ModelNew`` form. Pure text: no torch, nothing is run here."""

from __future__ import annotations

from kernels.export.model_new import export

__all__ = ["export"]
