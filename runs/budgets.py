"""A run's limits: what they are, what of them is used, and changing them so that more can be done.

A change is written into every problem's log (``agent.changes``), so that each prefix of a log can still be replayed
with the settings of its time. A problem that had ended by a limit that no longer holds goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Max, Sum

from agent.budget import Budget as StopPolicy
from agent.history import Standing
from agent.steps import Changed, FinishReason, Limits
from kernels.records import to_json
from runs import changing
from runs.control_models import Action
from runs.errors import LimitBelowUsed, NothingChanged, RunOver
from runs.models import Attempt, Event, LlmCall, Run, Trajectory
from runs.replaying import replay_of
from runs.states import RunState, TrajectoryState

BY_LIMIT = (FinishReason.NEAR_SOL, FinishReason.NO_PROGRESS, FinishReason.ATTEMPTS_SPENT, FinishReason.BUDGET_SPENT)
"""Ends that another limit may undo."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be changed of a run. ``attempts`` are each problem's, all others the whole run's or rules that hold for
    each problem; None: no such limit, or the rule is off. ``epsilon`` is a fraction."""

    attempts: int
    pool: int | None
    epsilon: float | None
    patience: int | None
    token_limit: int | None
    cost_limit: float | None

    @property
    def limits(self) -> Limits:
        """What of it a problem's log knows."""
        return Limits(self.attempts, self.epsilon, self.patience, self.token_limit, self.cost_limit)

    @property
    def policy(self) -> StopPolicy:
        """The stop rules of one problem."""
        return StopPolicy(self.attempts, self.epsilon, self.patience)


@dataclass(frozen=True, slots=True)
class Used:
    """What a run has used. ``attempts`` is the most of any problem, ``pool`` all problems' together; ``tokens`` and
    ``cost`` are what counts against its limits."""

    attempts: int
    pool: int
    tokens: int
    cost: float
    currency: str

    def check(self, wanted: Budget) -> None:
        """Raise LimitBelowUsed for the first limit that is under what was used."""
        for name, words, used, given in (
            ("attempts", "attempts a problem", self.attempts, wanted.attempts),
            ("pool", "attempts in all", self.pool, wanted.pool),
            ("token_limit", "tokens", self.tokens, wanted.token_limit),
            ("cost_limit", "cost", self.cost, wanted.cost_limit),
        ):
            if given is not None and given < used:
                shown = f"{used:,.4g}" if isinstance(used, float) else f"{used:,}"
                raise LimitBelowUsed(field=words, given=f"{given:,}", used=shown, name=name)


def budget_of(run: Run) -> Budget:
    """The run's limits as they are."""
    return Budget(**{each.name: getattr(run, each.name) for each in fields(Budget)})


def used_of(run: Run) -> Used:
    """What the run has used so far. Two queries."""
    made = Attempt.objects.filter(trajectory__run=run).aggregate(most=Max("number"), all=Count("pk"))
    spent = LlmCall.objects.filter(run=run).aggregate(
        tokens=Sum("counted_tokens"), cost=Sum("counted_cost"), currency=Max("currency")
    )
    return Used(
        attempts=made["most"] or 0,
        pool=max(made["all"], run.pool_used),
        tokens=spent["tokens"] or 0,
        cost=spent["cost"] or 0.0,
        currency=spent["currency"] or "",
    )


def change(run: Run, user: User, limits: Budget | Mapping[str, Any]) -> int:
    """Give a run other limits, or those that are named alone; how many ended problems go on with them.

    Raises LimitBelowUsed, NothingChanged, and RunOver for a cancelled run; then nothing is changed.
    """
    with transaction.atomic():
        rows = list(Trajectory.objects.select_for_update().filter(run=run).order_by("pk"))
        row = changing.held(run)
        if row.state == RunState.CANCELLED or row.cancel_requested is not None:
            raise RunOver(run=row, how="was cancelled", right="a clone of it")
        before, used = budget_of(row), used_of(row)
        wanted = limits if isinstance(limits, Budget) else replace(before, **limits)
        used.check(wanted)
        going_on = _that_go_on(row, rows, before, wanted, used)
        if wanted == before and not going_on:
            raise NothingChanged(run=row)
        Run.objects.filter(pk=row.pk).update(**asdict(wanted), pool_used=used.pool)
        row = changing.held(row)
        if wanted.limits != before.limits:
            _write(rows, Changed(before.limits, wanted.limits))
        if going_on:
            changing.open_run(row)
        for one in going_on:
            one.run = row
            changing.reopen(one, "budget raised")
        old, new = _differing(before, wanted), _differing(wanted, before)
        changing.note(row, user, Action.RAISED, problems=len(going_on), before=old, after=new)
    return len(going_on)


def _differing(one: Budget, other: Budget) -> dict[str, float | None]:
    theirs = asdict(other)
    return {name: value for name, value in asdict(one).items() if value != theirs[name]}


def _that_go_on(run: Run, rows: list[Trajectory], before: Budget, after: Budget, used: Used) -> list[Trajectory]:
    """Problems that had ended by a limit which stops them no longer."""
    ended = [row for row in rows if row.state == TrajectoryState.DONE and row.finish_reason in BY_LIMIT]
    if not ended:
        return []
    seen = replay_of(run)
    standings = {row.pk: track.final for row, track in zip(seen.trajectories, seen.tracks, strict=True)}
    return [row for row in ended if _goes_on(row, standings.get(row.pk), before, after, used)]


def _goes_on(row: Trajectory, standing: Standing | None, before: Budget, after: Budget, used: Used) -> bool:
    if standing is not None and after.policy.stop(standing) is not None:
        return False
    if after.pool is not None and used.pool >= after.pool:
        return False
    if row.finish_reason == FinishReason.BUDGET_SPENT:
        return _more(before.token_limit, after.token_limit) or _more(before.cost_limit, after.cost_limit)
    if standing is not None and before.policy.stop(standing) is not None:
        return True
    return before.pool is not None and used.pool >= before.pool


def _more(before: float | None, after: float | None) -> bool:
    """Whether a limit was raised or taken away."""
    return before is not None and (after is None or after > before)


def _write(rows: list[Trajectory], event: Changed) -> None:
    """Append the change to every log that has begun and may go on. The caller holds the rows."""
    keys = [row.pk for row in rows if row.state != TrajectoryState.CANCELLED]
    lengths = Event.objects.filter(trajectory__in=keys).values_list("trajectory_id").order_by()
    record = to_json(event)
    Event.objects.bulk_create(
        Event(trajectory_id=key, sequence=count + 1, kind=event.kind, record=record)
        for key, count in lengths.annotate(count=Count("pk")).values_list("trajectory_id", "count")
    )
