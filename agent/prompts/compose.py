"""A prompt from a history: system and user message within the phase's limit, and what was left out by name.

Pure: the same settings, history and ask give the same prompt. It asks nobody and keeps nothing.
"""

from __future__ import annotations

from agent.history import State
from agent.prompts.fitting import BETWEEN, fit
from agent.prompts.limits import USER_SHARE, limit_of
from agent.prompts.parts import light, problem
from agent.prompts.parts.language import language
from agent.prompts.parts.task import task
from agent.prompts.phases import PROMPTS
from agent.prompts.prompt import Prompt
from agent.prompts.scene import Scene
from agent.prompts.schemas import schema_of
from agent.prompts.text import sealed
from agent.steps import Ask, History, TrajectorySettings

_NOTE = 700
"""Characters kept for the note of what was left out."""


def compose(settings: TrajectorySettings, history: History, ask: Ask) -> Prompt:
    """The prompt for ``ask``; raises HistoryNotStarted. It has at most ``limit_of`` characters."""
    scene = Scene(State.of(settings, history), ask)
    schema = schema_of(settings, scene.phase)
    limit = limit_of(settings, scene.phase)
    room = limit - Prompt("", "", schema, ()).characters
    system, untaught = _system(scene, room - int(limit * USER_SHARE))
    user, left_out = _user(scene, room - len(system), untaught)
    return Prompt(system, sealed(user), schema, left_out)


def _system(scene: Scene, room: int) -> tuple[str, tuple[str, ...]]:
    phase = PROMPTS[scene.phase]
    first, last = task(scene), phase.instructions(scene)
    texts: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    if phase.teaches:
        room -= len(first) + len(last) + len(BETWEEN)
        texts, left_out = fit([language(scene, room)], room)
    return BETWEEN.join([first, *texts, last]), left_out


def _user(scene: Scene, room: int, untaught: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    phase = PROMPTS[scene.phase]
    first = f"{problem.head(scene)}\n{light.standing(scene)}"
    question = phase.question(scene)
    texts, cut = fit(phase.parts(scene), room - len(first) - len(question) - 2 * len(BETWEEN) - _NOTE)
    left_out = untaught + cut
    note = _note(left_out)
    return BETWEEN.join([first, *texts, *([note] if note else []), question]), left_out


def _note(left_out: tuple[str, ...]) -> str:
    if not left_out:
        return ""
    text = f"Left out for want of room: {'; '.join(left_out)}."
    return text if len(text) <= _NOTE else f"{text[: _NOTE - 2]}…"
