"""Programs made from one node of a search tree: the node, how it was reached, its children, the rest of the tree."""

from __future__ import annotations

from agent.prompts.fitting import Part
from agent.prompts.parts import answering, branches, light, memory, problem, program
from agent.prompts.phase_prompt import PhasePrompt
from agent.prompts.scene import Scene


def instructions(scene: Scene) -> str:
    """How to go about it."""
    return (
        "## This ask\nThe attempts form a tree; you are given one node of it. Make its children: each one change to "
        "the node's program, different from those made from it before, which are listed with their results. Repeat "
        "nothing that failed there unless you mend its cause.\n\n" + answering.candidates(scene)
    )


def parts(scene: Scene) -> tuple[Part, ...]:
    """The user message."""
    lineage, children, rest = branches.branches(scene)
    return (
        problem.tensors(scene),
        problem.header(scene),
        problem.source(scene),
        light.report(scene),
        memory.lessons(scene),
        rest,
        lineage,
        children,
        program.best_program(scene),
        program.parent_program(scene),
        program.parent_result(scene),
        program.findings(scene),
    )


def question(scene: Scene) -> str:
    """The demand."""
    return answering.how_many(scene)


PROMPT = PhasePrompt(instructions, parts, question)
