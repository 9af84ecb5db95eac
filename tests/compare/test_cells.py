"""Differences in words, and which lines a page leaves out."""

from __future__ import annotations

import pytest

from runs import figures
from runs.comparing import cells
from runs.comparing.cells import Cell, Group, Line, difference, numbers, shown
from runs.figures import MINUS, THIN


@pytest.mark.parametrize(
    ("value", "base", "sense", "words"),
    [
        (0.9, 1.0, cells.TIME, f"{MINUS}10.0{THIN}%, faster"),
        (1.25, 1.0, cells.TIME, f"+25.0{THIN}%, slower"),
        (4.0, 1.0, cells.SPEED, "4.00× faster"),
        (1.0, 4.0, cells.SPEED, "4.00× slower"),
        (1.0001, 1.0, cells.TIME, ""),
        (3.0, 0.0, cells.AMOUNT, "more"),
        (0.0, 3.0, cells.AMOUNT, "less"),
        (6, 5, cells.COUNT, "+1, more"),
        (None, 5, cells.COUNT, ""),
        (5, None, cells.COUNT, ""),
    ],
)
def test_a_difference_has_its_unit_and_its_direction(
    value: float | None, base: float | None, sense: cells.Sense, words: str
) -> None:
    assert difference(value, base, sense) == words


def test_shares_differ_by_points() -> None:
    assert difference(0.667, 0.333, cells.AMOUNT, points=True) == f"+33.4{THIN}points, more"
    assert difference(0.1, 0.25, cells.AMOUNT, points=True) == f"{MINUS}15.0{THIN}points, less"


def test_what_cannot_be_compared_says_so_in_the_place_of_a_difference() -> None:
    line = numbers("Speedup", [2.0, 4.0, None], figures.ratio, cells.SPEED, apart=["", "another device", "too"])
    assert [cell.delta for cell in line.cells] == ["", "", ""]
    assert [cell.note for cell in line.cells] == ["", "another device", ""]


def test_what_is_equal_is_left_out_unless_it_is_asked_for_and_what_nobody_knows_always() -> None:
    same = Line("same", (Cell("1"), Cell("1")))
    other = Line("other", (Cell("1"), Cell("2")))
    lacking = Line("lacking", (Cell("1"), Cell(None, "not measured")))
    unknown = Line("unknown", (Cell(None, "no card"), Cell(None, "no model")))
    group = Group("All", (same, other, lacking, unknown))
    assert [line.name for line in shown([group], False)[0].lines] == ["other", "lacking"]
    assert [line.name for line in shown([group], True)[0].lines] == ["same", "other", "lacking"]
    assert group.equal == 1
    assert shown([Group("None", (same, unknown))], False) == []
