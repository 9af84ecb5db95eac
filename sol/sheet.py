"""What a problem's speed-of-light page shows, worked out from its inspection: no database, no request."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.problems.inspection import Inspection
from kernels.targets import Policy
from sol.bounds import Bounds, Device, Work, bound, count
from sol.bounds.table import OpRow, TensorRow, rows, tensors
from sol.roofline import Roofline, roofline

SHOWN = 12
"""Operations and tensors shown before the rest is folded away."""


@dataclass(frozen=True, slots=True)
class OpLine:
    """One operation and how long it would take by itself, unfused: the slower of its arithmetic and its bytes."""

    row: OpRow
    seconds: float
    share: float

    @property
    def moved(self) -> int:
        """Bytes it reads and writes."""
        return self.row.bytes_read + self.row.bytes_written


@dataclass(frozen=True, slots=True)
class Sheet:
    """Everything of the page but its choices. ``lines`` are sorted by time, ``tensors`` by bytes."""

    work: Work
    bounds: Bounds
    lines: tuple[OpLine, ...]
    tensors: tuple[TensorRow, ...]
    steering_arithmetic: tuple[str, ...]
    floor_arithmetic: tuple[str, ...]
    roofline: Roofline

    @property
    def top(self) -> tuple[OpLine, ...]:
        """The operations that take the most time by themselves."""
        return self.lines[:SHOWN]

    @property
    def rest(self) -> tuple[OpLine, ...]:
        """The others."""
        return self.lines[SHOWN:]

    @property
    def top_tensors(self) -> tuple[TensorRow, ...]:
        """The tensors that move the most bytes."""
        return self.tensors[:SHOWN]

    @property
    def rest_of_tensors(self) -> tuple[TensorRow, ...]:
        """The others."""
        return self.tensors[SHOWN:]

    @property
    def saved_by_fusing(self) -> float | None:
        """How many times fewer bytes a fused program moves than the operations one by one."""
        unfused = self.bounds.unfused_bytes
        return unfused / self.bounds.bytes if unfused and self.bounds.bytes else None


def sheet(inspection: Inspection, device: Device, policy: Policy) -> Sheet:
    """The page of one problem at one size, on one device, under one policy."""
    work = count(inspection)
    bounds = bound(work, inspection, device, policy)
    floor_lines = tuple(line for line in bounds.arithmetic if line.startswith("floor"))
    return Sheet(
        work=work,
        bounds=bounds,
        lines=_lines(rows(work, inspection), bounds, device),
        tensors=tensors(inspection),
        steering_arithmetic=tuple(line for line in bounds.arithmetic if line not in floor_lines),
        floor_arithmetic=floor_lines,
        roofline=roofline(bounds, device),
    )


def _lines(table: tuple[OpRow, ...], bounds: Bounds, device: Device) -> tuple[OpLine, ...]:
    rates = {(part.pipe, part.dtype.value): part.rate for part in bounds.pipes}
    timed = []
    for row in table:
        rate = rates.get((row.pipe, row.dtype)) if row.pipe != "none" else None
        seconds = max(row.flops / rate if rate else 0.0, (row.bytes_read + row.bytes_written) / device.copy_bytes_s)
        timed.append((row, seconds))
    total = sum(seconds for _, seconds in timed)
    lines = [OpLine(row, seconds, seconds / total if total else 0.0) for row, seconds in timed]
    return tuple(sorted(lines, key=lambda line: -line.seconds))
