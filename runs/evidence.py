"""Flags as pages show them: numbered, the gravest first, with their lines and their figures with units. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from runs import figures
from sol.audit import DETECTORS
from sol.audit.record import Flag, Place, Severity
from sol.audit.tricks import Trick


@dataclass(frozen=True)
class Seen:
    """One flag with its number on the page, from 1."""

    number: int
    flag: Flag

    @property
    def trick(self) -> Trick:
        """What it would be."""
        return self.flag.trick

    @property
    def severity(self) -> Severity:
        """How grave it would be."""
        return self.flag.severity

    @property
    def places(self) -> tuple[Place, ...]:
        """Where it was seen."""
        return self.flag.evidence.places

    @cached_property
    def figures(self) -> tuple[tuple[str, str], ...]:
        """Name and text of each number that it rests on."""
        return tuple(figure(name, value) for name, value in self.flag.evidence.figures.items())


@dataclass(frozen=True, slots=True)
class Mark:
    """What a line of code shows: the gravest severity of the flags about it, the numbers of those that begin on it,
    and of all that are about it."""

    severity: Severity
    pins: tuple[int, ...]
    about: tuple[int, ...] = ()


def numbered(flags: Iterable[Flag]) -> tuple[Seen, ...]:
    """The flags, the gravest first, numbered."""
    ordered = sorted(flags, key=lambda flag: flag.gravity, reverse=True)
    return tuple(Seen(number, flag) for number, flag in enumerate(ordered, 1))


def marks_of(seen: Iterable[Seen], lines: int) -> dict[int, Mark]:
    """The marks of a text of so many lines, by line from 1."""
    about: dict[int, list[Seen]] = {}
    pins: dict[int, list[int]] = {}
    for one in seen:
        for place in one.places:
            if place.first <= lines:
                pins.setdefault(place.first, []).append(one.number)
            for line in range(place.first, min(place.last, lines) + 1):
                about.setdefault(line, []).append(one)
    found = {}
    for line, flags in about.items():
        gravest = max((one.severity for one in flags), key=lambda severity: severity.rank)
        numbers = tuple(dict.fromkeys(one.number for one in flags))
        found[line] = Mark(gravest, tuple(dict.fromkeys(pins.get(line, ()))), numbers)
    return found


_UNITS: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("_s", figures.milliseconds_with_unit),
    ("_ms", lambda value: f"{figures.significant(value)}{figures.THIN}ms"),
    ("_bytes", figures.binary),
    ("_flops", lambda value: figures.scaled(value, "FLOP")),
    ("_ghz", lambda value: f"{figures.significant(value)}{figures.THIN}GHz"),
    ("_percent", lambda value: figures.percent(value / 100)),
)
_SHARES = ("share", "_share", "share_kept", "alike", "likeness")


def figure(name: str, value: float) -> tuple[str, str]:
    """``floor_s``, 0.00128 as "floor", "1.28 ms". The unit is the ending of the name."""
    for ending, written in _UNITS:
        if name.endswith(ending) and len(name) > len(ending):
            return name.removesuffix(ending).replace("_", " "), written(value)
    words = name.replace("_", " ")
    if name.endswith(_SHARES):
        return words, figures.percent(value)
    if math.isfinite(value) and value == int(value) and abs(value) < 1e6:
        return words, f"{int(value):,}"
    return words, figures.significant(value)


def tallied(severities: Mapping[str, int]) -> str:
    """``2 severe, 1 suspect``, the gravest first; empty of nothing."""
    order = sorted(Severity, key=lambda severity: -severity.rank)
    return ", ".join(f"{severities[one.value]} {one.value}" for one in order if severities.get(one.value))


def looked_at() -> list[tuple[str, list[str]]]:
    """What the detectors look at, and which do."""
    found: dict[str, list[str]] = {}
    for detector in DETECTORS:
        found.setdefault(detector.looks_at, []).append(detector.name)
    return list(found.items())
