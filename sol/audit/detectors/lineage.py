"""What a candidate has from others: lines of a cheating ancestor, a lesson of one, the likeness of one."""

from __future__ import annotations

from collections.abc import Iterator

from sol.audit.base import Detector, Reading
from sol.audit.likeness import ALIKE
from sol.audit.record import Flag, Severity, quoted
from sol.audit.relatives import Relative, Tie
from sol.audit.survival import Lines, Survival
from sol.audit.tricks import Trick

_VERBATIM = 0.9
"""From here on marked lines stand nearly to the letter."""
_PARTLY = 0.5
_SAME = 0.95
"""Of two that are so alike one is the other with other names."""
_LEAST_WORDS = 12
"""Fewer words and marks than this two honest writers may share, unless all else is alike too."""
_SHOWN = 6


class Lineage(Detector):
    """The trick is the relative's. A child that left out the offending lines of its ancestor owes it nothing."""

    name = "lineage"
    looks_at = "lineage"
    tricks = tuple(Trick)

    def look(self, reading: Reading) -> Iterator[Flag]:
        """Nothing without relatives that are settled as gaming or wait under a severe flag."""
        relatives = [relative for relative in reading.subject.relatives if relative.reproached]
        if not relatives:
            return
        own = Lines(reading.subject.text)
        theirs = Lines(reading.subject.problem_text or "")
        for relative in relatives:
            kept = _kept(relative, own, theirs)
            if relative.tie is Tie.ANCESTOR:
                yield from self._inherited(relative, kept)
            elif relative.tie is Tie.LOOKALIKE:
                yield from self._alike(relative, kept)
            else:
                words = f"it was told the lesson of {_who(relative)}"
                yield self.flag(relative.trick, Severity.SUSPECT, 0.4, words)

    def _inherited(self, relative: Relative, kept: list[Survival]) -> Iterator[Flag]:
        """By how much of what was marked still stands; by likeness where its flags have no lines."""
        who = _who(relative)
        if not relative.marked:
            if relative.likeness >= _SAME:
                words = f"it differs from its ancestor {who} in names and numbers at most"
                yield self.flag(relative.trick, Severity.SUSPECT, 0.6, words, likeness=relative.likeness)
            return
        total, exact, renamed = (sum(each.words for each in part) for part in _parts(kept))
        if not total:
            return
        figures = {"share_kept": exact / total, "likeness": relative.likeness}
        sure = relative.confidence * (1.0 if relative.settled else 0.8)
        places = tuple(place for each in kept if _stands(each) or each.exact for place in each.places)[:_SHOWN]
        still = f"of the marked lines of its ancestor {who} still stand"
        telling = total >= _LEAST_WORDS or relative.likeness >= ALIKE
        if exact >= _VERBATIM * total and telling:
            yield self.flag(relative.trick, Severity.SEVERE, sure * 0.95, f"all {still}", *places, **figures)
        elif exact:
            yield self.flag(relative.trick, Severity.SUSPECT, sure * 0.7, f"some {still}", *places, **figures)
        elif renamed:
            told = f"some {still}, with other names or numbers"
            yield self.flag(relative.trick, Severity.SUSPECT, sure * 0.6, told, *places, **figures)
        elif any(each.exact >= _PARTLY for each in kept):
            yield self.flag(relative.trick, Severity.INFO, sure * 0.4, f"parts {still}", *places, **figures)

    def _alike(self, relative: Relative, kept: list[Survival]) -> Iterator[Flag]:
        """A lookalike speaks only where it is settled: two open ones cannot accuse each other."""
        if not relative.settled or relative.likeness < ALIKE:
            return
        words = f"it is {relative.likeness:.0%} like {_who(relative)}"
        places = tuple(place for each in kept if _stands(each) for place in each.places)[:_SHOWN]
        figures = {"likeness": relative.likeness}
        if relative.marked and not places:
            words += ", without the lines that were marked there"
            yield self.flag(relative.trick, Severity.INFO, 0.3, words, **figures)
            return
        severity = Severity.SEVERE if relative.likeness >= _SAME else Severity.SUSPECT
        yield self.flag(relative.trick, severity, 0.9 * relative.likeness, words, *places, **figures)


def _parts(kept: list[Survival]) -> tuple[list[Survival], list[Survival], list[Survival]]:
    """All marked places, those that stand to the letter, and those that stand at all."""
    return kept, [each for each in kept if each.exact >= _VERBATIM], [each for each in kept if _stands(each)]


def _stands(kept: Survival) -> bool:
    return kept.exact >= _VERBATIM or (kept.renamed and kept.words >= _LEAST_WORDS)


def _kept(relative: Relative, own: Lines, theirs: Lines) -> list[Survival]:
    """What of each marked place stands in the candidate; lines of the problem's own text are left aside."""
    found = (own.holds(Lines(text).without(theirs)) for text in relative.marked)
    return [each for each in found if each is not None]


def _who(relative: Relative) -> str:
    said = f"settled as {relative.verdict.words}" if relative.verdict is not None and relative.settled else ""
    return f"{quoted(relative.name)} ({said or 'an open severe flag'}: {relative.trick.value})"
