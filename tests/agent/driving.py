"""Drives a controller and a proposer without Celery: what ``runs`` does, in twenty lines. No clock, no database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent.controllers import controller
from agent.steps import (
    Answered,
    Ask,
    Asked,
    Candidate,
    Evaluate,
    Event,
    Finished,
    History,
    Measured,
    Proposer,
    Started,
    Submitted,
    TrajectorySettings,
)
from kernels.dtypes import DType
from kernels.harness.evaluation import Outcome
from kernels.problems.inspection import Signature, TensorSpec
from kernels.targets import Policy, Target

Measure = Callable[[int, Candidate], Measured]


def settings(**changes: object) -> TrajectorySettings:
    """Settings as a launch makes them, with some of them changed."""
    chosen: dict[str, object] = {
        "controller": "tree",
        "proposer": "search",
        "attempts": 12,
        "epsilon": 0.25,
        "patience": 16,
        "steering": True,
        "seed": 0,
    }
    return TrajectorySettings(**{**chosen, **changes})  # type: ignore[arg-type]


def started(**changes: object) -> Started:
    """A problem of one linear layer with a ReLU behind it."""
    shape = {"x": (512, 1024), "weight": (768, 1024), "bias": (768,), "y": (512, 768)}
    spec = {name: TensorSpec(name, DType.F32, extents) for name, extents in shape.items()}
    chosen: dict[str, object] = {
        "problem": "linear_relu",
        "signature": Signature((spec["x"],), (spec["weight"], spec["bias"]), (spec["y"],), {}),
        "target": Target.HOST,
        "policy": Policy.STRICT,
        "seed_program": "seed",
        "sol_s": 1e-3,
        "floor_s": 5e-4,
        "bound_class": "compute",
        "cores": 2,
    }
    return Started(**{**chosen, **changes})  # type: ignore[arg-type]


def passed(number: int, time_s: float, baseline_s: float | None = 10e-3, **changes: object) -> Measured:
    """The result of an attempt that passed."""
    return Measured(number, Outcome.PASSED, "", time_s, baseline_s, **changes)  # type: ignore[arg-type]


def failed(number: int, outcome: Outcome = Outcome.BUILD_ERROR) -> Measured:
    """The result of an attempt that did not."""
    return Measured(number, outcome, "it did not work", None, None)


HYPOTHESES = [
    {
        "change": f"change {risk}",
        "cause": "why",
        "speedup": 2.0,
        "implementation_risk": risk,
        "performance_risk": 1.0,
    }
    for risk in (4.0, 1.0, 2.0)
]
ADVICE: dict[str, dict[str, Any]] = {
    "analyze": {
        "bottleneck": "memory",
        "summary": "it waits",
        "evidence": ["y takes 80 %"],
        "opportunities": ["fuse"],
    },
    "nominate": {"hypotheses": HYPOTHESES},
    "summarize": {"lesson": "fusing helped", "bottleneck": "memory"},
}
"""An answer to each phase that wants no program."""


class Counting:
    """A proposer that always has something new to say; ``repeat`` makes it say the same thing for ever."""

    name = "counting"

    def __init__(self, repeat: bool = False) -> None:
        self.repeat = repeat

    def answer(self, settings: TrajectorySettings, history: History, ask: Ask) -> Answered:
        if ask.purpose == "advise":
            return Answered(ask.number, (), data=ADVICE[ask.phase])
        texts = ["same"] if self.repeat else [f"{ask.number}.{index}" for index in range(ask.count)]
        return Answered(ask.number, tuple(Candidate(text, ask.parent, "change", "why") for text in texts))


def step_events(chosen: TrajectorySettings, history: History, proposer: Proposer, measure: Measure) -> list[Event]:
    """The events that one step adds."""
    step = controller(chosen.controller).next_step(chosen, history)
    if isinstance(step, Ask):
        return [Asked(step), proposer.answer(chosen, (*history, Asked(step)), step)]
    if isinstance(step, Evaluate):
        return [Submitted(step.number, step.candidate), measure(step.number, step.candidate)]
    return [Finished(step.reason, step.words)]


def drive(chosen: TrajectorySettings, begin: Started, proposer: Proposer, measure: Measure) -> History:
    """A whole history; fails where a controller has not finished after far more steps than it may need."""
    history: list[Event] = [begin]
    for _ in range(10 * chosen.attempts + 50):
        history += step_events(chosen, tuple(history), proposer, measure)
        if isinstance(history[-1], Finished):
            return tuple(history)
    raise AssertionError(f"not finished after {len(history)} events")
