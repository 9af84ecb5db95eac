"""Orchestrated MANTIS, MI and in-prompt MANTIS, driven by scripted answers through the same parser as a model's."""

from __future__ import annotations

from typing import Any

import pytest

from agent.controllers import controller
from agent.history import EXHAUSTED, State
from agent.proposers.scripted import Scripted
from agent.proposers.search import Search
from agent.steps import (
    Answered,
    Ask,
    Asked,
    Candidate,
    Finished,
    FinishReason,
    History,
    Measured,
    Shape,
    Submitted,
    TrajectorySettings,
)
from agent.triage import roi
from kernels.languages import Language
from tests.agent.driving import ADVICE, HYPOTHESES, Counting, drive, failed, passed, settings, started


def orchestrated(**changes: Any) -> TrajectorySettings:
    chosen = {"controller": "mantis-orchestrated", "attempts": 40, "epsilon": None, "patience": None}
    return settings(**{**chosen, **changes})


def asks_of(history: History) -> list[Ask]:
    return [event.ask for event in history if isinstance(event, Asked)]


def slow(number: int, _: Candidate) -> Measured:
    return passed(number, 20e-3)


def program(text: str, **changes: Any) -> dict[str, Any]:
    made = {"text": text, "change": "a change", "hypothesis": "a cause", "predicted": 1.5, "tool": None}
    return {"candidates": [{**made, **changes}]}


def test_one_iteration_goes_through_every_phase() -> None:
    chosen = orchestrated(shape=Shape(1, 2, 2))
    script = [
        {"answer": ADVICE["analyze"]},
        {"answer": ADVICE["nominate"]},
        *({"answer": program(f"program {index}")} for index in range(4)),
        {"answer": ADVICE["summarize"]},
    ]
    history = drive(chosen, started(), Scripted(script), slow)
    asks = asks_of(history)
    assert [ask.phase for ask in asks] == ["analyze", "nominate", *["implement"] * 4, "summarize"]
    assert [ask.purpose for ask in asks] == ["advise", "advise", *["expand"] * 4, "advise"]
    implementing = asks[2:6]
    assert [(ask.payload["place"], ask.payload["try"]) for ask in implementing] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert [attempt.candidate.predicted for attempt in State.of(chosen, history).attempts] == [None, *[1.5] * 4]
    finish = history[-1]
    assert isinstance(finish, Finished)
    assert (finish.reason, finish.words) == (
        FinishReason.ATTEMPTS_SPENT,
        "1 of 1 iterations done, 5 attempts used",
    )


def test_triage_takes_the_highest_return_by_the_formula_and_the_gap() -> None:
    bold = {"change": "b", "cause": "", "speedup": 9.0, "implementation_risk": 3.0, "performance_risk": 2.0}
    small = {"change": "s", "cause": "", "speedup": 2.0, "implementation_risk": 1.0, "performance_risk": 1.0}
    script = [{"answer": ADVICE["analyze"]}, {"answer": {"hypotheses": [bold, small]}}]

    def order(time_s: float, steering: bool) -> list[tuple[str, float]]:
        chosen = orchestrated(shape=Shape(1, 2, 1), steering=steering)
        history = drive(
            chosen, started(), Scripted([*script, *[{"error": "busy"}] * 3]), lambda n, _: passed(n, time_s)
        )
        ask = next(ask for ask in asks_of(history) if ask.phase == "implement")
        return [(each["change"], each["roi"]) for each in ask.payload["triage"]]

    # SOL is 1 ms: near it the small idea is worth more, at a gap of 500 the bold one.
    assert order(4e-3, True) == [("s", 2.0), ("b", 1.5)]
    assert order(0.5, True) == [("b", roi(9.0, 3.0, 2.0, 500.0)), ("s", roi(2.0, 1.0, 1.0, 500.0))]
    assert order(0.5, False) == [("s", 2.0), ("b", 1.5)]


