"""A device's roofline as SVG coordinates, with one problem's place under it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sol.bounds import Bounds, Device
from sol.bounds.units import amount

LEFT, TOP, WIDTH, HEIGHT = 56, 14, 396, 176
"""Where the plot lies in its 464 × 220 frame."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and its words."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Roofline:
    """``roof`` is the path of both bounds; the dot stands where the problem's intensity meets it.

    ``x`` is None for a problem without arithmetic: it has no place on a logarithmic axis.
    """

    roof: str
    ridge_x: float
    ridge: str
    peak: str
    slope: str
    x: float | None
    y: float
    label: str
    intensities: tuple[Tick, ...]
    rates: tuple[Tick, ...]


def roofline(bounds: Bounds, device: Device) -> Roofline:
    """Intensity in FLOP per byte against FLOP per second, both axes logarithmic, wide enough for the problem."""
    top_rate = bounds.ridge * device.copy_bytes_s
    intensity = bounds.intensity if bounds.intensity > 0 else None
    low = min(-1, math.floor(math.log10(intensity or bounds.ridge)))
    high = max(math.ceil(math.log10(bounds.ridge)) + 1, math.ceil(math.log10(intensity or 1)))
    bottom = math.floor(math.log10(device.copy_bytes_s) + low)
    ceiling = math.ceil(math.log10(top_rate))

    def across(value: float) -> float:
        return round(LEFT + WIDTH * (math.log10(value) - low) / (high - low), 1)

    def up(rate: float) -> float:
        share = (math.log10(rate) - bottom) / (ceiling - bottom)
        return round(TOP + HEIGHT * (1 - min(max(share, 0.0), 1.0)), 1)

    attained = bounds.flops / bounds.steering_s if bounds.flops and bounds.steering_s else 0.0
    return Roofline(
        roof=f"M{LEFT} {up(10**low * device.copy_bytes_s)}L{across(bounds.ridge)} {up(top_rate)}H{LEFT + WIDTH}",
        ridge_x=across(bounds.ridge),
        ridge=f"ridge {_three(bounds.ridge)}",
        peak=amount(top_rate, "FLOP/s"),
        slope=amount(device.copy_bytes_s, "B/s"),
        x=across(intensity) if intensity is not None and attained else None,
        y=up(attained) if attained else TOP + HEIGHT,
        label=f"{_three(bounds.intensity)} FLOP/B",
        intensities=tuple(Tick(across(10.0**power), _power(power)) for power in range(low, high + 1)),
        rates=tuple(Tick(up(10.0**power), amount(10.0**power, "")) for power in range(bottom, ceiling + 1)),
    )


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _power(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"
