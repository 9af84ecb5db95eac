"""The sm_80 target: CUTLASS 2.x kernels for matrix products, own CUDA kernels for the rest."""

from __future__ import annotations

from kernels.codegen.sm80.stage import emit_stage

__all__ = ["emit_stage"]
