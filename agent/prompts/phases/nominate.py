"""MANTIS, Nominate: hypotheses with a cause, an expected speedup and two risks. Ranking them is not the model's."""

from __future__ import annotations

from agent.prompts.fitting import Part
from agent.prompts.parts import history, light, memory, problem, program, reasoning, risks
from agent.prompts.phase_prompt import PhasePrompt
from agent.prompts.scene import Scene


def instructions(scene: Scene) -> str:
    """How to go about it."""
    return (
        "## This ask\nNominate: from the analysis, hypotheses that differ in their cause; at least one bold and one "
        "small. They are ranked afterwards by what you say of them, so be honest about the risks. Write no program."
        '\n\n## Answer\nOne JSON object, `{"hypotheses": [...]}`, and nothing around it. Each hypothesis has\n'
        + risks.RATED
    )


def parts(scene: Scene) -> tuple[Part, ...]:
    """The user message."""
    return (
        reasoning.analysis(scene),
        problem.tensors(scene),
        problem.source(scene, most=4_000, rank=5),
        light.report(scene, most=2_500),
        memory.lessons(scene, most=2_000),
        history.table(scene, scene.state.attempts, most=5_000),
        program.parent_program(scene, most=7_000),
        program.parent_result(scene),
        program.findings(scene, most=3_000),
    )


def question(scene: Scene) -> str:
    """The demand."""
    return f"Answer with exactly {scene.ask.count} hypotheses."


PROMPT = PhasePrompt(instructions, parts, question)
