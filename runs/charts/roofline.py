"""The roofline of a run's device with every candidate: the problem's intensity against the arithmetic it achieved.

Achieved FLOP/s are the reference's FLOPs over the candidate's time: one that does less work by algebra may lie above
a roof, and honestly. Both axes are logarithmic. A problem without arithmetic has no place on them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from runs import figures
from runs.charts import template as t
from runs.charts.clusters import Cluster, clusters
from runs.charts.tables import Column, Row, Table
from runs.readings import Reading, Step
from sol.bounds.record import Device
from sol.gap.standing import Held


def placed(readings: Sequence[Reading]) -> list[Reading]:
    """Problems whose intensity and work are known and not zero."""
    return [one for one in readings if one.flops and one.intensity]


def achieved(one: Reading, step: Step) -> float:
    """FLOP/s of the reference's work in the candidate's time."""
    return (one.flops or 0.0) / (step.time_s or math.inf)


def ceilings(device: Device) -> list[tuple[str, float]]:
    """Arithmetic roofs by name, highest first: each element type's matrix rate, and FP32's vector rate where lower."""
    found = dict(device.matrix_flops)
    vector = device.vector_flops.get("f32")
    if vector and vector != found.get("f32"):
        found["f32 vector"] = vector
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def roofline_chart(
    readings: Sequence[Reading], device: Device | None, address: t.Address, merged: Sequence[Cluster] | None = None
) -> t.Figure:
    """Without a device no roof is drawn, without a problem that has a place no point. ``merged``: see ``clusters``."""
    rows = placed(readings)
    known = set(map(id, rows))
    parts = [part for part in (clusters(rows)[0] if merged is None else merged) if id(part.reading) in known]
    alone = [part for part in parts if len(part.steps) == 1]
    several = [part for part in parts if len(part.steps) > 1]
    best = [Cluster(one, (one.best,)) for one in rows if one.best]
    held = [Cluster(one, (step,)) for one in rows for step in one.waiting]
    hacked = [Cluster(one, (step,)) for one in rows for step in one.hacked]
    rates = [achieved(part.reading, part.steps[0]) for part in (*parts, *best, *held, *hacked)]
    x_range, y_range = _ranges(rows, rates, device)
    data = [
        *(_roofs(device, x_range) if device else []),
        t.marks([_point(part, address) for part in alone], t.OTHER),
        t.marks([_point(part, address) for part in several], t.SEVERAL),
        t.marks([_point(part, address, "best ") for part in best], t.BEST._replace(size=8)),
        t.marks([_point(part, address) for part in held], t.HELD),
        t.marks([_point(part, address) for part in hacked], t.HACKED),
    ]
    layout = {
        "height": 320, "margin": {"l": 84, "r": 18, "t": 12, "b": 42},
        "annotations": _names(device, x_range, y_range) if device else [],
        "xaxis": {**_decades(x_range), "title": {"text": "arithmetic intensity, FLOP/B"}},
        "yaxis": {**_decades(y_range, "FLOP/s")},
    }  # fmt: skip
    return t.figure(data, layout)


def _ranges(
    rows: Sequence[Reading], rates: Sequence[float], device: Device | None
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Powers of ten at the ends of both axes."""
    x = [one.intensity for one in rows if one.intensity]
    y = list(rates)
    if device is not None:
        top = ceilings(device)[0][1]
        x += [top / device.copy_bytes_s * 4, 0.5]
        y += [top * 2, top / 100]
    x, y = x or [0.1, 100.0], y or [1e9, 1e12]
    return _around(x), _around(y)


def _around(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values) * 0.8)), math.ceil(math.log10(max(values) * 1.25))
    return low, max(high, low + 1)


