"""What earlier phases of an iteration gave: the analysis, the hypothesis to work out, predicted against actual."""

from __future__ import annotations

from typing import Any

from agent.phases import Phase, phase_of
from agent.prompts.figures import error_line, outcome, over_parent, ratio
from agent.prompts.fitting import Part
from agent.prompts.scene import Scene
from agent.prompts.text import Cut, block, bullets, inline

_SENTENCE = 400
_LIST = 8


def analysis(scene: Scene, most: int = 3_000) -> Part:
    """The iteration's analysis."""
    data = scene.phase_data(Phase.ANALYZE)

    def render(room: int) -> Cut:
        if data is None:
            return Cut("")
        lines = [f"bottleneck: {data.get('bottleneck')}", inline(str(data.get("summary", "")), 2 * _SENTENCE)]
        for name in ("evidence", "opportunities"):
            listed = [inline(str(each), _SENTENCE) for each in list(data.get(name, ()))[:_LIST]]
            lines += [f"{name}:", bullets(listed)] if listed else []
        return block("analysis of this iteration", "\n".join(lines), room)

    return Part("analysis", 2, most, render)


def hypothesis(scene: Scene, most: int = 2_500) -> Part:
    """The hypothesis that an implementing ask names in its payload."""
    data: dict[str, Any] = scene.ask.payload.get("hypothesis") or {}

    def render(room: int) -> Cut:
        if not data:
            return Cut("")
        lines = [
            f"change: {inline(str(data.get('change', '')), _SENTENCE)}",
            f"cause: {inline(str(data.get('cause', '')), 2 * _SENTENCE)}",
            f"expected speedup of the whole program: {ratio(data.get('speedup'))}",
        ]
        return block("hypothesis to implement", "\n".join(lines), room)

    return Part("hypothesis", 0, most, render)


def outcomes(scene: Scene, most: int = 6_000) -> Part:
    """Every attempt of the ask's iteration: its hypothesis, predicted against actual, and why it failed."""
    lines = _outcome_lines(scene)

    def render(room: int) -> Cut:
        for kept in range(len(lines), 0, -1):
            cut = block("predicted against actual", "\n".join(lines[-kept:]), room)
            if cut.text and not cut.left_out:
                left = len(lines) - kept
                return Cut(cut.text, f"attempts of this iteration: {left} of {len(lines)}" if left else "")
        return Cut("", "attempts of this iteration: all" if lines else "")

    return Part("outcomes", 1, most, render)


def _outcome_lines(scene: Scene) -> list[str]:
    answered = {
        candidate.text
        for exchange in scene.state.exchanges
        if exchange.answer is not None
        and phase_of(exchange.ask) is Phase.IMPLEMENT
        and exchange.ask.payload.get("iteration") == scene.ask.payload.get("iteration")
        for candidate in exchange.answer.candidates
    }
    lines = []
    for attempt in scene.state.attempts:
        if attempt.candidate.text in answered:
            said, actual = attempt.candidate, over_parent(scene.state, attempt)
            error = error_line(attempt)
            lines.append(
                f"{attempt.number}: {inline(said.change, 120)}; because {inline(said.hypothesis, 240)}; "
                f"predicted {ratio(said.predicted)}, actual {ratio(actual)}; {outcome(attempt)}"
                + (f": {error}" if error else "")
            )
    return lines
