"""What people did to a run, in words for its page and the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runs import figures
from runs.control_models import Action, RunChange
from runs.models import Run

_NAMES = {
    "attempts": "attempts a problem",
    "pool": "attempts in all",
    "epsilon": "ε",
    "patience": "w",
    "token_limit": "tokens",
    "cost_limit": "cost",
}


def changes_of(run: Run) -> list[RunChange]:
    """What was done to a run, the newest first. One query."""
    return list(
        RunChange.objects.filter(run=run).select_related("user", "trajectory__problem").order_by("-pk")[:50]
    )


def who(change: RunChange) -> str:
    """Who did it."""
    return change.user.get_username() if change.user is not None else "somebody who has left"


def words_of(change: RunChange) -> str:
    """What was done, after the name of who did it: "raised attempts a problem 12 → 24; 3 problems go on"."""
    return _WORDS[Action(change.action)](change)


def _stopped(change: RunChange) -> str:
    return f"stopped {change.trajectory.problem.slug}" if change.trajectory is not None else "stopped a problem"


def _retried(change: RunChange) -> str:
    problems, attempts = change.record.get("problems", 0), change.record.get("attempts", 0)
    parts = [figures.counted(problems, "failed problem")] if problems else []
    parts += [figures.counted(attempts, "lost attempt")] if attempts else []
    return f"retried {' and '.join(parts)}"


def _raised(change: RunChange) -> str:
    before, after = change.record.get("before", {}), change.record.get("after", {})
    parts = [f"{_NAMES[name]} {_value(name, before[name])} → {_value(name, after[name])}" for name in before]
    going_on = change.record.get("problems", 0)
    said = f"changed {', '.join(parts)}" if parts else "let it go on with the same limits"
    return f"{said}; {figures.counted(going_on, 'problem goes', 'problems go')} on" if going_on else said


def _value(name: str, value: Any) -> str:
    if value is None:
        return "off" if name in ("epsilon", "patience") else "no limit"
    return f"{value * 100:g}{figures.THIN}%" if name == "epsilon" else f"{value:,}"


_WORDS: dict[Action, Callable[[RunChange], str]] = {
    Action.PAUSED: lambda change: "paused it",
    Action.RESUMED: lambda change: "resumed it",
    Action.CANCELLED: lambda change: "cancelled it",
    Action.RETRIED: _retried,
    Action.RAISED: _raised,
    Action.STOPPED: _stopped,
}
