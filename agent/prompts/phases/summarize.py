"""MANTIS, Summarize: predicted against actual, and one lesson for problems to come."""

from __future__ import annotations

from agent.prompts.fitting import Part
from agent.prompts.parts import light, problem, reasoning
from agent.prompts.phase_prompt import PhasePrompt
from agent.prompts.scene import Scene


def instructions(scene: Scene) -> str:
    """How to go about it."""
    return (
        "## This ask\nSummarize: compare what was predicted with what came of it, and write one short lesson that "
        "helps with other problems of this kind: which change, under which condition, with which effect, and why a "
        "prediction was wrong where one was. No praise, no names of this problem's tensors.\n\n"
        "## Answer\nOne JSON object and nothing around it:\n"
        "- lesson: at most 400 characters\n"
        "- bottleneck: compute, memory, latency or mixed: what the lesson is about"
    )


def parts(scene: Scene) -> tuple[Part, ...]:
    """The user message."""
    return (
        problem.tensors(scene),
        light.report(scene, most=1_000),
        reasoning.analysis(scene, most=1_500),
        reasoning.outcomes(scene),
    )


def question(scene: Scene) -> str:
    """The demand."""
    return "Answer with the lesson."


PROMPT = PhasePrompt(instructions, parts, question, teaches=False)
