"""What feedback is to the search: moves that answer an open finding rank higher, under steering alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from statistics import mean

from agent.feedback import Advice, Evidence, Finding, Severity, findings
from agent.history import State
from agent.proposers.answering import open_findings
from agent.proposers.search import Search
from agent.steps import Answered, Ask, Asked, Candidate, History, Measured, Profiled, Started, Submitted
from kernels.dtypes import DType
from kernels.harness.evaluation import StageShare
from kernels.languages import Language
from kernels.problems.inspection import Signature, TensorSpec
from tests.agent.driving import drive, passed, settings, started
from tests.agent.synthetic import SEED, measure

SPLIT = Finding("try-split", Severity.CRITICAL, "c", (Advice("w", "y", "split", (2,), (1,)),), evidence=("seen",))
DEEP = SEED.replace("weight.T)", "weight.T).stages(1)").replace(
    "  out = map(relu(z))", "  a = map(relu(z))\n  out = map(tanh(a))"
)


def begin(**changes: object) -> Started:
    return started(**{"seed_program": SEED, "sol_s": 2e-3, **changes})


def first(*found: Finding) -> History:
    candidate = Candidate(SEED, None, "translated program", "")
    return (begin(), Submitted(1, candidate), passed(1, 9e-3, feedback=found))


def expand(history: History, count: int = 1000, **changes: object) -> Answered:
    ask = Ask(1, "expand", 1, count)
    return Search().answer(settings(**changes), (*history, Asked(ask)), ask)


def place(answer: Answered, change: str) -> int:
    return [candidate.change for candidate in answer.candidates].index(change)


def test_a_move_that_answers_a_finding_ranks_higher_and_says_whose_advice_it_is() -> None:
    plain, told = expand(first()), expand(first(SPLIT))
    assert place(told, "y.split(2)") < place(plain, "y.split(2)")
    chosen = told.candidates[place(told, "y.split(2)")]
    assert chosen.tool == "try-split"
    assert "(try-split: seen)" in chosen.hypothesis
    assert {candidate.tool for candidate in plain.candidates} == {""}


def test_with_steering_off_feedback_changes_nothing() -> None:
    assert expand(first(), steering=False) == expand(first(SPLIT), steering=False)


def test_a_finding_is_closed_once_it_was_followed_in_vain() -> None:
    history = first(SPLIT)
    for number in (2, 3):
        state = State.of(settings(), history)
        assert open_findings(state, state.attempts[0]) == [SPLIT]
        tried = Candidate(f"{number}", 1, "y.split(2)", "", tool="try-split")
        history = (*history, Submitted(number, tried), passed(number, 9.5e-3))
    state = State.of(settings(), history)
    assert open_findings(state, state.attempts[0]) == []


def test_what_a_profile_adds_is_known_to_the_next_ask() -> None:
    history: History = (*first(), Profiled(1, (SPLIT,)))
    assert expand(history).candidates == expand(first(SPLIT)).candidates
    state = State.of(settings(), history)
    assert state.attempts[0].time_s == 9e-3


def with_feedback(start: Started) -> Callable[[int, Candidate], Measured]:
    """The synthetic measurement with what the tools say of it."""
    bare = measure(start)

    def measured(number: int, candidate: Candidate) -> Measured:
        result = bare(number, candidate)
        known = Evidence(
            target=start.target,
            policy=start.policy,
            signature=start.signature,
            language=Language.MU,
            source=candidate.text,
            outcome=result.outcome,
            detail=result.detail,
            time_s=result.time_s,
            stages=tuple(StageShare(name, seconds, False) for name, seconds in result.stage_seconds.items()),
            units=start.cores,
            l2_bytes=2**21,
        )
        return replace(result, feedback=findings(known))

    return measured


def problem(m: int, k: int, n: int, source: str) -> Started:
    x, weight, bias = (TensorSpec(*spec) for spec in (
        ("x", DType.F32, (m, k)), ("weight", DType.F32, (n, k)), ("bias", DType.F32, (n,)),
    ))  # fmt: skip
    out = TensorSpec("y", DType.F32, (m, n))
    return begin(seed_program=source, signature=Signature((x,), (weight, bias), (out,), {}))


PROBLEMS = (problem(512, 1024, 768, SEED), problem(64, 4096, 64, SEED), problem(512, 1024, 768, DEEP))


def speedup(attempts: int, feedback: bool) -> float:
    """Geomean of the best over the first program, by the synthetic costs."""
    logs = []
    for start in PROBLEMS:
        for seed in range(4):
            chosen = settings(epsilon=None, patience=None, attempts=attempts, seed=seed)
            history = drive(chosen, start, Search(), with_feedback(start) if feedback else measure(start))
            state = State.of(chosen, history)
            assert state.standing.best_s
            assert state.attempts[0].time_s
            logs.append(math.log(state.attempts[0].time_s / state.standing.best_s))
    return math.exp(mean(logs))


def test_on_synthetic_costs_feedback_gets_further_with_few_attempts() -> None:
    assert speedup(4, feedback=True) > speedup(4, feedback=False)
    assert speedup(10, feedback=True) > 0.98 * speedup(10, feedback=False)
