"""What the run page shows, put together from rows in a fixed number of queries whatever the run's size.

Ratios are multiples of the run's own steering bound. A problem without a passing kernel counts as its baseline. A time
that is held (``sol.gap.standing.Held``) is no best and enters no figure here but those called ``claimed``.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import Sum
from django.utils import timezone

from kernels.harness.evaluation import Outcome
from runs import figures, words
from runs.charts.spark import spark
from runs.charts.strip import strip
from runs.models import Attempt, Job, Run, Trajectory
from runs.pool import most_attempts
from runs.readings import DEFAULT_EPSILON, Step
from runs.spans import Seconds
from runs.states import FINAL, JobKind, JobState
from runs.tally import COLUMNS, Tally, tally
from sol.gap.standing import Held


@dataclass
class Row:
    """One problem of a run."""

    trajectory: Trajectory
    epsilon: float
    budget: int
    columns: list[tuple[Any, ...]] = field(default_factory=list)
    """Its attempts as they were read, by number; of most of them nobody wants more than a count."""

    @cached_property
    def steps(self) -> list[Step]:
        """Its attempts."""
        return [Step._make(attempt[: len(COLUMNS)]) for attempt in self.columns]

    @cached_property
    def tally(self) -> Tally:
        """What its attempts come to."""
        return tally(self.columns, self.trajectory.best_id)

    @property
    def best(self) -> Step | None:
        """The trajectory's best where its time counts, else the fastest attempt that does; None where none does."""
        return self.tally.best

    @property
    def best_s(self) -> float | None:
        """The best time."""
        return self.best.time_s if self.best else None

    @cached_property
    def gap(self) -> float | None:
        """Best over SOL."""
        return self.best_s / self.trajectory.sol_s if self.best_s and self.trajectory.sol_s else None

    @cached_property
    def speedup(self) -> float | None:
        """Torch eager over the best, from one call."""
        if self.best is None or self.best.time_s is None:
            return None
        eager_s = self.best.eager_s or self.trajectory.eager_s
        return eager_s / self.best.time_s if eager_s else None

    @property
    def held(self) -> list[Step]:
        """Attempts whose times do not count."""
        return self.tally.held

    @property
    def claimed(self) -> Step | None:
        """The fastest attempt if every time counted; None where none has one."""
        return self.tally.claimed

    @cached_property
    def claimed_gap(self) -> float | None:
        """What the geomean would take if every time counted."""
        sol_s = self.trajectory.sol_s
        if self.claimed is None or self.claimed.time_s is None or not sol_s:
            return self.counted_gap
        return self.claimed.time_s / sol_s

    @cached_property
    def claimed_speedup(self) -> float | None:
        """Torch eager over the fastest attempt, from one call, if every time counted."""
        if not self.held or self.claimed is None or self.claimed.time_s is None:
            return self.speedup
        eager_s = self.claimed.eager_s or self.trajectory.eager_s
        return eager_s / self.claimed.time_s if eager_s else None

    @cached_property
    def eager_gap(self) -> float | None:
        """Torch eager over SOL."""
        if not self.trajectory.eager_s or not self.trajectory.sol_s:
            return None
        return self.trajectory.eager_s / self.trajectory.sol_s

    @cached_property
    def counted_gap(self) -> float | None:
        """What the geomean takes: the gap, or eager's where no kernel passed; None where neither is known."""
        return self.gap if self.gap is not None else self.eager_gap

    @property
    def near(self) -> bool:
        """Whether it is within the run's epsilon of SOL."""
        return self.gap is not None and self.gap <= 1 + self.epsilon

    @property
    def open(self) -> bool:
        """Whether work on it goes on."""
        return self.trajectory.state not in FINAL

    @property
    def under_way(self) -> str | None:
        """The state of the attempt that has not ended."""
        return self.tally.under_way

    @cached_property
    def ended(self) -> list[Step]:
        """Its attempts that came to an end."""
        return [step for step in self.steps if step.ended]

    @property
    def word(self) -> words.Word:
        """Its state."""
        return words.of_trajectory(self.trajectory, self.under_way)

    @cached_property
    def best_after(self) -> list[float | None]:
        """Best over SOL after each attempt that ended."""
        found: list[float | None] = []
        best: float | None = None
        sol_s = self.trajectory.sol_s
        for step in self.ended:
            if step.time_s is not None and not step.held and sol_s:
                ratio = step.time_s / sol_s
                best = ratio if best is None or ratio < best else best
            found.append(best)
        return found

    @cached_property
    def curve(self) -> list[float | None]:
        """Over SOL before any attempt (eager's) and after each."""
        eager = self.eager_gap
        return [eager, *(eager if value is None else value for value in self.best_after)]

    @property
    def strip(self) -> dict[str, Any] | None:
        """Its gap strip."""
        return strip(self.trajectory.sol_s, self.best_s, self.trajectory.eager_s)

    @property
    def spark(self) -> dict[str, Any] | None:
        """Its sparkline."""
        return spark(self.best_after, self.budget, self.eager_gap)

    @property
    def commonest(self) -> tuple[str, str, int, int] | None:
        """Where nothing passed: the commonest outcome, its word, its count, and of how many."""
        ended = [step.outcome for step in self.steps if step.ended and step.outcome]
        if not ended or Outcome.PASSED in ended:
            return None
        outcome, count = Counter(ended).most_common(1)[0]
        return outcome, words.of_outcome(outcome).text, count, len(ended)

    @property
    def why_none(self) -> str:
        """Why there is no best time."""
        if self.held:
            found = Counter(Held(step.held).word for step in self.held)
            return f"what passed does not count: {', '.join(f'{n} {word}' for word, n in found.most_common())}"
        if self.trajectory.error or self.trajectory.state == "failed":
            return "failed before a kernel passed"
        return "no passing kernel yet" if self.open else "no passing kernel"

    @cached_property
    def digest(self) -> str:
        """Four digits that change whenever anything that its row shows does."""
        t = self.trajectory
        shown = (
            t.state,
            t.finish_reason,
            self.best_s,
            tuple(step.held for step in self.held),
            t.eager_s,
            t.sol_s,
            self.tally.count,
            self.under_way,
            self.tally.ended,
        )
        return f"{zlib.crc32(repr(shown).encode()) & 0xFFFF:04x}"

    @property
    def order(self) -> tuple[bool, float]:
        """Most headroom first; what is not known last."""
        gap = self.counted_gap
        return (gap is None, -(gap or 0))


