"""The phases of orchestrated MANTIS through the engine: asks and answers as rows, prompts made from them alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agent.prompts import LIMIT, compose
from agent.steps import Answered, Ask, Asked, Started
from kernels.models import Problem
from kernels.targets import Policy, Target
from runs import engine, launching
from runs.handlers import prepare as preparing
from runs.launching import LaunchOrder
from runs.models import Attempt, Trajectory
from runs.states import TrajectoryState
from tests.agent.driving import ADVICE
from tests.agent.prompting import blocks
from tests.runs.worlds import PROGRAM, Script, drain
from tests.web import rows

prepare = preparing.prepare
"""As it is, before the script puts itself in its place."""


@pytest.fixture
def problem(script: Script, monkeypatch: pytest.MonkeyPatch) -> Problem:
    """A problem with a real inspection, prepared as in life; builds and measurements are still scripted."""
    monkeypatch.setattr("runs.handlers.prepare.prepare", prepare)
    monkeypatch.setattr("runs.handlers.prepare.device_for", lambda target, lease: rows.device())
    return rows.problem(1)


def test_a_run_goes_through_its_phases_and_every_prompt_follows_from_its_rows(
    problem: Problem, tmp_path: Path
) -> None:
    def program(number: int) -> dict[str, object]:
        made = {"text": f"{PROGRAM}# {number}", "change": f"change {number}", "hypothesis": "why"}
        return {"answer": {"candidates": [{**made, "predicted": 1.2, "tool": None}]}}

    script = [
        {"answer": ADVICE["analyze"]},
        {"answer": ADVICE["nominate"]},
        *(program(number) for number in range(3)),
        {"answer": ADVICE["summarize"]},
    ]
    path = tmp_path / "s.json"
    path.write_text(json.dumps(script), encoding="utf-8")
    order = LaunchOrder(
        "phases", (problem.pk,), Target.HOST, Policy.STRICT, "mantis-orchestrated", f"scripted:{path}", 4, None, None,
        True, 0, "strict",
    )  # fmt: skip
    launching.launch(User.objects.create(username="alice"), order)
    drain()
    trajectory = Trajectory.objects.get()
    assert (trajectory.state, trajectory.words) == (TrajectoryState.DONE, "4 of 4 attempts used")
    assert list(Attempt.objects.order_by("number").values_list("change", flat=True)) == [
        "translated program",
        "change 0",
        "change 1",
        "change 2",
    ]
    history, chosen = engine.history_of(trajectory), engine.settings_of(trajectory.run)
    asked = [(place, event.ask) for place, event in enumerate(history) if isinstance(event, Asked)]
    assert [ask.phase for _, ask in asked] == ["analyze", "nominate", *["implement"] * 3, "summarize"]
    assert [event.data for event in history if isinstance(event, Answered)][-1] == ADVICE["summarize"]
    for place, ask in asked:
        # Whoever answers later, with more in the log, composes the same prompt from what there was then.
        prompt = compose(chosen, history[: place + 1], ask)
        assert prompt.characters <= LIMIT
        assert (
            f"# Attempt {min(4, 1 + sum(event.kind == 'submitted' for event in history[:place]))} of 4"
            in prompt.user
        )


def test_a_trajectory_begins_with_the_problems_source_and_its_bounds_in_words(problem: Problem) -> None:
    order = LaunchOrder(
        "begin", (problem.pk,), Target.HOST, Policy.STRICT, "flat", "search", 1, None, None, True, 0, "strict"
    )
    launching.launch(User.objects.create(username="alice"), order)
    drain()
    trajectory = Trajectory.objects.get()
    history = engine.history_of(trajectory)
    started = history[0]
    assert isinstance(started, Started)
    assert started.problem_source == problem.source
    lines = started.sol_report.splitlines()
    assert lines[1].startswith("steering bound (SOL): ")
    assert any(line.startswith("steering bound = max(") for line in lines)
    assert len(started.sol_report) < 6_000
    trajectory.refresh_from_db()
    assert trajectory.sol_s == started.sol_s
    first = compose(engine.settings_of(trajectory.run), history, Ask(1, "expand", 1, 1, phase="attempt"))
    assert blocks(first)["problem source (Python)"] == problem.source
