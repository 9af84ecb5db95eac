"""Which tools' advice a candidate followed, and what it gave: the check of feedback afterwards.

A candidate follows a tool where its author names it, or where the change tells: the advised knob of the advised stage
moved the advised way, or the structure changed as advised. General advice cannot be told to have been followed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.feedback.record import Advice, Finding
from agent.history import DISTURBED, IMPROVEMENT
from kernels.dsl import CheckedProgram
from kernels.dsl.ir import Stage

_CHANGE = re.compile(r"^(?P<stage>\S+)\.(?P<knob>[a-z]+)\((?P<args>[^()]*)\)")


@dataclass(frozen=True, slots=True)
class Follow:
    """A tool whose advice was followed; ``named`` where the author said so, else the change told it."""

    tool: str
    named: bool


def followed(
    findings: Sequence[Finding], before: CheckedProgram | None, after: CheckedProgram | None, change: str, tool: str
) -> tuple[Follow, ...]:
    """The tools of the parent's ``findings`` that a candidate follows, in their order.

    ``before`` and ``after`` are the parent's and its own checked program; where one is missing (another language, a
    program that was refused), ``change`` alone tells. ``tool`` is the one that its author names, or empty.
    """
    found = []
    for finding in findings:
        named = finding.tool == tool
        if named or any(_done(advice, before, after, change) for advice in finding.advice):
            found.append(Follow(finding.tool, named))
    return tuple(found)


def log_gain(
    parent_s: float | None, parent_eager_s: float | None, own_s: float | None, own_eager_s: float | None
) -> float | None:
    """ln(parent's time / own time); None where one has no time that counts.

    Where torch eager, timed in the same two calls, differs by more than DISTURBED, the machine did, and the ratio is
    corrected by it.
    """
    if not parent_s or not own_s:
        return None
    gain = math.log(parent_s / own_s)
    if parent_eager_s and own_eager_s and abs(own_eager_s / parent_eager_s - 1) > DISTURBED:
        gain += math.log(own_eager_s / parent_eager_s)
    return gain


def improved(gain: float | None) -> bool:
    """Whether a gain, as ``log_gain`` gives it, is an improvement."""
    return gain is not None and gain > -math.log(1 - IMPROVEMENT)


def _done(advice: Advice, before: CheckedProgram | None, after: CheckedProgram | None, change: str) -> bool:
    if not advice.stage:
        return False
    if before is None or after is None:
        return said(advice, change)
    old, new = _stage(before, advice.stage), _stage(after, advice.stage)
    if advice.knob:
        if old is None or new is None:
            return False
        return toward(_args(old, advice.knob), advice.args, _args(new, advice.knob))
    return _restructured(advice, before, after, old, new)


def toward(now: Sequence[int | str], advised: Sequence[int | str], chosen: Sequence[int | str]) -> bool:
    """Whether a knob moved from ``now`` the advised way: to the very value, or every number that moved to its side."""
    now, advised, chosen = tuple(now), tuple(advised), tuple(chosen)
    if chosen in (now, ()) or not len(now) == len(advised) == len(chosen):
        return chosen == advised != now
    if chosen == advised:
        return True
    steps = [
        (new - old, wanted - old)
        for old, wanted, new in zip(now, advised, chosen, strict=True)
        if isinstance(old, int) and isinstance(wanted, int) and isinstance(new, int)
    ]
    if len(steps) != len(now):
        return False
    return any(moved * wanted > 0 for moved, wanted in steps) and all(
        moved * wanted >= 0 for moved, wanted in steps
    )


def said(advice: Advice, change: str) -> bool:
    """Whether a change does what was advised, by its words alone: ``y.tile(64, 64, 32)``, or ``fuse z into y``."""
    if not advice.knob:
        words = change.split()
        return bool(words) and words[0] == advice.change and advice.stage in words
    found = _CHANGE.match(change)
    if found is None or (found["stage"], found["knob"]) != (advice.stage, advice.knob):
        return False
    args = tuple(int(arg) if arg.lstrip("-").isdigit() else arg for arg in map(str.strip, found["args"].split(",")))
    return toward(advice.now, advice.args, args)


def _restructured(
    advice: Advice, before: CheckedProgram, after: CheckedProgram, old: Stage | None, new: Stage | None
) -> bool:
    more = len(after.stages) - len(before.stages)
    if advice.change == "fuse":
        return more < 0 and old is not None and (new is None or new.op != old.op or len(new.chain) > len(old.chain))
    if advice.change == "split":
        return more > 0 and old is not None and (new is None or len(new.chain) < len(old.chain) or new.op != old.op)
    if advice.change == "replace":
        return old is not None and old.op == "torch" and (new is None or new.op != "torch")
    added = {"cast": ("cast",), "pad": ("pad",), "relayout": ("relayout", "map")}.get(advice.change, ())
    return sum(stage.op in added for stage in after.stages) > sum(stage.op in added for stage in before.stages)


def _stage(program: CheckedProgram, name: str) -> Stage | None:
    return next((stage for stage in program.stages if stage.name == name), None)


def _args(stage: Stage, knob: str) -> tuple[int | str, ...]:
    value = stage.knobs.get(knob, ())
    if isinstance(value, list | tuple):
        return tuple(value)
    return ("auto",) if value == 0 else (value,)
