"""The sm_90a target: CUTLASS 3.x collectives for matrix products, own CUDA kernels for the rest."""

from __future__ import annotations

from kernels.codegen.sm90a.stage import emit_stage

__all__ = ["emit_stage"]
