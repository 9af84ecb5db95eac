"""The difference of two candidates' texts, their source or one unit of generated code, as two columns that line up.

On a narrow page the same rows read as one unified difference: blocks hold what went before what came.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from kernels.codegen.emission import Unit
from runs.code_panes import Diff, DiffRow, diff
from runs.comparing.asked import Asked
from runs.comparing.sides import Side

SOURCE = "source"
SHOWN = 600
"""Rows that come with the page; a longer difference is shown so far, and whole on demand."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One cell of the two columns. ``kind``: same, gone, new, pad or skip; ``right`` stands in the second column."""

    kind: str
    right: bool
    number: int | None
    html: str


@dataclass(frozen=True, slots=True)
class SourceDiff:
    """Two texts beside each other. ``why_none`` says why there are no rows."""

    left: Side
    right: Side
    choices: tuple[tuple[str, str], ...]
    chosen: str
    rows: tuple[DiffRow, ...]
    gone: int
    new: int
    total: int
    why_none: str = ""

    @property
    def cut(self) -> bool:
        """Whether rows are missing below."""
        return len(self.rows) < self.total

    @property
    def pieces(self) -> list[Piece]:
        """The cells of both columns in the order of a unified difference."""
        return list(_pieces(self.rows))


def source_diff(found: Sequence[Side], wanted: Asked) -> SourceDiff:
    """The difference that the address asks for: of the sources unless it names a unit of generated code."""
    by_key = {side.attempt.pk: side for side in found}
    left, right = by_key[wanted.left], by_key[wanted.right]
    units = (_units(left), _units(right))
    names = tuple(dict.fromkeys([*units[0], *units[1]]))
    choices = ((SOURCE, "Source"), *((name, f"Generated for {name}") for name in names))
    chosen = wanted.code if wanted.code in names else SOURCE
    if chosen == SOURCE:
        if left.language != right.language:
            why = (
                f"{left.letter} is {left.language.label}, {right.letter} is {right.language.label}: no line matches"
            )
            return SourceDiff(left, right, choices, chosen, (), 0, 0, 0, why)
        texts = (left.attempt.kernel.source, right.attempt.kernel.source)
        return _made(left, right, choices, chosen, diff(*texts, language=left.language), wanted.whole)
    both = [one.get(chosen) for one in units]
    if both[0] is None or both[1] is None:
        lacks = left if both[0] is None else right
        why = f"{lacks.letter} has no generated code for {chosen}"
        return SourceDiff(left, right, choices, chosen, (), 0, 0, 0, why)
    made = diff(_text(both[0]), _text(both[1]), language=both[1].language)
    return _made(left, right, choices, chosen, made, wanted.whole)


def _made(
    left: Side, right: Side, choices: tuple[tuple[str, str], ...], chosen: str, made: Diff | None, whole: bool
) -> SourceDiff:
    if made is None:
        return SourceDiff(left, right, choices, chosen, (), 0, 0, 0, "too long to compare line by line")
    rows = made.rows if whole else made.rows[:SHOWN]
    why = "" if made.rows else "the texts are the same"
    return SourceDiff(left, right, choices, chosen, rows, made.gone, made.new, len(made.rows), why)


def _units(side: Side) -> dict[str, Unit]:
    """Generated code by the stages that it serves."""
    return {", ".join(unit.stages) or unit.symbol: unit for unit in side.emission.units} if side.emission else {}


def _text(unit: Unit) -> str:
    return "\n".join(header.text for header in unit.headers) if unit.hand_written else unit.source


def _pieces(rows: Sequence[DiffRow]) -> Iterator[Piece]:
    for kind, block in groupby(rows, key=lambda row: "change" if row.kind in ("gone", "new") else row.kind):
        if kind == "skip":
            for _ in block:
                yield Piece("skip", False, None, "")
        elif kind == "same":
            for row in block:
                yield Piece("same", False, row.old, row.html)
                yield Piece("same", True, row.new, row.html)
        else:
            yield from _changed(list(block))


def _changed(block: Sequence[DiffRow]) -> Iterator[Piece]:
    """What went on the left, what came on the right, and blanks where one column is shorter."""
    gone = [row for row in block if row.kind == "gone"]
    came = [row for row in block if row.kind == "new"]
    for row in gone:
        yield Piece("gone", False, row.old, row.html)
    for row in came:
        yield Piece("new", True, row.new, row.html)
    for _ in range(len(came) - len(gone)):
        yield Piece("pad", False, None, "")
    for _ in range(len(gone) - len(came)):
        yield Piece("pad", True, None, "")