@dataclass
class Board:
    """One run with its problems."""

    run: Run
    rows: list[Row]

    @property
    def epsilon(self) -> float:
        """The run's own epsilon, or the usual one where its stop rule is off."""
        return self.run.epsilon if self.run.epsilon is not None else DEFAULT_EPSILON

    @property
    def final(self) -> bool:
        """Whether the run has ended."""
        return self.run.state in FINAL

    @cached_property
    def counted(self) -> list[Row]:
        """Rows that the geomeans hold: their bound and either their best or eager is known."""
        return [row for row in self.rows if row.counted_gap is not None]

    @cached_property
    def gap(self) -> float | None:
        """Geomean of best over SOL; None until a kernel passed."""
        if not any(row.gap is not None for row in self.counted):
            return None
        return figures.geomean([row.counted_gap or 1.0 for row in self.counted])

    @cached_property
    def eager_gap(self) -> float | None:
        """Geomean of eager over SOL."""
        return figures.geomean([row.eager_gap for row in self.rows if row.eager_gap is not None])

    @cached_property
    def speedup(self) -> float | None:
        """Geomean of eager over best; a problem without a passing kernel counts as 1."""
        if self.gap is None:
            return None
        return figures.geomean([row.speedup or 1.0 for row in self.counted if row.eager_gap is not None])

    @cached_property
    def claimed_gap(self) -> float | None:
        """The geomean of best over SOL if every held time counted; None where none is held."""
        if not self.held:
            return None
        return figures.geomean([gap for row in self.rows if (gap := row.claimed_gap) is not None])

    @cached_property
    def claimed_speedup(self) -> float | None:
        """The geomean of eager over best if every held time counted; None where none is held."""
        if not self.held:
            return None
        rows = [row for row in self.rows if row.claimed_gap is not None and row.eager_gap is not None]
        return figures.geomean([row.claimed_speedup or 1.0 for row in rows])

    @cached_property
    def without_kernel(self) -> int:
        """Problems in the geomeans that count as their baseline."""
        return sum(row.gap is None for row in self.counted)

    @cached_property
    def near(self) -> int:
        """Problems within epsilon of SOL."""
        return sum(row.near for row in self.rows)

    @cached_property
    def open(self) -> int:
        """Problems on which work goes on."""
        return sum(row.open for row in self.rows)

    @cached_property
    def ended(self) -> int:
        """Attempts that came to an end."""
        return sum(row.tally.ended for row in self.rows)

    @property
    def budget(self) -> int:
        """Attempts at most."""
        return most_attempts(self.run.attempts, len(self.rows), self.run.pool)

    @cached_property
    def passed(self) -> int:
        """Attempts that passed with a time that counts."""
        return sum(row.tally.passed for row in self.rows)

    @cached_property
    def held(self) -> int:
        """Attempts whose times do not count: in no best and no mean."""
        return sum(len(row.held) for row in self.rows)

    @property
    def held_words(self) -> str:
        """Why they do not count, each with its number: ``2 below the floor, 1 flagged``."""
        found = Counter(step.held for row in self.rows for step in row.held)
        return ", ".join(f"{found[held.value]} {held.word}" for held in Held if held.value in found)

    @property
    def failed(self) -> int:
        """Attempts that ended otherwise."""
        return self.ended - self.passed - self.held

    @property
    def settled(self) -> int:
        """Problems that have ended."""
        return len(self.rows) - self.open

    @property
    def settled_share(self) -> float:
        """Problems ended of all, 0 to 1."""
        return self.settled / len(self.rows) if self.rows else 0.0

    @property
    def device(self) -> str:
        """Where it is measured; empty until a problem was prepared."""
        return next((row.trajectory.device for row in self.rows if row.trajectory.device), "")

    @property
    def share(self) -> float:
        """Attempts ended of attempts at most, 0 to 1."""
        return min(1.0, self.ended / self.budget) if self.budget else 0.0

    @property
    def seconds(self) -> float | None:
        """How long it ran, or has been running; None before it started."""
        if self.run.started is None:
            return None
        return ((self.run.finished or timezone.now()) - self.run.started).total_seconds()


