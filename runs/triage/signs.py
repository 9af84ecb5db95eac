"""Severities and verdicts with their signs, the same on every page."""

from __future__ import annotations

from dataclasses import dataclass

from runs.words import Word
from sol.audit.record import Severity
from sol.audit.verdict import Verdict

_SEVERITIES = {
    Severity.SEVERE: Word("severe", "severe", "severe"),
    Severity.SUSPECT: Word("suspect", "susp", "suspect"),
    Severity.INFO: Word("info", "none"),
}
_VERDICTS = {
    Verdict.CLEAN: ("pass", ""),
    Verdict.SUSPECT: ("susp", "suspect"),
    Verdict.RUBRIC_LEAK: ("severe", "severe"),
    Verdict.REWARD_HACK: ("hack", "severe"),
    Verdict.BUG: ("fail", ""),
    Verdict.PROBLEM_FLAW: ("flaw", ""),
}


@dataclass(frozen=True, slots=True)
class VerdictSign:
    """One verdict as a button and as a word with its sign."""

    verdict: Verdict

    @property
    def label(self) -> str:
        """Reward hack."""
        words = self.verdict.words
        return f"{words[0].upper()}{words[1:]}"

    @property
    def word(self) -> Word:
        """For the tag."""
        return verdict_word(self.verdict)


def severity_word(severity: str) -> Word:
    """A severity in a word with its sign."""
    return _SEVERITIES[Severity(severity)]


def verdict_word(verdict: str) -> Word:
    """A verdict in a word with its sign."""
    icon, tone = _VERDICTS[Verdict(verdict)]
    return Word(Verdict(verdict).words, icon, tone)


def signs() -> tuple[VerdictSign, ...]:
    """The six, in the order of their keys."""
    return tuple(VerdictSign(verdict) for verdict in Verdict)