def _decades(ends: tuple[int, int], unit: str = "") -> dict[str, Any]:
    step = max(1, math.ceil((ends[1] - ends[0]) / 7))
    powers = [power for power in range(ends[0], ends[1] + 1) if power % step == 0]
    texts = [
        figures.scaled(10.0**p, unit) if unit else (f"{10**p:,}" if p >= 0 else f"{10.0**p:g}") for p in powers
    ]
    return {"type": "log", "range": list(ends), "tickvals": [10.0**p for p in powers], "ticktext": texts}


def _roofs(device: Device, x_range: tuple[int, int]) -> list[t.Trace]:
    """The memory roof up to the highest ceiling, that ceiling, and the lower ones dotted."""
    (_, top), *lower = ceilings(device)
    low, high, copy = 10.0 ** x_range[0], 10.0 ** x_range[1], device.copy_bytes_s
    roofs = [t.line([low, top / copy, high], [low * copy, top, top], "--sol", 1.75)]
    roofs += [t.line([rate / copy, high], [rate, rate], "--sol", 1.25, dash="1px,3px") for _, rate in lower]
    return roofs


def _names(device: Device, x_range: tuple[int, int], y_range: tuple[int, int]) -> list[dict[str, Any]]:
    """Each roof with its name and rate: ceilings above their right end where there is room, memory along its slope."""
    found, last = [], math.inf
    room = (y_range[1] - y_range[0]) / 17
    for name, rate in ceilings(device):
        at = math.log10(rate)
        if last - at < room:
            continue
        last = at
        text = f"{t.plain(name)} {figures.scaled(rate, 'FLOP/s')}"
        found.append(t.note(text, "--sol", x=x_range[1], y=at, xanchor="right", yanchor="bottom"))
    # Its right end on the slope, well before the ridge: the text lies over the roof, on nothing.
    copy = math.log10(device.copy_bytes_s)
    low = max(x_range[0], y_range[0] - copy)
    at = low + 0.7 * (math.log10(ceilings(device)[0][1]) - copy - low)
    place = {"x": at, "y": at + copy, "xanchor": "right", "yanchor": "bottom", "xshift": -4, "yshift": 2}
    return [
        *found,
        t.note(f"memory {figures.scaled(device.copy_bytes_s, 'B/s')}", "--sol", **place, bgcolor="--bg"),
    ]


def _point(part: Cluster, address: t.Address, word: str = "") -> t.Point:
    one, step = part.reading, part.steps[0]
    rate = achieved(one, step)
    fastest = figures.scaled(rate, "FLOP/s")
    if len(part.steps) > 1:
        slowest = figures.scaled(achieved(one, part.steps[-1]), "FLOP/s")
        sentence = f"{one.title}: {len(part.steps)} attempts, {slowest} to {fastest}; the fastest is #{step.number}"
    else:
        words = one.told(step)
        sentence = f"{one.title}, {word}#{step.number}: {fastest}{f'; {words}' if words else ''}"
    return t.Point(one.intensity or 0.0, rate, address(one.slug, step.number), sentence)


_COLUMNS = (
    Column("problem", "Problem"),
    Column("attempt", "Attempt", "count"),
    Column("standing", "Counts as"),
    Column("intensity_flop_per_byte", "FLOP/B", "number"),
    Column("flops", "FLOP of the reference", "number"),
    Column("time_s", "Time, ms", "ms"),
    Column("achieved_flop_per_s", "Achieved", "rate"),
)


def roofline_table(readings: Sequence[Reading], address: t.Address) -> Table:
    """Each measured attempt; the page shows the best of each problem and those that do not count."""
    rows = []
    for one in placed(readings):
        for step in one.steps:
            if step.time_s is None:
                continue
            word = Held(step.held).word if step.held else "best" if step == one.best else "other"
            values = (
                one.slug, step.number, word, one.intensity, one.flops, step.time_s, achieved(one, step)
            )  # fmt: skip
            rows.append(Row(values, address(one.slug, step.number), aside=word == "other"))
    return Table("Each problem's best attempt, and those that do not count", _COLUMNS, rows)
