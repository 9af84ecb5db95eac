"""What a candidate came from or resembles, as far as an audit needs it: each relative with what was found in it.

Whoever keeps attempts fills these in; nothing here looks one up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick
from sol.audit.verdict import Verdict


class Tie(StrEnum):
    """What a relative is to the candidate."""

    ANCESTOR = "ancestor"
    LESSON = "lesson"
    LOOKALIKE = "lookalike"


@dataclass(frozen=True, slots=True)
class Relative:
    """One relative. ``trick``, ``severity`` and ``confidence`` are its gravest flag's; ``verdict`` is None while open.

    ``name`` is what people call it. ``likeness`` is from 0 to 1 (``sol.audit.likeness``). ``marked`` are the texts that
    its flags point to, one a place; empty where its flags have no lines, as those of an evaluation.
    """

    tie: Tie
    name: str
    trick: Trick
    severity: Severity
    confidence: float = 1.0
    verdict: Verdict | None = None
    likeness: float = 0.0
    marked: tuple[str, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether a person said that it games the benchmark."""
        return self.verdict is not None and self.verdict.gaming

    @property
    def reproached(self) -> bool:
        """Whether it is settled as gaming, or a severe flag on it waits for a verdict."""
        waiting = self.verdict is None or self.verdict is Verdict.SUSPECT
        return self.settled or (waiting and self.severity is Severity.SEVERE)


def marked_texts(text: str, flags: Iterable[Flag]) -> tuple[str, ...]:
    """The lines that a text's flags of the gravest severity point to: one text a place, each once, without info."""
    found = [flag for flag in flags if flag.severity is not Severity.INFO]
    worst = max((flag.severity.rank for flag in found), default=0)
    lines = text.split("\n")
    texts = (
        "\n".join(lines[place.first - 1 : place.last])
        for flag in found
        if flag.severity.rank == worst
        for place in flag.evidence.places
    )
    return tuple(dict.fromkeys(part for part in texts if part.strip()))


def gravest(flags: Sequence[Flag]) -> Flag | None:
    """The flag that a relative is known by: the gravest, then the surest; None without flags."""
    return max(flags, key=lambda flag: flag.gravity, default=None)