def test_a_ranking_stands_while_the_gap_changes() -> None:
    history = drive(
        orchestrated(shape=Shape(2, 2, 2)), started(), Counting(), lambda n, _: passed(n, 0.9 / n**3 + 1e-3)
    )
    for iteration in (1, 2):
        found = [ask.payload["triage"] for ask in asks_of(history) if ask.phase == "implement"
                 and ask.payload["iteration"] == iteration]  # fmt: skip
        assert len(found) == 4
        assert all(each == found[0] for each in found)


def test_the_usual_shape_gives_forty_attempts_in_five_iterations() -> None:
    history = drive(orchestrated(), started(), Counting(), slow)
    asks = asks_of(history)
    assert len(State.of(orchestrated(), history).attempts) == 40
    assert [ask.payload["iteration"] for ask in asks if ask.phase == "analyze"] == [1, 2, 3, 4, 5]
    # The attempts end in the fifth iteration; what it taught is asked for all the same.
    assert asks[-1].phase == "summarize"
    assert history[-1] == Finished(FinishReason.ATTEMPTS_SPENT, "40 of 40 attempts used")


def test_without_memory_nothing_is_summarized() -> None:
    history = drive(orchestrated(memory=False, shape=Shape(2, 1, 2)), started(), Counting(), slow)
    assert {ask.phase for ask in asks_of(history)} == {"analyze", "nominate", "implement"}


def test_a_lesson_that_fails_stops_nothing() -> None:
    class Silent(Counting):
        def answer(self, settings: TrajectorySettings, history: History, ask: Ask) -> Answered:
            if ask.phase == "summarize":
                return Answered(ask.number, (), "no idea")
            return super().answer(settings, history, ask)

    history = drive(orchestrated(shape=Shape(3, 1, 1)), started(), Silent(), slow)
    assert len([ask for ask in asks_of(history) if ask.phase == "summarize"]) == 3
    assert isinstance(history[-1], Finished)
    assert history[-1].reason is FinishReason.ATTEMPTS_SPENT


def test_a_failed_try_is_mended_and_a_good_one_taken_further() -> None:
    history = drive(
        orchestrated(shape=Shape(1, 1, 4)),
        started(),
        Counting(),
        lambda n, _: failed(n) if n == 2 else passed(n, 9e-3 / n),
    )
    assert [ask.parent for ask in asks_of(history) if ask.phase == "implement"] == [1, 2, 3, 4]


def test_an_answer_that_fits_no_phase_is_asked_for_again_and_given_up_after_three() -> None:
    wrong = {"answer": {"bottleneck": "the weather", "summary": "", "evidence": [], "opportunities": []}}
    history = drive(orchestrated(), started(), Scripted([wrong] * 9), slow)
    assert [ask.phase for ask in asks_of(history)] == ["analyze"] * 3
    finish = history[-1]
    assert isinstance(finish, Finished)
    assert finish.reason is FinishReason.PROPOSER_FAILED
    assert "wrong-schema: answer.bottleneck is 'the weather'" in finish.words


def test_hypotheses_that_cannot_be_ranked_are_of_no_use() -> None:
    class Vague(Counting):
        def answer(self, settings: TrajectorySettings, history: History, ask: Ask) -> Answered:
            if ask.phase == "nominate":
                return Answered(ask.number, (), data={"hypotheses": [{"change": "be faster"}]})
            return super().answer(settings, history, ask)

    history = drive(orchestrated(), started(), Vague(), slow)
    assert history[-1] == Finished(FinishReason.PROPOSER_FAILED, "3 answers to nominate that are of no use")


def test_a_hypothesis_with_nothing_left_gives_way_to_the_next() -> None:
    class Barren(Counting):
        def answer(self, settings: TrajectorySettings, history: History, ask: Ask) -> Answered:
            if ask.phase == "implement" and ask.payload["place"] == 0:
                return Answered(ask.number, (), EXHAUSTED)
            return super().answer(settings, history, ask)

    history = drive(orchestrated(shape=Shape(1, 2, 3)), started(), Barren(), slow)
    assert [ask.payload["place"] for ask in asks_of(history) if ask.phase == "implement"] == [0, 1, 1, 1]


