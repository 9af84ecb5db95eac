"""The record of a build: what was compiled, by what, how it ended, what it takes of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kernels.targets import Target


class BuildOutcome(StrEnum):
    """How a build ended."""

    BUILT = "built"
    FAILED = "failed"
    TIMEOUT = "timeout"
    NO_COMPILER = "no_compiler"
    DISK_FULL = "disk_full"


@dataclass(frozen=True, slots=True)
class Resources:
    """What ptxas says of one kernel. Bytes are bytes; spills are bytes a thread."""

    kernel: str
    registers: int
    spill_stores: int
    spill_loads: int
    stack_bytes: int
    shared_bytes: int | None


@dataclass(frozen=True, slots=True)
class UnitReport:
    """One unit's build. ``artifact`` is the cache key of the shared object, None unless it was built."""

    symbol: str
    outcome: BuildOutcome
    artifact: str | None
    artifact_bytes: int | None
    compiler: str | None
    command: str | None
    seconds: float
    cache_hit: bool
    log: str
    warnings: tuple[str, ...]
    resources: tuple[Resources, ...]


@dataclass(frozen=True, slots=True)
class BuildReport:
    """All units of a program for one target. ``libraries`` names versions used, as ``{"cutlass": "4.2.0"}``."""

    target: Target
    units: tuple[UnitReport, ...]
    seconds: float
    libraries: dict[str, str]

    @property
    def outcome(self) -> BuildOutcome:
        """The first outcome that is not ``built``, else ``built`` (a program without units is built)."""
        for unit in self.units:
            if unit.outcome is not BuildOutcome.BUILT:
                return unit.outcome
        return BuildOutcome.BUILT
