"""A node of the search tree as a model sees it: how it was reached, what was made from it, and the rest of the tree."""

from __future__ import annotations

from agent.history import Attempt
from agent.prompts.fitting import Part
from agent.prompts.parts.history import table
from agent.prompts.scene import Scene


def branches(scene: Scene) -> tuple[Part, ...]:
    """Lineage and children of the node; with memory, every other attempt as well, oldest first and never rewritten."""
    lineage = _lineage(scene)
    children = [
        attempt for attempt in scene.state.attempts if attempt not in lineage and _parent(attempt) == _number(scene)
    ]
    shown = {attempt.number for attempt in (*lineage, *children)}
    rest = [attempt for attempt in scene.state.attempts if attempt.number not in shown]
    return (
        table(scene, lineage, "from the root to this node", 3_000, rank=3),
        table(scene, children, "made from this node before", 5_000, rank=2),
        table(scene, rest if scene.settings.memory else [], "the rest of the tree", 6_000, rank=5),
    )


def _number(scene: Scene) -> int | None:
    return None if scene.parent is None else scene.parent.number


def _parent(attempt: Attempt) -> int:
    return attempt.candidate.parent or 1


def _lineage(scene: Scene) -> list[Attempt]:
    """From the first attempt to the node. A parent that is not older ends it, as in the tree itself."""
    found: list[Attempt] = []
    attempt = scene.parent
    while attempt is not None:
        found.append(attempt)
        before = _parent(attempt)
        attempt = scene.state.attempt(before) if before < attempt.number else None
    return found[::-1]
