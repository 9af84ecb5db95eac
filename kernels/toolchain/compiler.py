"""What every compiler of the tool chain offers; ``gxx`` and ``nvcc`` implement it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kernels.codegen.emission import Unit
from kernels.toolchain.report import BuildOutcome, Resources


@dataclass(frozen=True, slots=True)
class Compilation:
    """One run of a compiler. ``log`` is what it printed (capped), ``command`` what was run, no machine paths."""

    outcome: BuildOutcome
    command: str
    log: str
    warnings: tuple[str, ...]
    resources: tuple[Resources, ...]


class Compiler(Protocol):
    """Makes a shared object of one unit."""

    def identity(self) -> str:
        """Name, version, flags and library versions: whatever changes the output. Part of the cache key."""
        ...

    def version(self) -> str:
        """For people: ``g++ 12.2.0``."""
        ...

    def libraries(self) -> dict[str, str]:
        """Library versions used, as ``{"cutlass": "4.2.0"}``."""
        ...

    def compile(
        self, unit: Unit, output: Path, time_limit_s: float, cancelled: Callable[[], bool] | None = None
    ) -> Compilation:
        """Write the shared object to ``output``; its folder is the compiler's to work in. Never raises OSError for
        a full disk: that is an outcome. Where ``cancelled`` turns true the compiler is killed and BuildCancelled
        raised."""
        ...
