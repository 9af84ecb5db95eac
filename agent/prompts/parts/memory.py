"""Lessons of earlier problems and of this run. Nothing with memory off."""

from __future__ import annotations

from collections.abc import Iterator

from agent.prompts.fitting import Part
from agent.prompts.scene import Scene
from agent.prompts.text import Cut, block, bullets, inline

_TEXT = 420
"""Characters of one lesson."""


def lessons(scene: Scene, most: int = 3_500, rank: int = 5) -> Part:
    """Lessons, those of this run first and the latest of them at the top."""
    lines = list(_lessons(scene)) if scene.settings.memory else []

    def render(room: int) -> Cut:
        for kept in range(len(lines), 0, -1):
            left = len(lines) - kept
            cut = block("lessons: hints from earlier work, not rules", bullets(lines[:kept]), room)
            if cut.text and not cut.left_out:
                return Cut(cut.text, f"lessons: {left} of {len(lines)}" if left else "")
        return Cut("", f"lessons: all {len(lines)}" if lines else "")

    return Part("lessons", rank, most, render)


def _lessons(scene: Scene) -> Iterator[str]:
    for exchange in reversed(scene.state.exchanges):
        data = exchange.answer.data if exchange.answer is not None else None
        text = (data or {}).get("lesson")
        if isinstance(text, str) and text.strip():
            yield f"(this run) {inline(text, _TEXT)}"
    for note in scene.started.lessons:
        about = ", ".join(filter(None, (inline(note.problem, 60), inline(note.bottleneck, 20))))
        yield f"({about}) {inline(note.text, _TEXT)}"
