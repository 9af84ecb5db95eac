"""Numbers with units, as a person writes them: four digits, SI prefixes."""

from __future__ import annotations

_LARGE = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SMALL = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def amount(value: float, unit: str) -> str:
    """``amount(4.948e14, "FLOP/s")`` -> ``494.8 TFLOP/s``."""
    for size, prefix in _LARGE:
        if abs(value) >= size:
            return f"{value / size:.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}"


def seconds(value: float) -> str:
    """``seconds(0.0001389)`` -> ``138.9 µs``."""
    for size, unit in _SMALL:
        if abs(value) >= size:
            return f"{value / size:.4g} {unit}"
    return "0 s" if value == 0 else f"{value / 1e-9:.3g} ns"
