"""Settings that people changed while a trajectory was under way: which held when. Pure functions of settings and log.

The log tells each change with what held before it, so that any prefix of a log can be replayed with the settings of its
own time, and a controller stays a function of settings and history.
"""

from __future__ import annotations

from dataclasses import replace

from agent.steps import Asked, Changed, Finished, History, Limits, Reopened, TrajectorySettings


def limits_of(settings: TrajectorySettings) -> Limits:
    """What of the settings may be changed."""
    return Limits(
        attempts=settings.attempts,
        epsilon=settings.epsilon,
        patience=settings.patience,
        token_limit=settings.token_limit,
        cost_limit=settings.cost_limit,
    )


def with_limits(settings: TrajectorySettings, limits: Limits) -> TrajectorySettings:
    """The settings with these limits in place of their own."""
    return replace(
        settings,
        attempts=limits.attempts,
        epsilon=limits.epsilon,
        patience=limits.patience,
        token_limit=limits.token_limit,
        cost_limit=limits.cost_limit,
    )


def settings_at_launch(settings: TrajectorySettings, history: History) -> TrajectorySettings:
    """The settings with which a log began, from those of today and the whole log."""
    first = next((event for event in history if isinstance(event, Changed)), None)
    return settings if first is None else with_limits(settings, first.before)


def settings_now(settings: TrajectorySettings, history: History) -> TrajectorySettings:
    """The settings that hold at the end of a log, or of any prefix of one, from those it began with."""
    last = next((event for event in reversed(history) if isinstance(event, Changed)), None)
    return settings if last is None else with_limits(settings, last.after)


def finish_that_stands(history: History) -> Finished | None:
    """The end of a log; None where it never ended, or was opened again since."""
    found: Finished | None = None
    for event in history:
        if isinstance(event, Reopened):
            found = None
        elif isinstance(event, Finished):
            found = found or event
    return found


def forgiven_asks(history: History) -> int:
    """So many asks came before people last changed or opened something: their failures end nothing any more."""
    asked = forgiven = 0
    for event in history:
        if isinstance(event, Asked):
            asked += 1
        elif isinstance(event, (Changed, Reopened)):
            forgiven = asked
    return forgiven
