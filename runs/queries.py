"""Lists of runs and attempts as pages ask for them, each in a fixed number of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet

from kernels.harness.evaluation import Outcome
from runs import figures
from runs.models import Attempt, Run, Trajectory
from runs.pool import most_attempts
from runs.states import AttemptState

ENDED = (AttemptState.DONE, AttemptState.LOST, AttemptState.CANCELLED)
STREAM_LENGTH = 16
PAGE = 50


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run of the list with its figures."""

    run: Run
    problems: int
    ended: int
    budget: int
    gap: float | None
    speedup: float | None
    near: int

    @property
    def why_none(self) -> str:
        """Why there is no gap."""
        return "no passing kernel yet" if self.run.finished is None else "no passing kernel"


def runs_of(state: str, owner: str, team: int = 0) -> QuerySet[Run]:
    """Runs, newest first, by state, by owner's name and by a team of the owner where given."""
    found = Run.objects.select_related("owner", "origin")
    if state:
        found = found.filter(state=state)
    if owner:
        found = found.filter(owner__username=owner)
    if team:
        found = found.filter(owner__teams=team)
    return found


def run_page(found: QuerySet[Run], number: str | None) -> Page[Run]:
    """One page of runs."""
    return Paginator(found, PAGE).get_page(number)


def run_rows(runs: list[Run]) -> list[RunRow]:
    """Figures of these runs. One query."""
    kept: dict[int, list[Trajectory]] = {run.pk: [] for run in runs}
    columns = ("run_id", "sol_s", "best_s", "eager_s", "attempts_done")
    for trajectory in Trajectory.objects.filter(run__in=runs).only(*columns).order_by("pk"):
        kept[trajectory.run_id].append(trajectory)
    return [_run_row(run, kept[run.pk]) for run in runs]


def _run_row(run: Run, trajectories: list[Trajectory]) -> RunRow:
    gaps, speedups, near, passed = [], [], 0, False
    limit = 1 + (run.epsilon if run.epsilon is not None else 0.25)
    for t in trajectories:
        counted_s = t.best_s or t.eager_s
        passed = passed or t.best_s is not None
        if counted_s and t.sol_s:
            gaps.append(counted_s / t.sol_s)
        if t.eager_s:
            speedups.append(t.eager_s / (t.best_s or t.eager_s))
        near += t.gap is not None and t.gap <= limit
    return RunRow(
        run=run,
        problems=len(trajectories),
        ended=sum(t.attempts_done for t in trajectories),
        budget=most_attempts(run.attempts, len(trajectories), run.pool),
        gap=figures.geomean(gaps) if passed else None,
        speedup=figures.geomean(speedups) if passed else None,
        near=near,
    )


def state_counts(owner: str, team: int = 0) -> dict[str, int]:
    """How many runs are in each state. One query."""
    return dict(
        runs_of("", owner, team).order_by().values_list("state").annotate(n=Count("id")).values_list("state", "n")
    )


def owner_counts(state: str, team: int = 0) -> dict[str, int]:
    """How many runs each owner has. One query."""
    found = runs_of(state, "", team).order_by("owner__username").values_list("owner__username")
    return dict(found.annotate(n=Count("id")).values_list("owner__username", "n"))


def attempts_of(run: Run, outcome: str = "", slug: str = "", reason: str = "") -> QuerySet[Attempt]:
    """A run's ended attempts, newest first."""
    found = Attempt.objects.filter(trajectory__run=run, state__in=ENDED)
    if outcome:
        found = found.filter(outcome=outcome)
    if reason:
        found = found.filter(reason=reason)
    if slug:
        found = found.filter(trajectory__problem__slug=slug)
    return _with_problem(found)


def _with_problem(found: QuerySet[Attempt]) -> QuerySet[Attempt]:
    return (
        found.select_related("trajectory__problem")
        .defer("trajectory__bounds", "trajectory__problem__source")
        .order_by("-finished", "-id")
    )


def attempt_page(found: QuerySet[Attempt], number: str | None) -> Page[Attempt]:
    """One page of attempts. Three queries: far down a list, whole rows would be sorted only to be passed over."""
    page: Page[Any] = Paginator(found.values_list("pk", flat=True), PAGE).get_page(number)
    page.object_list = list(found.filter(pk__in=list(page.object_list)))
    return page


def outcome_counts(run: Run, slug: str = "") -> dict[str, int]:
    """How many ended attempts of a run had each outcome. One query."""
    found = attempts_of(run, slug=slug).order_by().values_list("outcome").annotate(n=Count("id"))
    return {outcome: n for outcome, n in found.values_list("outcome", "n").order_by("-n") if outcome}


def reason_counts(run: Run, slug: str = "") -> dict[str, int]:
    """How many incorrect attempts of a run had each reason. One query."""
    found = attempts_of(run, slug=slug).exclude(reason="").order_by().values_list("reason")
    return dict(found.annotate(n=Count("id")).order_by("-n", "reason"))


def stream(run: Run) -> list[Attempt]:
    """The newest ended attempts. One query: what is sorted is their keys, not whole rows of all of the run's."""
    newest = attempts_of(run).values("pk")[:STREAM_LENGTH]
    return list(_with_problem(Attempt.objects.filter(pk__in=newest)))


def last_of_shape(target: str, controller: str, attempts: int, problems: int) -> Run | None:
    """The last run of this installation that ended by itself, of the same target, controller and size. One query."""
    return (
        Run.objects.annotate(size=Count("trajectories"))
        .filter(target=target, controller=controller, attempts=attempts, size=problems, state="done", origin=None)
        .exclude(Q(started=None) | Q(finished=None))
        .order_by("-finished")
        .first()
    )


def best_attempts_on(problem_pk: int, limit: int = 30) -> list[Attempt]:
    """Attempts that passed on a problem across all runs and count, fastest first."""
    return list(
        Attempt.objects.filter(
            held="", trajectory__problem_id=problem_pk, outcome=Outcome.PASSED, time_s__isnull=False
        )
        .select_related("trajectory__run__owner", "trajectory__run__origin", "kernel")
        .defer("trajectory__bounds", "kernel__source")
        .order_by("time_s", "-id")[:limit]
    )


def trajectories_on(problem_pk: int) -> int:
    """In how many runs a problem was worked on. One query."""
    return Trajectory.objects.filter(problem_id=problem_pk).count()
