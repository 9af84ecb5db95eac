"""What an ask is for: the phases of the controllers, each with a prompt of its own in ``agent/prompts/phases``."""

from __future__ import annotations

from enum import StrEnum

from agent.steps import Ask


class Phase(StrEnum):
    """``ATTEMPT``: one more program, given the history. ``SEED``: the first, where the run starts from none.
    ``EXPAND``: programs made from one node of a tree. The others are MANTIS's."""

    ATTEMPT = "attempt"
    SEED = "seed"
    EXPAND = "expand"
    MANTIS = "mantis"
    ANALYZE = "analyze"
    NOMINATE = "nominate"
    IMPLEMENT = "implement"
    SUMMARIZE = "summarize"

    @property
    def wants_candidates(self) -> bool:
        """Whether its answer holds programs."""
        return self not in ADVICE


ADVICE = frozenset({Phase.ANALYZE, Phase.NOMINATE, Phase.SUMMARIZE})
"""Phases whose answer is no program."""


def phase_of(ask: Ask) -> Phase:
    """The phase of an ask; of one from before there were phases, and of an unknown name, the plain attempt."""
    try:
        return Phase(ask.phase)
    except ValueError:
        return Phase.ATTEMPT
