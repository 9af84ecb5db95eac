from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from agent.controllers import controller, controller_names
from agent.errors import StepStillOpen, UnknownController
from agent.history import EXHAUSTED, State
from agent.proposers.scripted import Scripted
from agent.steps import (
    Answered,
    Ask,
    Asked,
    Candidate,
    Evaluate,
    Event,
    Finish,
    Finished,
    FinishReason,
    History,
    Measured,
    Shape,
    Submitted,
    TrajectorySettings,
)
from kernels.harness.evaluation import Outcome
from kernels.languages import Language
from kernels.records import from_json, to_json
from tests.agent.driving import ADVICE, HYPOTHESES, Counting, drive, failed, passed, settings, started

EACH = pytest.mark.parametrize("name", ["tree", "flat", "mi", "mantis", "mantis-orchestrated"])
PLAIN = pytest.mark.parametrize("name", ["tree", "flat", "mi", "mantis"])
"""Those that ask for programs alone."""


def test_an_unknown_controller_is_named_with_those_that_are_there() -> None:
    with pytest.raises(UnknownController, match=r"'forest'; there are tree, flat, mi, mantis, mantis-orchestrated"):
        controller("forest")
    assert controller_names() == ("tree", "flat", "mi", "mantis", "mantis-orchestrated")


@EACH
def test_the_translated_program_is_always_the_first_attempt(name: str) -> None:
    step = controller(name).next_step(settings(controller=name), (started(),))
    assert isinstance(step, Evaluate)
    assert (step.number, step.candidate.text, step.candidate.parent) == (1, "seed", None)


@EACH
def test_it_refuses_to_step_while_a_step_is_open(name: str) -> None:
    history: History = (started(), Submitted(1, Candidate("seed", None, "", "")))
    with pytest.raises(StepStillOpen, match="attempt 1"):
        controller(name).next_step(settings(controller=name), history)


@EACH
def test_no_attempts_allowed_means_none_are_made(name: str) -> None:
    step = controller(name).next_step(settings(controller=name, attempts=0), (started(),))
    assert step == Finish(FinishReason.ATTEMPTS_SPENT, "0 of 0 attempts used")


@PLAIN
def test_it_finishes_when_the_proposer_has_nothing_new(name: str) -> None:
    script = ({"candidates": [{"text": "a"}, {"text": "b"}]},)
    history = drive(settings(controller=name), started(), Scripted(script), lambda n, _: passed(n, 9e-3 / n))
    assert isinstance(history[-1], Finished)
    assert history[-1].reason is FinishReason.SPACE_EXHAUSTED
    assert "search space exhausted after" in history[-1].words


@EACH
def test_it_gives_a_proposer_up_after_three_failures_in_a_row_and_quotes_the_last(name: str) -> None:
    broken = Scripted(({"error": "no route"}, {"error": "no route"}, {"error": "quota used up"}))
    history = drive(settings(controller=name), started(), broken, lambda n, _: passed(n, 9e-3))
    assert history[-1] == Finished(
        FinishReason.PROPOSER_FAILED, "3 answers in a row without a candidate: quota used up"
    )


@PLAIN
def test_a_failure_between_answers_does_not_end_it(name: str) -> None:
    entry = {"candidates": [{"text": "x"}]}
    script = tuple({"error": "busy"} if i % 3 else {"candidates": [{"text": f"{i}"}]} for i in range(12))
    history = drive(settings(controller=name, attempts=5), started(), Scripted((entry, *script)), _slow)
    assert isinstance(history[-1], Finished)
    assert history[-1].reason is FinishReason.ATTEMPTS_SPENT


@EACH
def test_a_proposer_that_repeats_itself_is_given_up(name: str) -> None:
    history = drive(settings(controller=name), started(), Counting(repeat=True), _slow)
    assert isinstance(history[-1], Finished)
    assert history[-1].reason is FinishReason.PROPOSER_FAILED
    assert len(State.of(settings(), history).attempts) == 2


@EACH
def test_a_finished_history_stays_finished(name: str) -> None:
    chosen = settings(controller=name, attempts=2)
    history = drive(chosen, started(), Counting(), _slow)
    step = controller(name).next_step(replace(chosen, attempts=40), history)
    assert step == Finish(FinishReason.ATTEMPTS_SPENT, "2 of 2 attempts used")


def test_flat_asks_for_one_candidate_from_the_best() -> None:
    times = {1: 9e-3, 2: 5e-3, 3: 7e-3}
    history = drive(
        settings(controller="flat", attempts=4), started(), Counting(), lambda n, _: passed(n, times.get(n, 8e-3))
    )
    asks = [event.ask for event in history if isinstance(event, Asked)]
    assert [(ask.number, ask.parent, ask.count) for ask in asks] == [(1, 1, 1), (2, 2, 1), (3, 2, 1)]


def test_the_tree_goes_deeper_where_it_is_faster() -> None:
    def measure(number: int, candidate: Candidate) -> Measured:
        depth = 0 if candidate.parent is None else 1 + candidate_depth[candidate.parent]
        candidate_depth[number] = depth
        good = candidate.text.endswith(".0") or candidate.parent is None
        return passed(number, 9e-3 * (0.8**depth if good else 1.1))

    candidate_depth: dict[int, int] = {}
    drive(settings(attempts=20, epsilon=None), started(), Counting(), measure)
    assert max(candidate_depth.values()) >= 4


def test_the_tree_leaves_a_branch_whose_children_keep_failing() -> None:
    def measure(number: int, candidate: Candidate) -> Measured:
        # Attempt 2 is the fastest by far, and nothing made from it works.
        return failed(number) if candidate.parent == 2 else passed(number, 2e-3 if number == 2 else 9e-3)

    history = drive(settings(attempts=30, epsilon=None, patience=None), started(), Counting(), measure)
    parents = [event.candidate.parent for event in history if isinstance(event, Submitted)]
    assert 3 <= parents.count(2) <= 4


