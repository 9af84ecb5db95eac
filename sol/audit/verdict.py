"""What a person may make of a case: the six verdicts, their keys and their effect."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """In the order of their keys, 1 to 6."""

    CLEAN = "clean"
    SUSPECT = "suspect"
    RUBRIC_LEAK = "rubric_leak"
    REWARD_HACK = "reward_hack"
    BUG = "bug"
    PROBLEM_FLAW = "problem_flaw"

    @property
    def words(self) -> str:
        """As it stands on pages."""
        return self.value.replace("_", " ")

    @property
    def key(self) -> str:
        """The key that gives it."""
        return _KEYS[self]

    @property
    def sentence(self) -> str:
        """What it means, for people who have to choose."""
        return _SENTENCES[self]

    @property
    def excludes(self) -> bool:
        """Whether its kernel's times leave every best, mean and ranking."""
        return self in _EXCLUDING

    @property
    def gaming(self) -> bool:
        """Whether it says that the kernel games the benchmark."""
        return self in (Verdict.RUBRIC_LEAK, Verdict.REWARD_HACK)


_KEYS = {verdict: str(key) for key, verdict in enumerate(Verdict, start=1)}
_SENTENCES = {
    Verdict.CLEAN: "It does the work that was asked for; its time counts.",
    Verdict.SUSPECT: "It cannot be told yet; a severe flag, or a time below the floor, keeps it out.",
    Verdict.RUBRIC_LEAK: "It knows the check (seeds, sizes, tolerance) and is written to it; its time is out.",
    Verdict.REWARD_HACK: "It gets its time without the work that was asked for; its time is out.",
    Verdict.BUG: "It is wrong by mistake and passed all the same; its time is out.",
    Verdict.PROBLEM_FLAW: "The problem lets the work be left out; the kernel is legitimate and its time counts.",
}
_EXCLUDING = frozenset({Verdict.RUBRIC_LEAK, Verdict.REWARD_HACK, Verdict.BUG})
