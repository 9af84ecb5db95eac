"""A program and what became of it: text, time by stage, errors, and what the feedback tools found."""

from __future__ import annotations

from agent.feedback import Finding
from agent.feedback import words as finding_words
from agent.feedback.tools.near_bound import NearBound
from agent.feedback.tools.traffic import Traffic
from agent.history import Attempt
from agent.prompts.figures import error_line, outcome, over_parent, ratio, time
from agent.prompts.fitting import Part
from agent.prompts.scene import Scene
from agent.prompts.text import Cut, block, inline, inside

_STAGES = 24
_OF_THE_BOUND = frozenset({NearBound.name, Traffic.name})
"""Tools that judge by the bound: with steering off nothing is heard of them."""


def parent_program(scene: Scene, most: int = 14_000) -> Part:
    """The program to start from."""
    attempt = scene.parent
    if attempt is None:
        return Part("program", 1, 0, lambda room: Cut(""))
    name = f"program of attempt {attempt.number} ({attempt.candidate.language.label}), to start from"
    return Part("program", 1, most, lambda room: block(name, attempt.candidate.text, room))


def parent_result(scene: Scene) -> Part:
    """What became of it: outcome, time by stage, and the whole error where it failed."""
    attempt = scene.parent

    def render(room: int) -> Cut:
        if attempt is None or attempt.result is None:
            return Cut("")
        return block(f"result of attempt {attempt.number}", result_text(scene, attempt), room)

    return Part("result", 1, 5_000, render)


def result_text(scene: Scene, attempt: Attempt) -> str:
    """Outcome, time, predicted against actual, stages by time, and the detail of what failed."""
    result = attempt.result
    if result is None:
        return outcome(attempt)
    lines = [f"{outcome(attempt)}; {time(attempt.time_s)}; torch eager {time(result.baseline_s)}"]
    actual = over_parent(scene.state, attempt)
    if attempt.candidate.predicted is not None:
        lines.append(f"over its parent: predicted {ratio(attempt.candidate.predicted)}, actual {ratio(actual)}")
    total = sum(result.stage_seconds.values())
    if total > 0:
        by_time = sorted(result.stage_seconds.items(), key=lambda entry: (-entry[1], entry[0]))
        shown = [f"{inline(name, 60)} {time(took)} ({took / total:.0%})" for name, took in by_time[:_STAGES]]
        more = f", and {len(by_time) - _STAGES} stages more" if len(by_time) > _STAGES else ""
        lines.append("stages: " + ", ".join(shown) + more)
    if error_line(attempt):
        lines.append(result.detail)
    return "\n".join(lines)


def best_program(scene: Scene, most: int = 8_000) -> Part:
    """The fastest program, where the ask does not start from it."""
    best, parent = scene.state.best, scene.parent
    if best is None or (parent is not None and best.number == parent.number):
        return Part("best program", 6, 0, lambda room: Cut(""))
    name = f"program of attempt {best.number}, the best so far: {time(best.time_s)}"
    return Part("best program", 6, most, lambda room: block(name, best.candidate.text, room))


def findings(scene: Scene, most: int = 4_000, rank: int = 3) -> Part:
    """What the feedback tools found in the parent, or in the best where the parent has nothing to say."""
    attempts = [one for one in (scene.parent, scene.state.best) if one is not None]
    attempt = next((one for one in attempts if _told(scene, one)), None)

    def render(room: int) -> Cut:
        if attempt is None:
            return Cut("")
        name = f"findings of the feedback tools on attempt {attempt.number}"
        found = _told(scene, attempt)
        # Whole findings, the gravest first, within what the fence leaves.
        text = finding_words(found, inside(name, room))
        left_out = f"findings: some of {len(found)}" if f"of {len(found)} findings left out" in text else ""
        return Cut(block(name, text, room).text, left_out) if text else Cut("", f"findings: all {len(found)}")

    return Part("findings", rank, most, render)


def _told(scene: Scene, attempt: Attempt) -> tuple[Finding, ...]:
    """The findings on an attempt that the run may hear."""
    found = attempt.result.feedback if attempt.result is not None else ()
    return tuple(each for each in found if scene.settings.steering or each.tool not in _OF_THE_BOUND)
