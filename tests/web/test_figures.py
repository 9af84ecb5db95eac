"""Numbers as people read them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from mucutlass_web.templatetags import figures as tags
from runs import figures
from runs.figures import MINUS, THIN


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0431, "0.0431"), (0.2137, "0.214"), (11.62, "11.6"), (642.4, "642"), (1234.6, "1,235"), (0, "0"),
        (9.996, "10.0"), (99.96, "100"), (0.00120, "0.00120"), (-3.14159, f"{MINUS}3.14"), (math.nan, "not a number"),
        (math.inf, "∞"),
    ],
)  # fmt: skip
def test_three_significant_digits(value: float, text: str) -> None:
    assert figures.significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.536, "1.54×"), (13.34, "13.3×"), (0.6891, "0.69×"), (0.0441, "0.04×"), (0.001, "<0.01×"), (642.2, "642×")],
)
def test_ratios_have_at_most_two_decimals(value: float, text: str) -> None:
    assert figures.ratio(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.83, "0.830 s"), (26.4, "26 s"), (104, "1 min 44 s"), (120, "2 min"), (2460, "41 min"),
        (6720, "1 h 52 min"), (7200, "2 h"),
    ],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert figures.duration(seconds).replace(THIN, " ") == text


@pytest.mark.parametrize(("seconds", "text"), [(4, "0:04"), (761, "12:41"), (3727, "1:02:07"), (-3, "0:00")])
def test_stopwatches(seconds: float, text: str) -> None:
    assert figures.stopwatch(seconds) == text


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.8137, "81.4 %"), (1.0, "100 %"), (0.0, "0 %"), (-1e-20, "0 %"), (0.25, "25 %")]
)
def test_percentages(fraction: float, text: str) -> None:
    assert figures.percent(fraction).replace(THIN, " ") == text


@pytest.mark.parametrize(("fraction", "text"), [(-0.032, "−3.2 %"), (0.004, "+0.4 %"), (1.5, "+150 %")])
def test_changes_carry_their_sign(fraction: float, text: str) -> None:
    assert figures.change(fraction).replace(THIN, " ") == text


def test_units_follow_a_thin_space() -> None:
    assert figures.scaled(16.8e6, "FLOP") == f"16.8{THIN}MFLOP"
    assert figures.scaled(6.42e14, "FLOP/s") == f"642{THIN}TFLOP/s"
    assert figures.scaled(999, "B") == f"999{THIN}B"
    assert figures.binary(224_256) == f"219{THIN}KiB"
    assert figures.binary(8 * 2**30) == f"8{THIN}GiB"


def test_a_geomean_of_nothing_is_nothing() -> None:
    assert figures.geomean([]) is None
    assert figures.geomean([2.0, 8.0]) == pytest.approx(4.0)


def test_a_missing_number_is_a_dash_with_its_reason_for_eyes_and_ears() -> None:
    dash = tags.ms(None, "no passing kernel yet")
    assert dash == (
        '<span class="none" title="no passing kernel yet">–<span class="sr"> no passing kernel yet</span></span>'
    )
    assert "not measured" in tags.ms(None)
    assert "&lt;b&gt;" in tags.times(None, "<b>")


def test_decimal_points_of_a_column_stand_under_each_other() -> None:
    cells = [tags.ms_cell(seconds) for seconds in (0.0000431, 0.000214, 0.0116, 0.642)]
    assert [cell.split('"')[1] for cell in cells] == ["p0", "p1", "p3", "p5"]
    assert tags.times_cell(13.3).startswith('<span class="p1">')


def test_small_numbers_of_checks_have_a_power_of_ten() -> None:
    assert tags.sig(2.1e-6) == "2.1e−6"
    assert tags.sig(3.0) == "3"
    assert tags.sig(0.31) == "0.310"
    assert tags.sig(math.nan) == "not a number"


def test_moments_are_machine_readable_and_full_in_the_title() -> None:
    moment = datetime(2026, 1, 2, 12, 41, 7, tzinfo=UTC)
    assert tags.when(moment, "second") == (
        '<time datetime="2026-01-02T12:41:07Z" data-form="second" title="2026-01-02 12:41:07 UTC">12:41:07</time>'
    )
    assert "not yet" in tags.when(None)
