"""How long prompts may be, in characters of all that a model is given: system, user and schema."""

from __future__ import annotations

from agent.phases import Phase
from agent.steps import TrajectorySettings

LIMIT = 45_000
"""All prompts of one attempt, some 12,000 tokens."""

USER_SHARE = 0.3
"""Of a prompt at least this share is kept for what belongs to the problem and its history."""

_BASE, _EACH, _FULL = 16_000, 7_000, 8
"""What the prompts of an iteration that lead to no attempt share: so much, and so much for every attempt up to 8."""
_SHARES = {Phase.ANALYZE: 0.35, Phase.NOMINATE: 0.45, Phase.SUMMARIZE: 0.2}


def limit_of(settings: TrajectorySettings, phase: Phase) -> int:
    """Most characters of a phase's prompt.

    Where one prompt makes an attempt, that is LIMIT. In orchestrated MANTIS an iteration of n attempts has n prompts
    that implement and one each that analyzes, nominates and summarizes: together at most n·LIMIT.
    """
    attempts = max(1, settings.shape.hypotheses * settings.shape.attempts)
    shared = _BASE + _EACH * min(attempts, _FULL)
    if phase is Phase.IMPLEMENT:
        return LIMIT - -(-shared // attempts)
    return int(shared * _SHARES[phase]) if phase in _SHARES else LIMIT
