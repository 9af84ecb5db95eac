"""Profiles side by side: of each candidate the launch that took longest, quantity by quantity.

Times were taken under the profiler and say nothing of how fast a candidate is; no quantity here is better by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernels.profiling import tables
from kernels.profiling.metrics import METRICS, metric_of
from kernels.profiling.record import KernelProfile
from runs import figures
from runs.comparing import cells
from runs.comparing.cells import Cell, Group, Line
from runs.comparing.sides import Side

_PARTS: tuple[tuple[str, Callable[[KernelProfile], tuple[tables.Row, ...]]], ...] = (
    ("Share of what each unit can sustain", tables.speed_rows),
    ("Occupancy", tables.occupancy_rows),
    ("Blocks a multiprocessor, by each resource", tables.limit_rows),
    ("Launch", tables.launch_rows),
    ("Memory", tables.memory_rows),
    ("Pipes", tables.pipe_rows),
    ("Schedulers", tables.schedule_rows),
)
_PLACES = {metric_of(metric.place): metric.place for metric in METRICS}


def counters(found: Sequence[Side]) -> list[Group]:
    """A group a section of the candidate page's profile; none where fewer than two have figures."""
    if sum(side.longest is not None for side in found) < 2:
        return []
    launches = [len(side.profile.kernels) if side.profile else None for side in found]
    total = [side.profile.total_s if side.profile else None for side in found]
    why = [side.why_no_profile for side in found]
    whole = Group(
        "The call under the profiler",
        (
            cells.numbers("Launches", launches, lambda value: f"{value:.0f}", cells.COUNT, why=why),
            cells.texts("Longest launch", [_short(side.longest) for side in found], why=why),
            cells.numbers("All launches", total, lambda value: figures.significant(value * 1e6), cells.SPAN,
                          hint="μs under the profiler", why=why),
        ),
    )  # fmt: skip
    return [whole, *(Group(title, _lines(found, rows)) for title, rows in _PARTS)]


def _lines(found: Sequence[Side], rows: Callable[[KernelProfile], tuple[tables.Row, ...]]) -> tuple[Line, ...]:
    made = [{row.name: row for row in rows(side.longest)} if side.longest else {} for side in found]
    return tuple(_line(name, found, made) for name in dict.fromkeys(name for one in made for name in one))


def _line(name: str, found: Sequence[Side], made: Sequence[dict[str, tables.Row]]) -> Line:
    base = _value(found[0], made[0].get(name))
    cut = []
    for index, (side, rows) in enumerate(zip(found, made, strict=True)):
        row, value = rows.get(name), _value(side, rows.get(name))
        why = side.why_no_profile if side.longest is None else "the profiler gave no figure"
        share = row is not None and row.share is not None and value is not None and base is not None
        delta = ""
        if index and share and value is not None and base is not None:
            delta = cells.difference(value / 100, base / 100, cells.SIZE, points=True)
        elif index:
            delta = cells.difference(value, base, cells.AMOUNT)
        cut.append(Cell(row.text if row else None, why, delta, value=value))
    return Line(name, tuple(cut), number=True)


def _value(side: Side, row: tables.Row | None) -> float | None:
    """The raw figure behind a row, None where there is none or it is no number."""
    place = _PLACES.get(row.metric) if row is not None else None
    if place is None or side.longest is None:
        return None
    group, _, field = place.rpartition(".")
    value = getattr(getattr(side.longest, group) if group else side.longest, field)
    return float(value) if value is not None else None


def _short(kernel: KernelProfile | None) -> str | None:
    return kernel.name.removeprefix("void ")[:120] if kernel is not None else None
