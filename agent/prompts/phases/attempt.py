"""One more program, given everything that was tried: the prompt of measure–implement."""

from __future__ import annotations

from agent.prompts.fitting import Part
from agent.prompts.parts import answering, history, light, memory, problem, program
from agent.prompts.phase_prompt import PhasePrompt
from agent.prompts.scene import Scene


def instructions(scene: Scene) -> str:
    """How to go about it."""
    return (
        "## This ask\nStart from the program given. Where its result is an error, mend that first; where it passed, "
        "make the one change that you expect to gain most by its stages, findings and history.\n\n"
        + answering.candidates(scene)
    )


def parts(scene: Scene) -> tuple[Part, ...]:
    """The user message."""
    return (
        problem.tensors(scene),
        problem.header(scene),
        problem.source(scene),
        light.report(scene),
        memory.lessons(scene),
        history.table(scene, scene.state.attempts),
        program.best_program(scene),
        program.parent_program(scene),
        program.parent_result(scene),
        program.findings(scene),
    )


def question(scene: Scene) -> str:
    """The demand."""
    return answering.how_many(scene)


PROMPT = PhasePrompt(instructions, parts, question)
