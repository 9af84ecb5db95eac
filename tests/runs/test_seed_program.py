"""A run that a person gave the first program: it is tried as given, and called what it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.contrib.auth.models import User

from agent.steps import Started
from kernels.models import Problem
from kernels.records import from_json
from kernels.targets import Policy, Target
from runs import launching
from runs.handlers import prepare as preparing
from runs.launching import LaunchOrder
from runs.models import Attempt, Event, Run, Trajectory
from runs.states import RunState
from tests.runs.worlds import Script, drain
from tests.web import rows

prepare = preparing.prepare
"""As it is, before the script puts itself in its place."""

GIVEN = """program mine(x: f32[512, 512], gemm.weight: f32[512, 512]) -> f32[512, 512]
  y = gemm(x, gemm.weight.T) >> relu()
  return y
"""


def order(problem: Problem) -> LaunchOrder:
    return LaunchOrder(
        "mine", (problem.pk,), Target.HOST, Policy.STRICT, "flat", "search", 1, None, None, False, 0, "strict"
    )


@pytest.fixture
def problem(script: Script, monkeypatch: pytest.MonkeyPatch) -> Problem:
    """A problem with a real inspection, prepared as in life; builds and measurements are still scripted."""
    monkeypatch.setattr("runs.handlers.prepare.prepare", prepare)
    monkeypatch.setattr("runs.handlers.prepare.device_for", lambda target, lease: rows.device())
    return rows.problem(1)


def test_the_given_program_is_tried_in_place_of_the_translated_one(problem: Problem, script: Script) -> None:
    launching.launch(User.objects.create(username="alice"), replace(order(problem), seed_program=GIVEN))
    drain()
    attempt = Attempt.objects.get()
    assert attempt.kernel.source == GIVEN
    assert (attempt.outcome, attempt.change, attempt.hypothesis) == ("passed", "program as given", "")
    assert Run.objects.get().state == RunState.DONE
    assert script.evaluations == 1
    started = from_json(Event.objects.get(kind="started").record, Started)
    assert (started.seed_program, started.seed_given) == (GIVEN, True)


def test_a_given_program_needs_no_translation(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("translated all the same")

    monkeypatch.setattr("runs.handlers.prepare.translate", refuse)
    launching.launch(User.objects.create(username="alice"), replace(order(problem), seed_program=GIVEN))
    drain()
    assert Attempt.objects.get().kernel.source == GIVEN


def test_without_one_the_translated_program_is_tried(problem: Problem) -> None:
    launching.launch(User.objects.create(username="alice"), order(problem))
    drain()
    attempt = Attempt.objects.get()
    assert Trajectory.objects.get().seed_program == ""
    assert attempt.kernel.source.startswith("program gemm(")
    assert attempt.change == "translated program"
