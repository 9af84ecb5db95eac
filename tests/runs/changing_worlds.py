"""What tests of changed runs share: doing some jobs, other limits, and whether a log is whole."""

from __future__ import annotations

from typing import Any

from agent.changes import settings_at_launch
from agent.controllers import controller
from agent.steps import Asked, Finished, Submitted
from runs import budgets, engine
from runs.budgets import Budget
from runs.execution import run_job
from runs.models import Attempt, Event, Run, Trajectory
from runs.states import AttemptState
from tests.runs.worlds import next_job


def steps(most: int) -> None:
    """Do so many jobs."""
    for _ in range(most):
        job = next_job()
        assert job is not None
        run_job(job.pk, "test worker")


def budget(run: Run, **changes: Any) -> Budget:
    run.refresh_from_db()
    return Budget(**{**{n: getattr(budgets.budget_of(run), n) for n in Budget.__slots__}, **changes})


def assert_whole(trajectory: Trajectory, attempts: int) -> None:
    """No attempt is lost or doubled, the log is gapless, and each of its steps follows from what was before it."""
    rows = list(Attempt.objects.filter(trajectory=trajectory).order_by("number").values_list("number", "state"))
    assert rows == [(n, AttemptState.DONE) for n in range(1, attempts + 1)]
    events = list(Event.objects.filter(trajectory=trajectory).order_by("sequence"))
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    history = engine.history_of(trajectory)
    run = Run.objects.get(pk=trajectory.run_id)
    began = settings_at_launch(engine.settings_of(run), history)
    chooser = controller(run.controller)
    for place, event in enumerate(history):
        if isinstance(event, Asked):
            assert chooser.next_step(began, history[:place]) == event.ask
        elif isinstance(event, Submitted):
            assert chooser.next_step(began, history[:place]).number == event.number  # type: ignore[union-attr]
        elif isinstance(event, Finished):
            step = chooser.next_step(began, history[:place])
            assert (step.reason, step.words) == (event.reason, event.words)  # type: ignore[union-attr]
    trajectory.refresh_from_db()
    assert trajectory.attempts_done == attempts