def board(run: Run) -> Board:
    """The run's problems, most headroom first. Two queries."""
    trajectories = (
        run.trajectories.select_related("problem")
        .only(
            "run_id", "state", "finish_reason", "words", "error", "sol_s", "floor_s", "bound_class", "device", "size",
            "eager_s", "best_id", "best_s", "attempts_done", "problem__slug", "problem__name",
        )
    )  # fmt: skip
    epsilon = run.epsilon if run.epsilon is not None else DEFAULT_EPSILON
    rows = {t.pk: Row(t, epsilon, run.attempts) for t in trajectories}
    attempts = Attempt.objects.filter(trajectory__run=run).order_by("trajectory_id", "number")
    for key, found in groupby(attempts.values_list(*COLUMNS, "trajectory_id"), itemgetter(len(COLUMNS))):
        if key in rows:
            rows[key].columns = list(found)
    return Board(run, sorted(rows.values(), key=lambda row: (*row.order, row.trajectory.pk)))


@dataclass(frozen=True, slots=True)
class TimeSplit:
    """Shares of the time that jobs of a run took, 0 to 1 each."""

    build: float
    evaluate: float
    other: float

    @property
    def both(self) -> float:
        """Where the second part of the bar ends."""
        return self.build + self.evaluate


def time_split(run: Run) -> TimeSplit | None:
    """How the run's work divides, from each job's claim to its end; None before any job ended. One query."""
    taken: dict[str, float | None] = dict(
        Job.objects.filter(run=run, state=JobState.DONE, claimed__isnull=False, finished__isnull=False)
        .values_list("kind")
        .annotate(taken=Sum(Seconds("finished", "claimed")))
        .values_list("kind", "taken")
    )
    seconds = {kind: value for kind, value in taken.items() if value}
    total = sum(seconds.values())
    if total <= 0:
        return None
    build, evaluate = seconds.get(JobKind.BUILD, 0.0), seconds.get(JobKind.EVALUATE, 0.0)
    other = sum(value for kind, value in seconds.items() if kind not in (JobKind.BUILD, JobKind.EVALUATE))
    return TimeSplit(build / total, evaluate / total, other / total)
