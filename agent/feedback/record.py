"""The records of semantic feedback: what limits a candidate, and what to try about it. No judging in here.

A Finding is made once, when an attempt ends or its profile comes, and travels in the run's log; so its fields are
plain values, and a stage is named by its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Bottleneck(StrEnum):
    """What holds a candidate back. ``MIXED``: several at once, or nobody could say."""

    COMPUTE = "compute"
    MEMORY = "memory"
    LATENCY = "latency"
    MIXED = "mixed"


class Severity(StrEnum):
    """How much a finding weighs. ``NOTE`` is worth knowing and costs little."""

    CRITICAL = "critical"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the gravest."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to try.

    Where it is a knob: ``stage`` has ``knob`` at ``now``, and ``args`` is a value that the checker accepts there.
    Where it is a change of structure: ``change`` is its kind, as the search's moves name it ("fuse", "once",
    "split", "relayout", "cast", "replace"). Neither: ``words`` alone, in general terms.
    """

    words: str
    stage: str = ""
    knob: str = ""
    args: tuple[int | str, ...] = ()
    now: tuple[int | str, ...] = ()
    change: str = ""

    @property
    def text(self) -> str:
        """It in the language's words (``y.tile(128, 256, 64)``, ``fuse z``); empty for general advice."""
        if self.knob:
            return f"{self.stage}.{self.knob}({', '.join(map(str, self.args))})"
        return f"{self.change} {self.stage}".strip() if self.change else ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one tool has to say of one candidate.

    ``cause`` is the root cause in a sentence, ``advice`` is ranked, the best first. ``gain`` is the expected speedup
    of the whole candidate (1.3: a third faster) and None where the evidence gives none; ``arithmetic`` then is empty,
    else the sum that makes it. ``evidence`` are the figures it rests on, in words; ``stage`` is the stage meant, ""
    for the whole program.
    """

    tool: str
    severity: Severity
    cause: str
    advice: tuple[Advice, ...]
    gain: float | None = None
    arithmetic: str = ""
    evidence: tuple[str, ...] = ()
    stage: str = ""


@dataclass(frozen=True, slots=True)
class Vote:
    """One opinion, and the figures behind it in words; ``kind`` is None where there was nothing to judge by."""

    kind: Bottleneck | None
    words: str


@dataclass(frozen=True, slots=True)
class Classification:
    """The bottleneck, by two votes: ``analytic`` from the bounds, ``profiled`` from the card's counters.

    ``words`` say which vote decided.
    """

    kind: Bottleneck
    analytic: Vote
    profiled: Vote
    words: str