def test_the_tree_goes_on_from_the_root_when_all_that_follows_fails() -> None:
    history = drive(
        settings(attempts=9), started(), Counting(), lambda n, _: passed(n, 9e-3) if n == 1 else failed(n)
    )
    assert [event.candidate.parent for event in history if isinstance(event, Submitted)] == [None, *[1] * 8]


def test_the_tree_never_expands_a_flagged_attempt() -> None:
    history = drive(
        settings(attempts=20), started(), Counting(), lambda n, _: passed(n, 9e-3 / n, flagged=n % 2 == 0)
    )
    parents = {event.candidate.parent for event in history if isinstance(event, Submitted)} - {None}
    assert parents
    assert all(parent is not None and parent % 2 for parent in parents)


def test_the_tree_turns_elsewhere_where_one_parent_is_exhausted() -> None:
    class Barren(Counting):
        def answer(self, settings: TrajectorySettings, history: History, ask: Ask) -> Answered:
            if ask.parent == 2:
                return Answered(ask.number, (), EXHAUSTED)
            return super().answer(settings, history, ask)

    history = drive(settings(attempts=10, epsilon=None), started(), Barren(), lambda n, _: passed(n, 9e-3 / n))
    assert isinstance(history[-1], Finished)
    assert history[-1].reason is FinishReason.ATTEMPTS_SPENT
    assert sum(event.ask.parent == 2 for event in history if isinstance(event, Asked)) <= 1


def _slow(number: int, _: Candidate) -> Measured:
    return passed(number, 20e-3)


class Erratic:
    """A proposer that does what the drawn numbers say: repeats, fails, gives too many, names parents at will."""

    name = "erratic"

    def __init__(self, script: list[int]) -> None:
        self.script = script

    def answer(self, settings: TrajectorySettings, history: History, ask: Ask) -> Answered:
        number = self.script[ask.number % len(self.script)]
        if ask.purpose == "advise" and number % 5:
            broken: dict[str, Any] = {"hypotheses": [{"speedup": "fast"}, *HYPOTHESES[: number % 3]]}
            return Answered(ask.number, (), data=broken if number % 2 else ADVICE[ask.phase])
        if number % 7 == 0:
            return Answered(ask.number, (), EXHAUSTED if number % 2 else "no route to the model")
        parents = (ask.parent, None, 99, -3)
        made = (Candidate(f"{number}/{i}", parents[number % 4], "", "") for i in range(number % 5))
        return Answered(ask.number, tuple(made))


SETTINGS = st.builds(
    TrajectorySettings,
    controller=st.sampled_from(controller_names()),
    proposer=st.just("erratic"),
    attempts=st.integers(0, 25),
    epsilon=st.none() | st.floats(0, 3),
    patience=st.none() | st.integers(0, 6),
    steering=st.booleans(),
    seed=st.integers(0, 5),
    representation=st.sampled_from(Language),
    memory=st.booleans(),
    shape=st.builds(Shape, st.integers(1, 3), st.integers(1, 3), st.integers(1, 4)),
)
RESULTS = st.lists(
    st.tuples(st.sampled_from(Outcome), st.floats(1e-4, 1e-1), st.none() | st.floats(1e-3, 1e-2), st.booleans()),
    min_size=1,
    max_size=25,
)


@effort(max_examples=150, deadline=None)
@given(SETTINGS, RESULTS, st.lists(st.integers(0, 60), min_size=1, max_size=20))
def test_whatever_happens_it_ends_in_bounds_and_every_prefix_replays(
    chosen: TrajectorySettings,
    results: list[tuple[Outcome, float, float | None, bool]],
    script: list[int],
) -> None:
    def measure(number: int, _: Candidate) -> Measured:
        outcome, time_s, baseline_s, flagged = results[number % len(results)]
        time = time_s if outcome is Outcome.PASSED else None
        return Measured(number, outcome, "", time, baseline_s, flagged)

    history = drive(chosen, started(), Erratic(script), measure)
    assert isinstance(history[-1], Finished)
    submitted = [event for event in history if isinstance(event, Submitted)]
    assert len(submitted) <= chosen.attempts
    assert [event.number for event in submitted] == list(range(1, len(submitted) + 1))
    assert len({event.candidate.text for event in submitted}) == len(submitted)
    asks = [event.ask for event in history if isinstance(event, Asked)]
    assert [ask.number for ask in asks] == list(range(1, len(asks) + 1))
    assert all(1 <= ask.count <= chosen.attempts for ask in asks if ask.purpose != "advise")
    stored: History = tuple(from_json(to_json(event), Event) for event in history)  # type: ignore[arg-type]
    assert stored == history
    for end, event in enumerate(history):
        if isinstance(event, Asked | Submitted | Finished):
            assert _step_event(controller(chosen.controller).next_step(chosen, history[:end])) == event
        if end:
            _assert_best_counts(State.of(chosen, history[:end]))


def _step_event(step: Ask | Evaluate | Finish) -> Event:
    if isinstance(step, Ask):
        return Asked(step)
    if isinstance(step, Evaluate):
        return Submitted(step.number, step.candidate)
    return Finished(step.reason, step.words)


def _assert_best_counts(state: State) -> None:
    if state.best is None:
        assert all(attempt.time_s is None for attempt in state.attempts)
        return
    assert state.best.result is not None
    assert state.best.result.outcome is Outcome.PASSED
    assert not state.best.result.flagged
    assert state.best.time_s == min(a.time_s for a in state.attempts if a.time_s is not None)
