"""MANTIS in one prompt: measure, analyze, nominate, triage, implement, summarize, all in one answer an attempt."""

from __future__ import annotations

from agent.prompts.fitting import Part
from agent.prompts.parts import answering, risks
from agent.prompts.phase_prompt import PhasePrompt
from agent.prompts.phases import attempt
from agent.prompts.scene import Scene

_HYPOTHESES = 3


def instructions(scene: Scene) -> str:
    """The workflow."""
    sol = " the SOL report," if scene.settings.steering else ""
    steps = [
        "1. Measure: read the result, the stages' times and the findings of the program you start from.",
        f"2. Analyze: by{sol} the findings and the source, what bounds it, and what keeps it from being faster?",
        f"3. Nominate: {_HYPOTHESES} hypotheses, each with\n{risks.RATED}",
        f"4. Triage: take the one with the highest {risks.formula(scene)}.",
        "5. Implement: write that program, whole. Where the program you start from failed, mend it instead.",
    ]
    if scene.settings.memory:
        steps.append(
            "6. Summarize: where the last attempt in the history predicted something, one sentence on what its "
            "actual result teaches, as `lesson`; else null."
        )
    workflow = "\n".join(steps)
    also = [
        "- analysis: an object with bottleneck (compute, memory, latency or mixed), summary, and evidence and "
        "opportunities, each a list of at most three short texts",
        "- hypotheses: a list of objects with the fields above",
        "- chosen: the number of the one implemented, counted from 0",
        *(["- lesson: a text or null"] if scene.settings.memory else []),
    ]
    beside = "Beside `candidates` the object has\n" + "\n".join(also)
    return (
        f"## This ask\nWork in these steps and show each in the answer.\n{workflow}\n\n"
        f"{answering.candidates(scene)}\n{beside}"
    )


def parts(scene: Scene) -> tuple[Part, ...]:
    """The user message: what an attempt is given."""
    return attempt.parts(scene)


def question(scene: Scene) -> str:
    """The demand."""
    return (
        f"{answering.how_many(scene)} Give the analysis, {_HYPOTHESES} hypotheses and which of them you chose, too."
    )


PROMPT = PhasePrompt(instructions, parts, question)
