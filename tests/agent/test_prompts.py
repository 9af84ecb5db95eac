"""What a model is given: every part where it belongs, switches that leave parts out, data that stays data."""

from __future__ import annotations

import json
import re

import pytest

from agent.feedback import Finding, Severity
from agent.phases import Phase
from agent.prompts import LIMIT, compose, limit_of
from agent.prompts.schemas import schema_of
from agent.steps import Answered, Ask, Asked, Shape
from kernels.languages import Language
from kernels.targets import Target
from tests.agent.driving import passed, settings
from tests.agent.prompting import FINDING, ask_for, blocks, history_of, iteration, named, outside

PHASES = pytest.mark.parametrize("phase", [phase.value for phase in Phase])
WRITING = pytest.mark.parametrize("phase", [phase.value for phase in Phase if phase.wants_candidates])


@pytest.mark.parametrize("target", list(Target))
def test_a_mantis_attempt_with_the_reference_and_forty_attempts_fits(target: Target) -> None:
    history = history_of(40, target=target, problem_source="x = 1\n" * 9000)
    prompt = compose(settings(attempts=41), history, ask_for("mantis", 38))
    assert prompt.characters <= LIMIT == 45_000
    assert prompt.characters > LIMIT - 800
    assert len(prompt.left_out) == 1
    assert re.fullmatch(r"problem source \(Python\): \d\d,\d{3} of 54,000 characters", prompt.left_out[0])
    assert "## Stages" in prompt.system
    assert "## Rules\n- gemm and bmm" in prompt.system
    assert len(blocks(prompt)["history, one attempt a line"].splitlines()) == 41
    assert prompt.left_out[0] in outside(prompt)


@pytest.mark.parametrize("shape", [Shape(5, 2, 4), Shape(1, 1, 1), Shape(3, 1, 2), Shape(1, 10, 40)])
def test_the_prompts_of_an_orchestrated_iteration_fit_its_attempts(shape: Shape) -> None:
    chosen = settings(controller="mantis-orchestrated", shape=shape)
    attempts = shape.hypotheses * shape.attempts
    shared = sum(limit_of(chosen, phase) for phase in (Phase.ANALYZE, Phase.NOMINATE, Phase.SUMMARIZE))
    assert shared + attempts * limit_of(chosen, Phase.IMPLEMENT) <= attempts * LIMIT
    for phase in ("analyze", "nominate", "implement", "summarize"):
        prompt = compose(chosen, iteration(history_of(40, target=Target.SM90A)), ask_for(phase, 38))
        assert prompt.characters <= limit_of(chosen, Phase(phase))


def test_a_short_prompt_says_what_of_the_reference_is_missing() -> None:
    chosen = settings(controller="mantis-orchestrated", shape=Shape(1, 1, 1))
    prompt = compose(chosen, iteration(history_of(9, target=Target.SM90A)), ask_for("nominate"))
    assert "language reference: all but knobs" in prompt.left_out
    assert "Left out for want of room: language reference: all but knobs" in prompt.user


def test_an_attempt_shows_the_program_its_result_and_what_was_found() -> None:
    prompt = compose(settings(), history_of(7), ask_for("attempt", 5))
    found = blocks(prompt)
    assert found["program of attempt 5 (μCUTLASS), to start from"].endswith("# 5")
    assert "predicted 1.3x, actual 1.25x" in found["result of attempt 5"]
    assert "B does not fit the cache" in found["findings of the feedback tools on attempt 5"]
    assert found["program of attempt 7, the best so far: 1.286 ms"].endswith("# 7")
    assert "3 | 2 | y.tile(3, 8, 8) | build error" in found["history, one attempt a line"]
    assert "1 GFLOP" in found["SOL report"]
    assert "(other_gemm, compute) tile k of 256" in found["lessons: hints from earlier work, not rules"]
    assert "input x: f32[512, 1024]" in found["problem and its tensors"]
    assert prompt.user.endswith("Answer with exactly one candidate.")
    assert prompt.left_out == ()


def test_a_failed_parent_shows_its_whole_error() -> None:
    prompt = compose(settings(), history_of(3), ask_for("attempt", 3))
    assert blocks(prompt)["result of attempt 3"].splitlines() == [
        "build error; —; torch eager —",
        "over its parent: predicted 1.3x, actual —",
        "it did not work",
    ]


def test_a_node_of_the_tree_shows_its_lineage_its_children_and_the_rest() -> None:
    history = history_of(6)
    prompt = compose(settings(), history, ask_for("expand", 2, count=2))
    found = blocks(prompt)
    numbers = {
        name.partition(",")[0]: [line.partition(" ")[0] for line in text.splitlines()[1:]]
        for name, text in found.items()
        if "one attempt a line" in name
    }
    assert numbers == {
        "from the root to this node": ["1", "2"],
        "made from this node before": ["3"],
        "the rest of the tree": ["4", "5", "6"],
    }
    assert "exactly 2 candidates" in prompt.user
    alone = compose(settings(memory=False), history, ask_for("expand", 2))
    assert not named(alone, ["the rest of the tree"])
    assert named(alone, ["from the root to this node", "made from this node before"])


