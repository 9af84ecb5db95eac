"""MANTIS, Implement: one program that tries the hypothesis given, or mends the last one that tried it."""

from __future__ import annotations

from agent.prompts.fitting import Part
from agent.prompts.parts import answering, history, light, memory, problem, program, reasoning
from agent.prompts.phase_prompt import PhasePrompt
from agent.prompts.scene import Scene


def instructions(scene: Scene) -> str:
    """How to go about it."""
    return (
        "## This ask\nImplement the hypothesis given, in the program given, and nothing else. Where that program "
        "already tried it and failed, mend the error; where it tried it and passed, take it further.\n\n"
        + answering.candidates(scene)
    )


def parts(scene: Scene) -> tuple[Part, ...]:
    """The user message."""
    return (
        problem.tensors(scene),
        problem.header(scene),
        problem.source(scene, most=4_000, rank=5),
        light.report(scene, most=1_500, rank=6),
        memory.lessons(scene, most=1_500, rank=6),
        history.table(scene, scene.state.attempts, most=5_000),
        reasoning.analysis(scene, most=1_500),
        reasoning.hypothesis(scene),
        program.parent_program(scene),
        program.parent_result(scene),
        program.findings(scene, most=2_500),
    )


def question(scene: Scene) -> str:
    """The demand."""
    turn, turns = scene.ask.payload.get("try", 1), scene.settings.shape.attempts
    return f"This is try {turn} of {turns} for this hypothesis. {answering.how_many(scene)}"


PROMPT = PhasePrompt(instructions, parts, question)
