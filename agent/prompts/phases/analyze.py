"""MANTIS, Analyze: from the measurement, the SOL report and the source to the bottleneck. No program is written."""

from __future__ import annotations

from agent.prompts.fitting import Part
from agent.prompts.parts import history, light, memory, problem, program
from agent.prompts.phase_prompt import PhasePrompt
from agent.prompts.scene import Scene


def instructions(scene: Scene) -> str:
    """How to go about it."""
    gap = " What is the gap to SOL made of?" if scene.settings.steering else ""
    return (
        "## This ask\nAnalyze: say what bounds the program given and what keeps it from being faster, by its measured "
        f"stages, findings and history.{gap} Rest every statement on a figure given to you; write no program.\n\n"
        "## Answer\nOne JSON object and nothing around it:\n"
        "- bottleneck: compute, memory, latency or mixed\n"
        "- summary: two or three sentences\n"
        "- evidence: up to five figures that show it\n"
        "- opportunities: up to five things that could be gained, the largest first, each with its likely gain"
    )


def parts(scene: Scene) -> tuple[Part, ...]:
    """The user message."""
    return (
        problem.tensors(scene),
        problem.source(scene, most=6_000),
        light.report(scene, most=4_000, rank=2),
        memory.lessons(scene, most=2_000),
        history.table(scene, scene.state.attempts, most=5_000),
        program.parent_program(scene, most=8_000),
        program.parent_result(scene),
        program.findings(scene, rank=2),
    )


def question(scene: Scene) -> str:
    """The demand."""
    return "Answer with the analysis."


PROMPT = PhasePrompt(instructions, parts, question, teaches=False)
