"""What a model that read a candidate answers, made into flags: one reader's word among others, and never a verdict.

Pure: whoever has a model asks it with ``sol.audit.judge_prompt`` and gives its answer here. What does not fit is
dropped with a note; nothing that an answer holds reaches beyond flags of the detector ``judge``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sol.audit.record import Evidence, Flag, Place, Severity
from sol.audit.subject import Subject
from sol.audit.tricks import Trick

JUDGE = "judge"
MOST_SURE = 0.7
"""The confidence that a model's word has at most."""
MOST_FINDINGS = 20
_LETTERS = 300
_NOTES = 5
_TRICKS = {trick.value: trick for trick in Trick}
_SEVERITIES = {severity.value: severity for severity in Severity}


@dataclass(frozen=True, slots=True)
class Judgement:
    """The flags of an answer, and what of it was dropped and why, in words."""

    flags: tuple[Flag, ...]
    notes: tuple[str, ...]


class _Dropped(ValueError):
    """A finding that is none, with the reason."""


def judgement(answer: Any, subject: Subject, others: Iterable[Flag]) -> Judgement:
    """The flags of a model's answer. ``others`` are those of all other detectors: a finding is severe only where one
    of them saw the same trick. Raises nothing, whatever the answer is."""
    findings = answer.get("findings") if isinstance(answer, dict) else None
    if not isinstance(findings, list):
        return Judgement((), ("the answer has no list of findings",))
    seen = {flag.trick for flag in others if flag.severity is not Severity.INFO and flag.detector != JUDGE}
    lines = subject.text.count("\n") + 1
    found: dict[tuple[Trick, tuple[Place, ...]], Flag] = {}
    notes = _beside(answer, findings)
    for number, finding in enumerate(findings[:MOST_FINDINGS], start=1):
        try:
            flag = _flag(finding, lines, seen)
        except _Dropped as error:
            notes.append(f"finding {number} was dropped: {error}")
            continue
        found.setdefault((flag.trick, flag.evidence.places), flag)
    return Judgement(tuple(found.values()), _few(notes))


def _beside(answer: dict[str, Any], findings: Sequence[Any]) -> list[str]:
    notes = []
    if len(answer) > 1:
        notes.append(f"{len(answer) - 1} other fields of the answer were left aside")
    if len(findings) > MOST_FINDINGS:
        notes.append(f"{len(findings) - MOST_FINDINGS} findings beyond {MOST_FINDINGS} were left aside")
    return notes


def _few(notes: list[str]) -> tuple[str, ...]:
    more = len(notes) - _NOTES
    return tuple(notes) if more <= 0 else (*notes[:_NOTES], f"and {more} more notes")


def _flag(finding: Any, lines: int, seen: set[Trick]) -> Flag:
    if not isinstance(finding, dict):
        raise _Dropped("it is no object")
    trick, severity = _trick(finding.get("trick")), _severity(finding.get("severity"))
    if severity is Severity.SEVERE and trick not in seen:
        severity = Severity.SUSPECT
    words = _words(finding.get("words"))
    place = _place(finding.get("first_line"), finding.get("last_line"), lines)
    return Flag(JUDGE, trick, severity, _confidence(finding.get("confidence")), Evidence(words, (place,)))


def _trick(said: Any) -> Trick:
    if not isinstance(said, str) or said not in _TRICKS:
        raise _Dropped("it names no known trick")
    return _TRICKS[said]


def _severity(said: Any) -> Severity:
    if not isinstance(said, str) or said not in _SEVERITIES:
        raise _Dropped("its severity is none of info, suspect and severe")
    return _SEVERITIES[said]


def _confidence(said: Any) -> float:
    if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said <= 1:
        raise _Dropped("its confidence is no number from 0 to 1")
    return min(float(said), MOST_SURE)


def _place(first: Any, last: Any, lines: int) -> Place:
    whole = all(isinstance(number, int) and not isinstance(number, bool) for number in (first, last))
    if not whole or not 1 <= first <= last <= lines:
        raise _Dropped(f"its lines are none of the text's {lines}")
    return Place(first, last)


def _words(said: Any) -> str:
    """One line of plain text; whoever shows it escapes it."""
    if not isinstance(said, str):
        raise _Dropped("its words are no text")
    plain = "".join(letter if letter.isprintable() else " " for letter in said[: 4 * _LETTERS])
    plain = " ".join(plain.split())
    if not plain:
        raise _Dropped("it has no words")
    return plain if len(plain) <= _LETTERS else f"{plain[: _LETTERS - 1]}…"