@PHASES
def test_without_steering_there_is_no_word_of_sol_or_the_gap(phase: str) -> None:
    chosen = settings(controller="mantis-orchestrated", steering=False)
    prompt = compose(chosen, iteration(history_of(7)), ask_for(phase, 5))
    told = (prompt.system.partition("# μCUTLASS")[0] + prompt.user).lower()
    assert "sol" not in told.replace("solve", "")
    assert "gap" not in told
    assert "speed of light" not in prompt.system.lower()
    with_it = compose(settings(controller="mantis-orchestrated"), iteration(history_of(7)), ask_for(phase, 5))
    assert "SOL" in with_it.system


def test_without_steering_a_finding_that_judges_by_the_bound_is_not_told() -> None:
    near = Finding("near-bound", Severity.NOTE, "It runs at 1.1x of the bound", ())
    begin, tried, _ = history_of(1)
    history = (begin, tried, passed(1, 1.1e-3, feedback=(near, FINDING)))
    with_it, without = (compose(settings(steering=on), history, ask_for("attempt")).user for on in (True, False))
    assert "of the bound" in with_it
    assert "of the bound" not in without
    assert FINDING.cause in without


@PHASES
def test_without_memory_there_are_no_lessons(phase: str) -> None:
    said = Ask(1, "advise", 1, 1, {"iteration": 1}, "summarize")
    history = (*history_of(7), Asked(said), Answered(1, (), data={"lesson": "fuse early", "bottleneck": "memory"}))
    without = compose(settings(memory=False), history, ask_for(phase, 5))
    assert "fuse early" not in without.user
    assert "other_gemm" not in without.user
    if phase not in ("summarize",):
        with_it = compose(settings(), history, ask_for(phase, 5))
        assert "fuse early" in with_it.user
        assert "other_gemm" in with_it.user


def test_the_in_prompt_workflow_has_no_lesson_without_memory() -> None:
    assert "lesson" in schema_of(settings(), Phase.MANTIS)["required"]
    assert "lesson" not in schema_of(settings(memory=False), Phase.MANTIS)["required"]
    assert "Summarize" not in compose(settings(memory=False), history_of(2), ask_for("mantis")).system


def test_implementing_shows_the_analysis_and_the_hypothesis() -> None:
    prompt = compose(settings(controller="mantis-orchestrated"), iteration(history_of(4)), ask_for("implement", 4))
    found = blocks(prompt)
    assert "bottleneck: memory" in found["analysis of this iteration"]
    assert "change: change 4.0" in found["hypothesis to implement"]
    assert "This is try 2 of 4" in prompt.user


@WRITING
def test_raw_sources_are_taught_the_abi_and_their_header(phase: str) -> None:
    chosen = settings(representation=Language.CU)
    prompt = compose(chosen, iteration(history_of(3, target=Target.SM90A)), ask_for(phase))
    assert "mucutlass_launch" in prompt.system
    assert "sm_90a" in prompt.system
    assert "cutlass_search" in prompt.system
    assert "# μCUTLASS" not in prompt.system
    assert "static constexpr ::std::int64_t d0 = 512;" in blocks(prompt)["problem.h"]
    host = compose(settings(representation=Language.CPP), history_of(3), ask_for("attempt"))
    assert "cutlass_search" not in host.system


def test_modules_are_taught_what_a_modelnew_is() -> None:
    prompt = compose(settings(representation=Language.PY), history_of(0), Ask(1, "seed", None, 1, {}, "seed"))
    assert "class ModelNew(torch.nn.Module)" in prompt.system
    assert "Triton" not in prompt.system
    assert set(blocks(prompt)) == {
        "problem and its tensors",
        "problem source (Python)",
        "SOL report",
        "lessons: hints from earlier work, not rules",
    }


def test_an_ask_from_before_there_were_phases_is_an_attempt() -> None:
    history = history_of(3)
    old, new = Ask(1, "expand", 2, 1), Ask(1, "expand", 2, 1, phase="attempt")
    assert compose(settings(), history, old) == compose(settings(), history, new)


@PHASES
def test_schemas_are_strict(phase: str) -> None:
    def check(schema: dict[str, object]) -> None:
        if schema["type"] == "object":
            properties = schema["properties"]
            assert isinstance(properties, dict)
            assert schema["required"] == list(properties)
            assert schema["additionalProperties"] is False
            for inner in properties.values():
                check(inner)
        elif schema["type"] == "array":
            items = schema["items"]
            assert isinstance(items, dict)
            check(items)

    schema = schema_of(settings(), Phase(phase))
    check(schema)
    assert json.loads(json.dumps(schema)) == schema
