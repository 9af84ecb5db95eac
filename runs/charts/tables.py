"""A chart's numbers: columns that say what they hold, rows of raw values, once for the page and once for files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from runs import figures
from runs.csv_files import Writable

_TEXT: dict[str, Callable[[Any], str]] = {
    "text": str,
    "count": lambda value: f"{value:,}",
    "number": figures.significant,
    "ms": figures.milliseconds,
    "times": figures.ratio,
    "share": figures.percent,
    "rate": lambda value: figures.scaled(value, "FLOP/s"),
    "doublings": lambda value: figures.significant(value),
}


@dataclass(frozen=True, slots=True)
class Column:
    """``name`` stands in files, in snake case with its unit; ``head`` on the page; ``kind`` says how it is written.

    Times are in seconds in files and in ms on the page. ``none`` is why a cell may be empty.
    """

    name: str
    head: str
    kind: str = "text"
    none: str = "not measured"

    @property
    def is_number(self) -> bool:
        """Whether it is set to the right."""
        return self.kind != "text"


@dataclass(frozen=True, slots=True)
class Cell:
    """What a page shows: ``text`` is None where nothing is known, ``why`` says why; ``address`` is what it opens."""

    text: str | None
    why: str
    address: str
    is_number: bool


@dataclass(frozen=True, slots=True)
class Row:
    """Raw values, one a column; ``address`` is the candidate it is about. ``aside`` rows stand in files alone."""

    values: tuple[Any, ...]
    address: str = ""
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A chart's numbers. ``caption`` says what a row is."""

    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[Row]

    @property
    def shown(self) -> list[list[Cell]]:
        """The rows of the page, as text."""
        return [self._cells(row) for row in self.rows if not row.aside]

    @property
    def left_to_files(self) -> int:
        """Rows that the page does not show."""
        return sum(row.aside for row in self.rows)

    def _cells(self, row: Row) -> list[Cell]:
        cells = []
        for index, (column, value) in enumerate(zip(self.columns, row.values, strict=True)):
            text = None if value is None else _TEXT[column.kind](value)
            cells.append(Cell(text, column.none, row.address if index == 0 else "", column.is_number))
        return cells

    def write(self, file: Writable) -> None:
        """Comma-separated values with a head; what is not known is empty."""
        writer = csv.writer(file)
        writer.writerow([column.name for column in self.columns])
        writer.writerows(["" if value is None else value for value in row.values] for row in self.rows)
