"""Lines of a comparison: one cell a side, its difference from the baseline in words, and whether the sides differ.

A difference has its unit (percent, ×, points) and a direction word; where it would say nothing the cell says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runs import figures

_SAME = 0.0005
"""Changes of less than this share are none: three digits would not show them."""


@dataclass(frozen=True, slots=True)
class Sense:
    """What a value above and one below the baseline's is called."""

    above: str
    below: str


TIME = Sense("slower", "faster")
SPEED = Sense("faster", "slower")
GAP = Sense("farther from SOL", "closer to SOL")
NEARNESS = Sense("closer to SOL", "farther from SOL")
AMOUNT = Sense("more", "less")
COUNT = Sense("more", "fewer")
SIZE = Sense("higher", "lower")
SPAN = Sense("longer", "shorter")


@dataclass(frozen=True, slots=True)
class Cell:
    """``text`` is None where nothing is known; ``why`` says why. ``delta`` is against the baseline, ``note`` why not.

    ``value`` is the raw figure of a number, for whoever looks for the best one; ``beside`` is a second text.
    """

    text: str | None
    why: str = ""
    delta: str = ""
    note: str = ""
    address: str = ""
    beside: str = ""
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One fact of all sides. ``hint`` says its unit, or how it is counted."""

    name: str
    cells: tuple[Cell, ...]
    hint: str = ""
    number: bool = False

    @property
    def differs(self) -> bool:
        """Whether any side says something else than the baseline; never where none says anything."""
        said = {(cell.text, "" if cell.text is not None else cell.why, cell.beside) for cell in self.cells}
        return not self.empty and len(said) > 1

    @property
    def empty(self) -> bool:
        """Whether no side knows it."""
        return all(cell.text is None for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Group:
    """Lines under one head."""

    title: str
    lines: tuple[Line, ...]

    @property
    def equal(self) -> int:
        """Lines that are known and the same on every side."""
        return sum(not line.differs and not line.empty for line in self.lines)


class Shown(NamedTuple):
    """What a page shows of a group."""

    title: str
    lines: tuple[Line, ...]


def shown(groups: Sequence[Group], everything: bool) -> list[Shown]:
    """The lines that differ, or all that any side knows; a group without one is left out."""
    found = []
    for group in groups:
        lines = tuple(line for line in group.lines if line.differs or (everything and not line.empty))
        if lines:
            found.append(Shown(group.title, lines))
    return found


def difference(value: float | None, base: float | None, sense: Sense, *, points: bool = False) -> str:
    """``−12.5 %, faster``, ``3.20× slower``, ``+4.5 points, more``; empty where they are the same or one is not known.

    ``points``: both are shares (0 to 1) and their difference is in hundredths. A ``COUNT`` differs by a count.
    """
    if value is None or base is None:
        return ""
    if value == base or (base and abs(value / base - 1) < _SAME):
        return ""
    word = sense.above if value > base else sense.below
    if points:
        moved = (value - base) * 100
        sign = "+" if moved > 0 else figures.MINUS
        return f"{sign}{abs(moved):.1f}{figures.THIN}points, {word}"
    if sense is COUNT:
        sign = "+" if value > base else figures.MINUS
        return f"{sign}{abs(value - base):,.0f}, {word}"
    if base <= 0 or value <= 0:
        return word
    ratio = value / base
    if 0.5 < ratio < 2:
        return f"{figures.change(ratio - 1)}, {word}"
    return f"{figures.ratio(max(ratio, 1 / ratio))} {word}"


def numbers(
    name: str,
    values: Sequence[float | None],
    text: Callable[[float], str],
    sense: Sense,
    *,
    hint: str = "",
    why: Sequence[str] | str = "not measured",
    apart: Sequence[str] = (),
    points: bool = False,
    beside: Sequence[str] = (),
) -> Line:
    """A line of numbers, the baseline's first. ``apart`` says of each side why a difference would say nothing."""
    reasons = [why] * len(values) if isinstance(why, str) else list(why)
    cells = []
    for index, value in enumerate(values):
        against = apart[index] if apart else ""
        told = difference(value, values[0], sense, points=points) if index and not against else ""
        cells.append(
            Cell(
                text=None if value is None else text(value),
                why=reasons[index],
                delta=told,
                note=against if value is not None and (index or against) else "",
                beside=beside[index] if beside else "",
                value=value,
            )
        )
    return Line(name, tuple(cells), hint, number=True)


def texts(
    name: str, values: Sequence[str | None], *, hint: str = "", why: Sequence[str] | str = "not known"
) -> Line:
    """A line of words; an empty one counts as not known."""
    reasons = [why] * len(values) if isinstance(why, str) else list(why)
    cells = tuple(Cell(value or None, reason) for value, reason in zip(values, reasons, strict=True))
    return Line(name, cells, hint)
