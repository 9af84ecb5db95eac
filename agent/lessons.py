"""Lessons: what a finished history teaches, in a sentence, and which of all lessons a new problem is given.

Two sources: the history itself, deterministically (which change moved the best, and by how much), and what a model
wrote when it was asked to summarize. Pure; ``runs.memory`` keeps the rows. A lesson tells of success alone and is a
hint: it changes no verdict, no measurement and no stop rule. Its text may come from a model and is data to whoever
shows it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agent.history import IMPROVEMENT, Attempt, State
from agent.proposers.moves.move import family_of, stageless
from agent.steps import Answered, History, Submitted, TrajectorySettings

Source: TypeAlias = Literal["history", "summary"]

BOTTLENECKS = ("compute", "memory", "latency", "mixed")
"""What a lesson may be about, in the words of summaries."""
LEAST_GAIN = 1.05
"""A change that gave less over its parent is no lesson: so much two measurements of one program may differ."""
MOST_OF_ONE = 5
"""At most so many lessons of one history from each source: its largest gains, its last words."""
MOST_TEXT = 400
"""Characters of one lesson."""
MOST, MOST_CHARACTERS = 12, 2400
"""Lessons given to one problem, and their characters together."""
MOST_OF_FAMILY = 3
"""Of one family of changes (``tile``, ``fuse``), so that a well-tried knob leaves room for others."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A lesson as a history gives it. ``attempt`` is the one it rests on, ``about`` all that it speaks of; ``gain`` is
    the speedup of ``change`` over its parent as measured, None where the lesson is a model's words alone.
    ``bottleneck`` is what a model says it is about; empty: what bounds the problem."""

    source: Source
    text: str
    attempt: int | None
    about: tuple[int, ...]
    change: str = ""
    gain: float | None = None
    bottleneck: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """A lesson that was kept. ``kind`` is the operation that dominated its problem, ``bottleneck`` what bound it."""

    id: int
    problem: str
    kind: str
    target: str
    bottleneck: str
    text: str
    change: str = ""
    gain: float | None = None


def drafts(settings: TrajectorySettings, history: History) -> tuple[Draft, ...]:
    """What a history teaches: its own measurements first, then summaries. Nothing rests on a flagged attempt, nor on
    one whose time is below the floor.

    Raises HistoryNotStarted.
    """
    state = State.of(settings, history)
    measured = sorted(_measured(state), key=lambda draft: -(draft.gain or 0.0))[:MOST_OF_ONE]
    return (*measured, *list(_summaries(state, history))[-MOST_OF_ONE:])


def select(known: Iterable[Known], kind: str, target: str, bottleneck: str) -> tuple[Known, ...]:
    """The lessons for a problem, best first: those of its kind and bottleneck, of its kind, of its bottleneck; within
    each the largest gain, then the newest. Lessons of other targets, and of neither kind nor bottleneck, are left out.

    Equal changes and equal texts count once; MOST, MOST_OF_FAMILY and MOST_CHARACTERS limit the rest.
    """
    fitting = [
        each for each in known if each.target == target and (each.kind == kind or each.bottleneck == bottleneck)
    ]
    fitting.sort(key=lambda each: (-_fit(each, kind, bottleneck), -(each.gain or 1.0), -each.id))
    found: list[Known] = []
    seen: set[str] = set()
    families: Counter[str] = Counter()
    characters = 0
    for each in fitting:
        family = family_of(each.change) if each.change else ""
        keys = {_plain(each.text), *([_plain(stageless(each.change))] if each.change else [])}
        crowded = bool(family) and families[family] >= MOST_OF_FAMILY
        if seen & keys or crowded or characters + len(each.text) > MOST_CHARACTERS:
            continue
        seen |= keys
        families[family] += 1
        characters += len(each.text)
        found.append(each)
        if len(found) == MOST:
            break
    return tuple(found)


def _fit(known: Known, kind: str, bottleneck: str) -> int:
    return 2 * (known.kind == kind) + (known.bottleneck == bottleneck)


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().lower()


def _measured(state: State) -> Iterator[Draft]:
    """A draft for every attempt that became the best and was faster than its parent by more than noise."""
    best_s: float | None = None
    for attempt in state.attempts:
        time_s = attempt.time_s
        if time_s is None:
            continue
        is_best = best_s is None or time_s < best_s * (1 - IMPROVEMENT)
        best_s = time_s if best_s is None else min(best_s, time_s)
        parent = state.attempt(attempt.candidate.parent or 1)
        if not is_best or parent is None or parent.number == attempt.number or not attempt.candidate.change:
            continue
        draft = _draft(state, parent, attempt)
        if draft is not None:
            yield draft


def _draft(state: State, parent: Attempt, attempt: Attempt) -> Draft | None:
    """What ``attempt`` teaches over its parent; None where that is within noise, or would be with disturbed calls set
    right."""
    before, after = parent.time_s, attempt.time_s
    steady_before, steady_after = state.steady_s(parent), state.steady_s(attempt)
    if not before or not after or not steady_before or not steady_after:
        return None
    gain = before / after
    if min(gain, steady_before / steady_after) < LEAST_GAIN:
        return None
    change, why = stageless(attempt.candidate.change), attempt.candidate.hypothesis.strip()
    words = f"{change}: {gain:.2f}× faster, {before * 1e3:.3g} to {after * 1e3:.3g} ms."
    about = (parent.number, attempt.number)
    return Draft("history", _cut(f"{words} {why}"), attempt.number, about, _cut(change), gain)


def _summaries(state: State, history: History) -> Iterator[Draft]:
    """What a model wrote as lessons, in a summary or beside a candidate, each about the attempts since the last one."""
    after = submitted = 0
    for event in history:
        if isinstance(event, Submitted):
            submitted = event.number
        elif isinstance(event, Answered) and (texts := lesson_texts(event.data)):
            about = tuple(range(after + 1, submitted + 1))
            after = submitted
            if about and not any(_doubtful(state, number) for number in about):
                best = _fastest(state, about)
                number = None if best is None else best.number
                for text in texts:
                    yield Draft("summary", _cut(text), number, about, bottleneck=_bottleneck(event.data))


def lesson_texts(data: dict[str, Any] | None) -> list[str]:
    """The lessons in an answer's data. A model may have written anything there: what is no text is passed over."""
    lessons = (data or {}).get("lessons", (data or {}).get("lesson", ()))
    texts = [lessons] if isinstance(lessons, str) else lessons if isinstance(lessons, list | tuple) else []
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()]


def _bottleneck(data: dict[str, Any] | None) -> str:
    analysis = (data or {}).get("analysis")
    said = (data or {}).get("bottleneck") or (analysis.get("bottleneck") if isinstance(analysis, dict) else None)
    return said if isinstance(said, str) and said in BOTTLENECKS else ""


def _fastest(state: State, numbers: tuple[int, ...]) -> Attempt | None:
    timed = [one for number in numbers if (one := state.attempt(number)) is not None and one.time_s is not None]
    return min(timed, key=lambda one: one.time_s or 0.0, default=None)


def _doubtful(state: State, number: int) -> bool:
    """Whether an attempt's time is held: below the floor, flagged or settled as gamed."""
    attempt = state.attempt(number)
    return attempt is not None and attempt.result is not None and attempt.result.flagged


def _cut(text: str) -> str:
    """One line of at most MOST_TEXT characters."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_TEXT else line[: MOST_TEXT - 1].rstrip() + "…"
