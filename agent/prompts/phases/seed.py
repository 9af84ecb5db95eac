"""The first program of a run that starts from none: the problem's source, turned into the run's representation."""

from __future__ import annotations

from agent.prompts.fitting import Part
from agent.prompts.parts import answering, light, memory, problem
from agent.prompts.phase_prompt import PhasePrompt
from agent.prompts.scene import Scene


def instructions(scene: Scene) -> str:
    """How to go about it."""
    return (
        "## This ask\nNothing was tried yet. Write a first program that computes what the reference computes, right "
        "before fast: later attempts start from it.\n\n" + answering.candidates(scene)
    )


def parts(scene: Scene) -> tuple[Part, ...]:
    """The user message."""
    return (
        problem.tensors(scene),
        problem.header(scene),
        problem.source(scene, most=14_000, rank=1),
        light.report(scene),
        memory.lessons(scene),
    )


def question(scene: Scene) -> str:
    """The demand."""
    return answering.how_many(scene)


PROMPT = PhasePrompt(instructions, parts, question)