def test_the_search_says_that_it_answers_no_phase() -> None:
    history = drive(orchestrated(), started(), Search(), slow)
    finish = history[-1]
    assert isinstance(finish, Finished)
    assert finish.reason is FinishReason.PROPOSER_FAILED
    assert "search writes programs and answers no analyze phase" in finish.words


def test_more_hypotheses_are_asked_for_than_are_implemented() -> None:
    history = drive(orchestrated(shape=Shape(1, 2, 1)), started(), Counting(), slow)
    nominate = next(ask for ask in asks_of(history) if ask.phase == "nominate")
    implement = [ask.payload["hypothesis"]["change"] for ask in asks_of(history) if ask.phase == "implement"]
    assert nominate.count == 4
    assert len(HYPOTHESES) == 3
    assert implement == ["change 1.0", "change 2.0"]


@pytest.mark.parametrize("name", ["mi", "mantis"])
def test_what_failed_is_mended_twice_before_the_best_is_taken_up_again(name: str) -> None:
    times = {1: 9e-3, 2: 5e-3}
    history = drive(
        settings(controller=name, attempts=9),
        started(),
        Counting(),
        lambda n, _: passed(n, times[n]) if n in times else failed(n),
    )
    # From the best (2); mend 3, mend 4; again from the best, and so on.
    assert [ask.parent for ask in asks_of(history)] == [1, 2, 3, 4, 2, 6, 7, 2]


@pytest.mark.parametrize("name", ["mi", "mantis"])
def test_a_flagged_attempt_can_be_mended(name: str) -> None:
    history = drive(
        settings(controller=name, attempts=4),
        started(),
        Counting(),
        lambda n, _: passed(n, 9e-3 / n, flagged=n == 2),
    )
    assert [ask.parent for ask in asks_of(history)] == [1, 2, 3]


@pytest.mark.parametrize("name", ["tree", "flat", "mi", "mantis", "mantis-orchestrated"])
@pytest.mark.parametrize("language", [Language.CPP, Language.PY])
def test_a_run_in_another_representation_asks_for_its_first_program(name: str, language: Language) -> None:
    chosen = settings(controller=name, representation=language, attempts=5)
    first = controller(name).next_step(chosen, (started(),))
    assert first == Ask(1, "seed", None, 1, phase="seed")
    history = drive(chosen, started(), Counting(), slow)
    submitted = [event for event in history if isinstance(event, Submitted)]
    assert submitted[0].candidate.parent is None
    assert len(submitted) == 5


def test_a_first_program_that_never_comes_ends_the_run() -> None:
    chosen = settings(controller="mi", representation=Language.PY)
    refused = drive(chosen, started(), Scripted([{"error": "busy"}] * 3), slow)
    assert isinstance(refused[-1], Finished)
    assert refused[-1].reason is FinishReason.PROPOSER_FAILED
    silent = drive(chosen, started(), Scripted([]), slow)
    assert silent[-1] == Finished(FinishReason.SPACE_EXHAUSTED, "search space exhausted after 0 attempts")


def test_a_given_program_in_the_runs_own_representation_is_gone_on_from() -> None:
    begin = started(seed_given=True, seed_language=Language.CPP, seed_program="int main() {}")
    history = drive(settings(controller="mi", representation=Language.CPP, attempts=3), begin, Counting(), slow)
    submitted = [event.candidate for event in history if isinstance(event, Submitted)]
    assert (submitted[0].text, submitted[0].language) == ("int main() {}", Language.CPP)
    assert len(submitted) == 3


def test_a_scripted_program_is_in_the_runs_representation() -> None:
    chosen = settings(controller="mi", representation=Language.PY, attempts=2)
    script: list[dict[str, Any]] = [
        {"candidates": [{"text": "a"}]},
        {"answer": program("```python\nclass ModelNew: ...\n```")},
    ]
    history = drive(chosen, started(), Scripted(script), slow)
    submitted = [event.candidate for event in history if isinstance(event, Submitted)]
    assert [(each.text, each.language) for each in submitted] == [
        ("a", Language.PY),
        ("class ModelNew: ...\n", Language.PY),
    ]
