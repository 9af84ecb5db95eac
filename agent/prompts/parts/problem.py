"""The problem: its name and tensors, its source, and the header that raw sources include."""

from __future__ import annotations

from agent.prompts.fitting import Part
from agent.prompts.scene import Scene
from agent.prompts.text import Cut, block, inline
from kernels.problems.inspection import TensorSpec
from kernels.raw import problem_header

_NAME = 120
_TENSORS = 40
"""Tensors listed before the rest is counted."""


def head(scene: Scene) -> str:
    """The first line of the user message."""
    done, most = len(scene.state.attempts), scene.state.settings.attempts
    return f"# Attempt {min(done + 1, most)} of {most}"


def tensors(scene: Scene) -> Part:
    """The problem's name, and its inputs, parameters and outputs with types and shapes."""
    name = inline(scene.started.problem, _NAME)

    def render(room: int) -> Cut:
        signature = scene.started.signature
        listed = [
            *(f"input {_tensor(spec)}" for spec in signature.inputs),
            *(f"argument {place} of forward = {inline(repr(value), 80)}" for place, value in _constants(scene)),
            *(f"output {_tensor(spec)}" for spec in signature.outputs),
            *(f"parameter {_tensor(spec)}" for spec in signature.parameters),
        ]
        shown = listed[:_TENSORS]
        while shown:
            left = len(listed) - len(shown)
            more = [f"and {left} more"] if left else []
            cut = block("problem and its tensors", "\n".join([name, *shown, *more]), room)
            if cut.text and not cut.left_out:
                return Cut(cut.text, f"tensors: {left} of {len(listed)}" if left else "")
            shown = shown[: len(shown) * 2 // 3]
        return Cut("", f"tensors: {len(listed)} of {len(listed)}" if listed else "")

    return Part("tensors", 2, 4_000, render)


def source(scene: Scene, most: int = 8_000, rank: int = 3) -> Part:
    """The reference's Python."""
    text = scene.started.problem_source
    return Part("problem source", rank, most, lambda room: block("problem source (Python)", text, room))


def header(scene: Scene) -> Part:
    """``problem.h`` for a raw source; nothing for other representations."""
    if not scene.language.is_raw:
        return Part("problem.h", 3, 0, lambda room: Cut(""))
    text = problem_header(scene.started.signature, scene.language)
    return Part("problem.h", 2, 6_000, lambda room: block("problem.h", text, room))


def _tensor(spec: TensorSpec) -> str:
    return f"{inline(spec.name, 80)}: {spec.dtype}{list(spec.shape)}"


def _constants(scene: Scene) -> list[tuple[int, object]]:
    return sorted(scene.started.signature.constants.items())
