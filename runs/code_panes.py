"""A program beside its generated code, line linked to line, and its difference from its parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from kernels.codegen.emission import Emission, LineLink, Unit
from kernels.highlight import highlight

WHOLE_UP_TO = 600
"""Lines of generated code that come with the page; a longer unit is shown so far, and whole on demand."""
DIFF_UP_TO = 5000


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its number, its HTML (escaped), the numbers of its partners in the other pane, and marks."""

    number: int
    html: str
    partners: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class UnitPane:
    """One unit's code as shown; of a hand-written unit the headers that were generated for it."""

    index: int
    unit: Unit
    lines: tuple[Line, ...]
    total: int

    @property
    def cut(self) -> bool:
        """Whether lines are missing below."""
        return len(self.lines) < self.total

    @property
    def stages(self) -> str:
        """The stages it serves."""
        return ", ".join(self.unit.stages)

    @property
    def title(self) -> str:
        """What is shown, in words."""
        if self.unit.hand_written:
            return ", ".join(header.name for header in self.unit.headers)
        return "Generated CUDA C++" if self.unit.language == "cuda" else "Generated C++"


def mu_lines(
    source: str, links: Sequence[LineLink], prefix: str, marked: frozenset[int], language: str = "mu"
) -> tuple[Line, ...]:
    """The program's lines; partners are lines of the unit shown beside it."""
    partners: dict[int, list[int]] = {}
    for link in links:
        partners.setdefault(link.mu, []).append(link.cpp)
    return tuple(
        Line(n, html, " ".join(f"{prefix}{cpp}" for cpp in sorted(set(partners.get(n, [])))), n in marked)
        for n, html in enumerate(highlight(source, language), 1)
    )


def unit_pane(emission: Emission, index: int, whole: bool, most: int = WHOLE_UP_TO) -> UnitPane | None:
    """Unit ``index`` of the emission, ``most`` lines of it unless ``whole``; None where there is none."""
    if not 0 <= index < len(emission.units):
        return None
    unit = emission.units[index]
    text = "\n".join(header.text for header in unit.headers) if unit.hand_written else unit.source
    html = highlight(text, unit.language)
    partners: dict[int, list[int]] = {}
    for link in unit.lines:
        partners.setdefault(link.cpp, []).append(link.mu)
    shown = html if whole else html[:most]
    lines = tuple(
        Line(n, text, " ".join(f"M{mu}" for mu in sorted(set(partners.get(n, [])))))
        for n, text in enumerate(shown, 1)
    )
    return UnitPane(index, unit, lines, len(html))


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One row of a difference: the old and the new line, either missing. ``kind``: same, gone, new, skip."""

    kind: str
    old: int | None
    new: int | None
    html: str


@dataclass(frozen=True, slots=True)
class Diff:
    """A difference in unified form, with how much changed."""

    rows: tuple[DiffRow, ...]
    gone: int
    new: int
    changed: frozenset[int]


def diff(old: str, new: str, context: int = 3, language: str = "mu") -> Diff | None:
    """Lines that left and came, with ``context`` lines around; None of texts too long to compare."""
    before, after = old.removesuffix("\n").split("\n"), new.removesuffix("\n").split("\n")
    if len(before) > DIFF_UP_TO or len(after) > DIFF_UP_TO:
        return None
    old_html, new_html = highlight(old, language), highlight(new, language)
    rows: list[DiffRow] = []
    gone = came = 0
    changed: set[int] = set()
    groups = list(SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(context))
    for at, group in enumerate(groups):
        if at:
            rows.append(DiffRow("skip", None, None, ""))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                rows += [
                    DiffRow("same", i + 1, j + 1, _at(new_html, j))
                    for i, j in zip(range(i1, i2), range(j1, j2), strict=True)
                ]
                continue
            rows += [DiffRow("gone", i + 1, None, _at(old_html, i)) for i in range(i1, i2)]
            rows += [DiffRow("new", None, j + 1, _at(new_html, j)) for j in range(j1, j2)]
            gone, came = gone + i2 - i1, came + j2 - j1
            changed.update(range(j1 + 1, j2 + 1))
    return Diff(tuple(rows), gone, came, frozenset(changed))


def _at(lines: Sequence[str], index: int) -> str:
    return lines[index] if index < len(lines) else ""
