"""Evidence with numbers, and the candidate's text with the lines marked that it speaks of.

Everything a candidate or a model wrote is text here: ``kernels.highlight`` escapes lines, templates escape the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from kernels.highlight import LARGEST, highlight
from runs import figures
from sol.audit.record import Severity
from sol.audit.tricks import Trick
from sol.models import Flag

WHOLE_UP_TO = 600
"""Lines that come with the page; of a longer text its head and what is marked, and the whole on demand."""

HEAD, AROUND = 120, 8
LONGEST = 2_000
"""Letters of one line that are shown."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Some lines of the text, from 1, both inclusive, in words."""

    first: int
    last: int

    @property
    def words(self) -> str:
        """``line 4`` or ``lines 4–9``."""
        return f"line {self.first}" if self.first == self.last else f"lines {self.first}–{self.last}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One flag as a reader sees it. ``figures`` are names with values and units."""

    number: int
    detector: str
    trick: Trick
    severity: Severity
    confidence: float
    words: str
    marks: tuple[Mark, ...]
    figures: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line. ``pins`` are numbers of evidence that starts here, ``about`` of all that speaks of it; a line without
    a number stands for lines that are left out."""

    number: int
    html: str
    tone: str = ""
    about: str = ""
    pins: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CodePane:
    """The candidate's text. ``total`` lines; fewer are shown where ``cut``."""

    lines: tuple[CodeLine, ...]
    total: int
    cut: bool


def evidence(flags: Iterable[Flag]) -> tuple[Evidence, ...]:
    """Flags in the order of their gravity, each with its number."""
    rows = sorted(flags, key=lambda row: (-Severity(row.severity).rank, -row.confidence, row.pk))
    return tuple(_evidence(number, row) for number, row in enumerate(rows, 1))


def _evidence(number: int, row: Flag) -> Evidence:
    record = row.evidence
    marks = tuple(Mark(int(place["first"]), int(place["last"])) for place in record.get("places", ()))
    known = tuple((name_of(name), figure(name, value)) for name, value in record.get("figures", {}).items())
    return Evidence(
        number, row.detector, Trick(row.trick), Severity(row.severity), row.confidence, str(record.get("words", "")),
        marks, known,
    )  # fmt: skip


_UNITS = ("_s", "_ms", "_bytes", "_flops", "_share", "_percent", "_lines", "_calls", "_ghz")


def name_of(name: str) -> str:
    """A figure's name as people read it: without its unit."""
    for unit in _UNITS:
        if name.endswith(unit) and len(name) > len(unit) and unit != "_share":
            return name[: -len(unit)].replace("_", " ")
    return name.replace("_", " ")


def figure(name: str, value: float) -> str:
    """A figure with the unit that its name ends in."""
    if name.endswith("_s"):
        return figures.milliseconds_with_unit(value)
    if name.endswith("_ms"):
        return f"{figures.significant(value)}{figures.THIN}ms"
    if name.endswith("_bytes"):
        return figures.binary(value)
    if name.endswith("_flops"):
        return figures.scaled(value, "FLOP")
    if name.endswith("_ghz"):
        return f"{figures.significant(value)}{figures.THIN}GHz"
    if name.endswith("_share") or name == "alike":
        return figures.percent(value)
    if name.endswith("_percent"):
        return figures.percent(value / 100)
    return figures.significant(value)


def code_pane(source: str, language: str, found: Sequence[Evidence], whole: bool = False) -> CodePane:
    """The text with its marks; long lines are cut, and a long text too unless ``whole``."""
    lines = _html(source, language)
    total = len(lines)
    about, tones, pins = _marked(found, total)
    keep = None if whole or total <= WHOLE_UP_TO else _kept(about, total)
    shown: list[CodeLine] = []
    last = 0
    for number, text in enumerate(lines, 1):
        if keep is not None and number not in keep:
            continue
        if number > last + 1:
            shown.append(CodeLine(0, f"⋯ {number - last - 1:,} lines"))
        last = number
        numbers = about.get(number, ())
        shown.append(
            CodeLine(number, text, tones.get(number, ""), " ".join(map(str, numbers)), tuple(pins.get(number, ())))
        )
    if last < total:
        shown.append(CodeLine(0, f"⋯ {total - last:,} lines"))
    return CodePane(tuple(shown), total, keep is not None)


def _html(source: str, language: str) -> Sequence[str]:
    lines = source.split("\n")
    if len(source) <= LARGEST and max(map(len, lines), default=0) <= LONGEST:
        return highlight(source, language)
    shown = source.removesuffix("\n").split("\n")
    return [escape(line) if len(line) <= LONGEST else f"{escape(line[:LONGEST])}…" for line in shown]


def _marked(
    found: Sequence[Evidence], total: int
) -> tuple[dict[int, list[int]], dict[int, str], dict[int, list[int]]]:
    """By line: the evidence that speaks of it, the gravest severity of that, and the evidence that starts there."""
    about: dict[int, list[int]] = {}
    tones: dict[int, str] = {}
    pins: dict[int, list[int]] = {}
    for one in found:
        for mark in one.marks:
            if 1 <= mark.first <= total:
                pins.setdefault(mark.first, []).append(one.number)
            for number in range(max(mark.first, 1), min(mark.last, total) + 1):
                about.setdefault(number, []).append(one.number)
                tones.setdefault(number, one.severity.value)
    return about, tones, {number: sorted(set(numbers)) for number, numbers in pins.items()}


def _kept(about: Iterable[int], total: int) -> set[int]:
    kept = set(range(1, min(HEAD, total) + 1))
    for number in about:
        kept.update(range(max(1, number - AROUND), min(total, number + AROUND) + 1))
    return kept
