"""In which order moves are worth trying: by return on investment, corrected by what this run has seen.

The expected speedup of a stage becomes one of the program by Amdahl's law over measured stage times; what moves of the
same family did earlier in the run, predicted against actual, pulls the expectation towards the truth. What memory
holds of other problems of the same kind can only raise it: lessons tell of success alone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from random import Random

from agent.history import Attempt, State
from agent.proposers.moves.move import Move, Scene, family_of, stageless
from agent.steps import LessonNote
from agent.triage import roi

_PRIOR = 2.0
"""A move's own expectation counts like so many observations."""
_SAME_FAMILY = 0.5
"""What an earlier change of the same family counts: what it gave over its parent."""
_SAME_KNOB = 3.0
"""What the same knob set to the same values counts; less with every octave between the values."""
_UPSIDE = 1.15
"""A slower attempt costs nothing but itself, so what counts is how well a move may turn out: so much above its gain."""
_REMEMBERED = 0.5
"""What a lesson of a problem of the same kind counts, with as much again for the very same change."""
_OFF_BOUND = 1.25
"""Performance risk of a move that relieves the bound that the problem does not have."""
_JITTER = 0.03
"""Spread of the noise that lets seeds differ where moves are worth about the same."""
_AGAIN = 0.9
"""What each further move of one family on one stage counts, so that an ask for several looks around."""


@dataclass(frozen=True, slots=True)
class Experience:
    """One change made earlier. ``gain`` is the log of its speedup over its parent, ``value`` over the first program
    with a time; None where it failed."""

    change: str
    gain: float | None
    value: float | None


@dataclass(frozen=True, slots=True)
class Memory:
    """What a run has seen, as one parent needs it: ``value`` is the parent's own. ``lessons`` are of other problems."""

    experiences: tuple[Experience, ...]
    value: float
    lessons: tuple[LessonNote, ...] = ()


def recall(state: State, parent: Attempt | None) -> Memory:
    """What became of every change whose parent has a time."""
    times = {attempt.number: state.steady_s(attempt) for attempt in state.attempts}
    reference = next((time_s for time_s in times.values() if time_s), None)
    found = []
    for attempt in state.attempts[1:]:
        before, after = times.get(attempt.candidate.parent or 1), times[attempt.number]
        if not before or not reference:
            continue
        change = attempt.candidate.change
        if after:
            found.append(Experience(change, math.log(before / after), math.log(reference / after)))
        elif attempt.failed:
            found.append(Experience(change, None, None))
    own = None if parent is None else times.get(parent.number)
    return Memory(tuple(found), math.log(reference / own) if own and reference else 0.0, _lessons(state))


def _lessons(state: State) -> tuple[LessonNote, ...]:
    """Measured lessons of problems of the same kind; none with memory off."""
    kept = state.started.lessons if state.settings.memory else ()
    return tuple(note for note in kept if note.gain and note.change and note.kind == state.started.operation)


def closeness(change: str, other: str) -> float:
    """1 where both set the same knob of the same stage to the same values, less with every octave between; else 0."""
    mine, theirs = (re.match(r"(\S*\.[a-z]+)\(([\d, ]+)\)", text) for text in (change, other))
    if mine is None or theirs is None or mine.group(1) != theirs.group(1):
        return float(change == other)
    pairs = zip(mine.group(2).split(","), theirs.group(2).split(","), strict=True)
    octaves = [math.log2(int(left) / int(right)) for left, right in pairs]
    return math.exp(-sum(octave * octave for octave in octaves))


def shares(scene: Scene, parent: Attempt | None) -> tuple[dict[str, float], bool]:
    """Each stage's share of the time, 0 to 1, and whether it was measured; equal shares where it was not."""
    running = [stage.name for stage in scene.checked.stages if not stage.once]
    seconds = parent.result.stage_seconds if parent is not None and parent.result is not None else {}
    total = sum(seconds.get(name, 0.0) for name in running)
    if total > 0:
        return {name: seconds.get(name, 0.0) / total for name in running}, True
    return {name: 1 / len(running) for name in running}, False


def by_return(
    moves: list[Move], share: dict[str, float], scene: Scene, state: State, parent: Attempt | None, chance: Random
) -> list[Move]:
    """The moves, best return first; of one family on one stage, each further one counts a little less."""
    memory = recall(state, parent)
    gap = state.standing.gap
    worth = [_worth(move, share, scene, memory, gap) * math.exp(chance.gauss(0.0, _JITTER)) for move in moves]
    before: Counter[tuple[str, str]] = Counter()
    for index in sorted(range(len(moves)), key=lambda index: -worth[index]):
        kind = (moves[index].stage, moves[index].family)
        worth[index] *= _AGAIN ** before[kind]
        before[kind] += 1
    return [moves[index] for index in sorted(range(len(moves)), key=lambda index: -worth[index])]


def _worth(move: Move, share: dict[str, float], scene: Scene, memory: Memory, gap: float | None) -> float:
    part = share.get(move.stage, 0.0)
    log, weight, failures, successes = -_PRIOR * math.log((1 - part) + part / (move.gain * _UPSIDE)), _PRIOR, 0, 0
    for past in memory.experiences:
        if family_of(past.change) != move.family:
            continue
        if past.gain is None or past.value is None:
            failures += 1
            continue
        successes += 1
        near = _SAME_KNOB * closeness(move.change, past.change)
        log += _SAME_FAMILY * past.gain + near * (past.value - memory.value)
        weight += _SAME_FAMILY + near
    lessons = [note for note in memory.lessons if family_of(note.change) == move.family]
    log, weight = _remembered(move, lessons, log, weight)
    implementation = move.implementation_risk * (_PRIOR + failures + successes) / (_PRIOR + successes)
    # That it works and is no faster is less likely where it was faster on a problem of this kind.
    performance = 1 + (move.performance_risk - 1) / (1 + len(lessons))
    if move.relieves not in ("both", scene.started.bound_class):
        performance *= _OFF_BOUND
    return roi(math.exp(log / weight), implementation, performance, gap) * move.urgency


def _remembered(move: Move, lessons: list[LessonNote], log: float, weight: float) -> tuple[float, float]:
    """The expectation raised by the lessons of its family whose gain is above it."""
    for note in lessons:
        if note.gain is not None and math.log(note.gain) > log / weight:
            own = _REMEMBERED * (2 if stageless(move.change) == note.change else 1)
            log, weight = log + own * math.log(note.gain), weight + own
    return log, weight
