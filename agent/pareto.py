"""A finished run judged again under a whole grid of stop policies: what each would have kept, and what it would save.

For one policy on one history ``agent.replay`` does the same in the open; here a history is walked once for each ε and
once for each w, not once for each pair, since either rule's first stop does not depend on the other. Nothing is run
again and nothing is guessed past the last attempt that was made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent.history import Standing, first_event, standings
from agent.replay import efficiency_gain
from agent.steps import Answered, History, Measured

Unit: TypeAlias = Literal["attempts", "tokens"]


@dataclass(frozen=True, slots=True)
class Policy:
    """The two stop rules as a point of the grid. ``epsilon`` is a fraction of SOL, ``patience`` attempts; None: off."""

    epsilon: float | None
    patience: int | None


NAMED = (Policy(0.25, 16), Policy(2.50, 12))
"""The original's named points: ε = 25 % with w = 16, and ε = 250 % with w = 12."""
KEEPS = 0.95
"""So much of the speedup a policy should keep: the original's threshold."""
EPSILONS = (None, 0.0, 0.05, 0.10, 0.15, 0.25, 0.35, 0.50, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
PATIENCES = (None, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 30)
GRID = tuple(Policy(epsilon, patience) for epsilon in EPSILONS for patience in PATIENCES)
"""208 policies; both rules off is the first, which keeps everything and saves nothing."""


@dataclass(frozen=True, slots=True)
class Track:
    """One problem's history as the stop rules see it.

    ``passed`` are the standings before any attempt and after each that ended; ``tokens`` what model calls had taken by
    each of them, None where some answer did not say.
    """

    problem: str
    passed: tuple[Standing, ...]
    tokens: tuple[int, ...] | None = None

    @classmethod
    def of(cls, history: History) -> Track:
        """Raises HistoryNotStarted."""
        return cls(first_event(history).problem, standings(history), tokens_by_attempt(history))

    @property
    def final(self) -> Standing:
        """Where it stood when its history ended."""
        return self.passed[-1]

    def paid(self, index: int, unit: Unit) -> int:
        """The cost up to the standing of that index."""
        if unit == "tokens" and self.tokens is not None:
            return self.tokens[index]
        return self.passed[index].attempts

    def kept(self, index: int) -> float | None:
        """Speedup kept by stopping there, at most 1: last best time over the best then; None: nothing ever passed."""
        best, last = self.passed[index].best_s, self.final.best_s
        if last is None:
            return None
        return 0.0 if best is None else last / best


@dataclass(frozen=True, slots=True)
class Outlook:
    """A policy over all problems of a run. ``stops`` are indices into each track's standings, in the tracks' order.

    ``retention`` is the geomean of the speedups kept, a problem where nothing ever passed as 1 (it counts as its
    baseline under any policy); None where nothing passed at all. ``saving`` is a share of the whole cost, 0 to 1.
    """

    policy: Policy
    unit: Unit
    stops: tuple[int, ...]
    paid: int
    whole: int
    retention: float | None

    @property
    def saving(self) -> float:
        """What is not paid, as a share of what was."""
        return 1 - self.paid / self.whole if self.whole else 0.0

    @property
    def efficiency_gain(self) -> float | None:
        """Speedup kept over the share of the cost still paid; None where nothing passed or nothing would be paid."""
        if self.retention is None or not self.paid:
            return None
        return efficiency_gain(self.retention, self.saving)


def tokens_by_attempt(history: History) -> tuple[int, ...] | None:
    """Tokens of all answers before each attempt's end; None unless every answer tells its own.

    A result that was written again later, as when a flag was lifted, keeps the place of the first.
    """
    total, found, ended = 0, [0], set()
    for event in history:
        if isinstance(event, Answered):
            usage = event.usage
            if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
                return None
            total += usage.prompt_tokens + usage.completion_tokens
        elif isinstance(event, Measured) and event.number not in ended:
            ended.add(event.number)
            found.append(total)
    return tuple(found) if total else None


def unit_of(tracks: Iterable[Track]) -> Unit:
    """Tokens where every problem's model calls told them; else attempts, which every run counts."""
    tracks = list(tracks)
    return "tokens" if tracks and all(track.tokens is not None for track in tracks) else "attempts"


def judge(tracks: Sequence[Track], policies: Sequence[Policy] = GRID) -> tuple[Outlook, ...]:
    """One outlook a policy, in order."""
    unit = unit_of(tracks)
    whole = sum(track.paid(len(track.passed) - 1, unit) for track in tracks)
    stops = [_stops(track, policies) for track in tracks]
    found = []
    for at, policy in enumerate(policies):
        places = tuple(each[at] for each in stops)
        kept = [track.kept(place) for track, place in zip(tracks, places, strict=True)]
        paid = sum(track.paid(place, unit) for track, place in zip(tracks, places, strict=True))
        found.append(Outlook(policy, unit, places, paid, whole, _geomean(kept)))
    return tuple(found)


def _stops(track: Track, policies: Sequence[Policy]) -> list[int]:
    """Where each policy would have stopped; the last standing where it would not have."""
    last = len(track.passed) - 1
    near = {epsilon: _first_near(track.passed, epsilon) for epsilon in {policy.epsilon for policy in policies}}
    idle = {patience: _first_idle(track.passed, patience) for patience in {policy.patience for policy in policies}}
    return [min(near[policy.epsilon], idle[policy.patience], last) for policy in policies]


def _first_near(passed: Sequence[Standing], epsilon: float | None) -> int:
    if epsilon is not None:
        for index, standing in enumerate(passed):
            if standing.ahead and standing.gap is not None and standing.gap <= 1 + epsilon:
                return index
    return len(passed)


def _first_idle(passed: Sequence[Standing], patience: int | None) -> int:
    if patience is not None:
        for index, standing in enumerate(passed):
            if standing.ahead and standing.since_improvement >= patience:
                return index
    return len(passed)


def _geomean(kept: Sequence[float | None]) -> float | None:
    known = [value for value in kept if value is not None]
    if not known:
        return None
    if 0.0 in known:
        return 0.0
    return math.exp(sum(math.log(value) for value in known) / len(kept))


def front(outlooks: Sequence[Outlook]) -> frozenset[Policy]:
    """Policies that no other beats in saving without losing retention; of equals the first stands for all."""
    best, found = -1.0, []
    order = sorted(
        (each for each in outlooks if each.retention is not None),
        key=lambda each: (-each.saving, -(each.retention or 0.0)),
    )
    for each in order:
        assert each.retention is not None
        if each.retention > best:
            best = each.retention
            found.append(each.policy)
    return frozenset(found)


def outlook_of(outlooks: Iterable[Outlook], policy: Policy) -> Outlook | None:
    """The outlook of one policy."""
    return next((each for each in outlooks if each.policy == policy), None)
