"""Logs from before there were phases, representations and memory still load, and mean what they meant."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.controllers import controller
from agent.history import State
from agent.phases import Phase, phase_of
from agent.prompts import LIMIT, compose
from agent.steps import Ask, Asked, Candidate, Evaluate, Event, History, Shape, TrajectorySettings
from kernels.languages import Language
from kernels.records import from_json, to_json
from tests.agent.driving import settings

ROOT = Path(__file__).parents[2]
SPEC = {"name": "x", "dtype": "f32", "shape": [4, 4]}
OLD: list[dict[str, Any]] = [
    {
        "problem": "own/1",
        "signature": {"inputs": [SPEC], "parameters": [], "outputs": [SPEC], "constants": {}},
        "target": "host",
        "policy": "strict",
        "seed_program": "seed",
        "sol_s": 1e-3,
        "floor_s": 5e-4,
        "bound_class": "compute",
        "cores": 2,
        "kind": "started",
    },
    {
        "number": 1,
        "candidate": {"text": "seed", "parent": None, "change": "translated program", "hypothesis": ""},
        "kind": "submitted",
    },
    {"number": 1, "outcome": "passed", "detail": "", "time_s": 9e-3, "baseline_s": 1e-2, "kind": "measured"},
    {"ask": {"number": 1, "purpose": "expand", "parent": 1, "count": 1, "payload": {}}, "kind": "asked"},
    {
        "number": 1,
        "candidates": [{"text": "faster", "parent": 1, "change": "y.tile(8, 8, 8)", "hypothesis": "why"}],
        "error": None,
        "kind": "answered",
    },
]
SETTINGS = {
    "controller": "flat",
    "proposer": "search",
    "attempts": 9,
    "epsilon": None,
    "patience": None,
    "steering": True,
    "seed": 1,
}


LOADS = """
from tests.agent.test_stored_events import loaded
print([type(event).__name__ for event in loaded()])
"""


@pytest.mark.parametrize("seed", range(1, 7))
def test_an_old_log_loads_in_any_process(seed: int) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    ran = subprocess.run(
        [sys.executable, "-c", LOADS], env=environment, capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert ran.stdout.strip() == "['Started', 'Submitted', 'Measured', 'Asked', 'Answered']", ran.stderr


@pytest.mark.parametrize("form", [{"number": 1}, {"number": 1, "kind": "dreamt"}, [], "measured"])
def test_a_form_of_no_known_kind_is_refused_and_the_kinds_are_named(form: object) -> None:
    with pytest.raises(ValueError, match="the kinds are answered, asked"):
        from_json(form, Event)  # type: ignore[arg-type]


def loaded() -> History:
    return tuple(from_json(form, Event) for form in OLD)  # type: ignore[arg-type]


def test_an_old_log_loads_and_goes_on() -> None:
    chosen = from_json(SETTINGS, TrajectorySettings)
    assert (chosen.representation, chosen.memory, chosen.shape) == (Language.MU, True, Shape(5, 2, 4))
    step = controller("flat").next_step(chosen, loaded())
    assert step == Evaluate(2, Candidate("faster", 1, "y.tile(8, 8, 8)", "why"))


def test_an_old_ask_is_a_plain_attempt() -> None:
    asked = loaded()[3]
    assert isinstance(asked, Asked)
    assert phase_of(asked.ask) is Phase.ATTEMPT
    assert compose(settings(), loaded()[:4], asked.ask).characters <= LIMIT


def test_new_events_come_back_as_they_were() -> None:
    events = (*loaded(), Asked(Ask(2, "advise", 1, 4, {"iteration": 1}, "nominate")))
    assert tuple(from_json(to_json(event), Event) for event in events) == events  # type: ignore[arg-type]
    assert State.of(settings(), events).open_step == "ask 2"


@pytest.mark.parametrize("name", ["", "unheard of"])
def test_a_phase_that_nobody_knows_is_a_plain_attempt(name: str) -> None:
    assert phase_of(Ask(1, "expand", 1, 1, phase=name)) is Phase.ATTEMPT
