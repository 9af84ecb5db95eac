"""A finished run judged again under a whole grid of stop policies: what each would have kept, and what it would save.

For one policy on one history ``agent.replay`` does the same in the open; here a history is walked once for each ε and
once for each w, not once for each pair, since either rule's first stop does not depend on the other. Nothing is run
again and nothing is guessed past the last attempt that was made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Literal, NamedTuple, TypeAlias

from agent.history import Ended, Standing, first_event, standings, standings_after
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


class Spent(NamedTuple):
    """An answer as what it cost: all of its tokens, None where it does not say."""

    tokens: int | None

    @classmethod
    def of(cls, prompt: int | None, completion: int | None) -> Spent:
        """Both counts, or nothing where one is missing."""
        return cls(None if prompt is None or completion is None else prompt + completion)


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

    @classmethod
    def read(cls, problem: str, sol_s: float, log: Sequence[Spent | Ended]) -> Track:
        """From a log of which no more was read than this: a result that was written again keeps the first's place."""
        ended = {entry.number: entry for entry in log if isinstance(entry, Ended)}
        return cls(problem, standings_after(sol_s, ended.values()), _tokens(log))

    @property
    def final(self) -> Standing:
        """Where it stood when its history ended."""
        return self.passed[-1]

    def paid(self, index: int, unit: Unit) -> int:
        """The cost up to the standing of that index."""
        if unit == "tokens" and self.tokens is not None:
            return self.tokens[index]
        return self.passed[index].attempts

    def costs(self, unit: Unit) -> Sequence[int]:
        """The cost up to each standing."""
        return [self.paid(index, unit) for index in range(len(self.passed))]

    def losses(self) -> list[float]:
        """The logarithm of what stopping at each standing keeps; 0 where nothing ever passed: that loses nothing."""
        last = self.final.best_s
        if last is None:
            return [0.0] * len(self.passed)
        return [-math.inf if each.best_s is None else math.log(last / each.best_s) for each in self.passed]

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
    return _tokens(_costs(history))


def _costs(history: History) -> Iterator[Spent | Ended]:
    for event in history:
        if isinstance(event, Answered):
            usage = event.usage
            yield Spent.of(usage.prompt_tokens, usage.completion_tokens) if usage is not None else Spent(None)
        elif isinstance(event, Measured):
            yield Ended(event.number, None, None)


def _tokens(log: Iterable[Spent | Ended]) -> tuple[int, ...] | None:
    total, found, ended = 0, [0], set()
    for entry in log:
        if isinstance(entry, Spent):
            if entry.tokens is None:
                return None
            total += entry.tokens
        elif entry.number not in ended:
            ended.add(entry.number)
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
    # Each track is walked once, and once for each ε and each w: there are many more pairs of them.
    costs, losses = [track.costs(unit) for track in tracks], [track.losses() for track in tracks]
    known = any(track.final.best_s is not None for track in tracks)
    near, idle = (
        _near(tracks, {each.epsilon for each in policies}),
        _idle(tracks, {each.patience for each in policies}),
    )
    found = []
    for policy in policies:
        places = tuple(map(min, near[policy.epsilon], idle[policy.patience]))
        retention = math.exp(sum(map(getitem, losses, places)) / len(tracks)) if known else None
        found.append(Outlook(policy, unit, places, sum(map(getitem, costs, places)), whole, retention))
    return tuple(found)


def _near(tracks: Sequence[Track], epsilons: Iterable[float | None]) -> dict[float | None, list[int]]:
    """Where each ε alone would have stopped each track; the last standing where it would not have."""
    firsts = [
        _firsts((at, -each.gap) for at, each in enumerate(track.passed) if each.ahead and each.gap is not None)
        for track in tracks
    ]
    return {epsilon: _places(tracks, firsts, None if epsilon is None else -(1 + epsilon)) for epsilon in epsilons}


def _idle(tracks: Sequence[Track], patiences: Iterable[int | None]) -> dict[int | None, list[int]]:
    """Where each w alone would have stopped each track; the last standing where it would not have."""
    firsts = [
        _firsts((at, float(each.since_improvement)) for at, each in enumerate(track.passed) if each.ahead)
        for track in tracks
    ]
    return {patience: _places(tracks, firsts, patience) for patience in patiences}


def _places(
    tracks: Sequence[Track], firsts: Sequence[Sequence[tuple[int, float]]], limit: float | None
) -> list[int]:
    """The first index of each track whose value is not under the limit; the last where none is or the rule is off."""
    lasts = [len(track.passed) - 1 for track in tracks]
    if limit is None:
        return lasts
    return [
        next((at for at, value in risen if value >= limit), last) for risen, last in zip(firsts, lasts, strict=True)
    ]


def _firsts(values: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    """Of indices and values those that are higher than all before them."""
    found: list[tuple[int, float]] = []
    for index, value in values:
        if not found or value > found[-1][1]:
            found.append((index, value))
    return found


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
