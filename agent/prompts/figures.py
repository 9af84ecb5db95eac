"""Times, speedups and outcomes as a model reads them. What was not measured is a dash."""

from __future__ import annotations

from agent.history import Attempt, State
from agent.prompts.text import inline
from kernels.harness.evaluation import Outcome
from sol.bounds.units import seconds

NOTHING = "—"
_LINE = 160


def time(value: float | None) -> str:
    """``4.213 ms``."""
    return NOTHING if value is None else seconds(value)


def ratio(value: float | None) -> str:
    """``1.31x``."""
    return NOTHING if value is None else f"{value:.3g}x"


def outcome(attempt: Attempt) -> str:
    """The outcome in words; one that is held back by a flag says so."""
    if attempt.result is None:
        return "under way"
    words = attempt.result.outcome.value.replace("_", " ")
    return f"{words}, flagged: does not count" if attempt.result.flagged else words


def over_parent(state: State, attempt: Attempt) -> float | None:
    """How many times as fast as its parent, calls on a disturbed machine set right; None where either has no time."""
    parent = state.attempt(attempt.candidate.parent or 1)
    before, after = state.steady_s(parent), state.steady_s(attempt)
    if parent is None or parent.number == attempt.number or not before or not after:
        return None
    return before / after


def error_line(attempt: Attempt) -> str:
    """The line of an attempt's detail that says most: the first with an error, else the first; empty if it passed."""
    result = attempt.result
    if result is None or (result.outcome is Outcome.PASSED and not result.flagged):
        return ""
    # Compilers may write megabytes; the first error is near the top.
    lines = [line.strip() for line in result.detail[:20_000].splitlines() if line.strip()]
    telling = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
    return inline(telling, 2 * _LINE if result.flagged else _LINE)
