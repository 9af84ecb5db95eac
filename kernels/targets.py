"""What a program can be compiled for, and how FP32 data may be multiplied in a run."""

from __future__ import annotations

from enum import StrEnum


class Target(StrEnum):
    """Where the generated code runs."""

    HOST = "host"
    SM80 = "sm_80"
    SM90A = "sm_90a"

    @property
    def is_cuda(self) -> bool:
        """Whether it takes nvcc and a card."""
        return self is not Target.HOST


class Policy(StrEnum):
    """The lowest precision a run allows for FP32 problems; it names the steering bound (docs/concepts.md)."""

    STRICT = "strict"
    TF32 = "tf32"
    HALF = "half"
