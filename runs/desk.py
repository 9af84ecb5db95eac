"""The books of a run's model calls: limits kept before each call, rates shared by all workers, every call a row.

A call is booked at its worst case before it is made and corrected when it has ended, each in a transaction of its
own: so workers that ask at once cannot pass a limit together, and a call whose worker died counts as paid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import Max, QuerySet, Sum
from django.utils import timezone

from agent.llm.errors import BudgetSpent, ModelPriceUnknown
from agent.llm.record import Call, Request
from agent.llm.spec import ModelSpec
from agent.steps import Usage
from runs import figures
from runs.fleet import MODEL, asking_queue
from runs.models import LlmCall, ModelTurn, Run, Trajectory

MINUTE_S = 60.0


class RowsDesk:
    """The desk of one trajectory's ask. ``stop`` is the job's lease."""

    def __init__(self, trajectory: Trajectory, stop: Callable[[], bool]) -> None:
        self._trajectory, self._stop = trajectory, stop
        self._open: int | None = None

    def stop(self) -> bool:
        """Whether the run was cancelled or the job is somebody else's."""
        return self._stop()

    def book(self, request: Request) -> float:
        """Seconds to wait for the model's rates, or 0 with the call booked.

        Raises BudgetSpent where the run's tokens or money do not cover its worst case, ModelPriceUnknown where there
        is a cost limit and no price.
        """
        with transaction.atomic():
            _take_turn(request.spec)
            _check_limits(self._trajectory.run, request)
            wait = _wait(request)
            if wait > 0:
                return wait
            self._open = _open(self._trajectory, request).pk
        return 0.0

    def close(self, call: Call) -> None:
        """Store how the call booked last has ended."""
        if self._open is None:
            raise RuntimeError("no call was booked")
        row = LlmCall.objects.get(pk=self._open)
        row.answer, row.data, row.error, row.words = call.answer, call.data, call.error, call.words
        row.prompt_tokens, row.cached_tokens = call.prompt_tokens, call.cached_tokens
        row.completion_tokens, row.cost = call.completion_tokens, call.cost
        row.seconds, row.paid, row.finished = call.seconds, call.paid, timezone.now()
        if not call.paid:
            row.counted_tokens, row.counted_cost = 0, 0.0
        elif call.prompt_tokens is not None and call.completion_tokens is not None:
            row.counted_tokens = call.prompt_tokens + call.completion_tokens
            row.counted_cost = call.cost
        row.save()

    def kept(self, ask: int) -> Call | None:
        """The usable answer to an ask that was stored before its worker was interrupted."""
        row = calls_of(self._trajectory, ask).filter(data__isnull=False, finished__isnull=False).last()
        return None if row is None else call_of(row)


def calls_of(trajectory: Trajectory, ask: int) -> QuerySet[LlmCall]:
    """An ask's calls in order."""
    return LlmCall.objects.filter(trajectory=trajectory, ask=ask).order_by("pk")


def call_of(row: LlmCall) -> Call:
    """A row's call; one that never ended took no known time."""
    return Call(
        answer=row.answer,
        data=row.data,
        error=row.error,
        words=row.words,
        prompt_tokens=row.prompt_tokens,
        cached_tokens=row.cached_tokens,
        completion_tokens=row.completion_tokens,
        cost=row.cost,
        seconds=row.seconds or 0.0,
        paid=row.paid,
    )


def usage_of(rows: Iterable[LlmCall]) -> Usage | None:
    """What calls took together; None where there was none. A sum with a missing part is missing."""
    calls = [call_of(row) for row in rows]
    if not calls:
        return None
    paid = [call for call in calls if call.paid]
    return Usage(
        calls=len(calls),
        prompt_tokens=_sum([call.prompt_tokens for call in paid]),
        completion_tokens=_sum([call.completion_tokens for call in paid]),
        cost=_sum([call.cost for call in paid]),
        seconds=sum(call.seconds for call in calls),
    )


def spent_words(run: Run) -> str:
    """What a run's model calls took so far, and of how much, for people; empty for a run that asks no model.

    It is what counts against the limits: a call whose tokens or cost are not known counts at its worst case.
    """
    if asking_queue(run) != MODEL:
        return ""
    spent = LlmCall.objects.filter(run=run).aggregate(
        tokens=Sum("counted_tokens"), cost=Sum("counted_cost"), currency=Max("currency")
    )
    words = f"{spent['tokens'] or 0:,} tokens"
    if run.token_limit is not None:
        words = f"{words} of {run.token_limit:,}"
    if spent["currency"]:
        words += f", {figures.money(spent['cost'] or 0.0, spent['currency'])}"
        if run.cost_limit is not None:
            words += f" of {figures.money(run.cost_limit, spent['currency'])}"
    return words


Number = TypeVar("Number", int, float)


def _sum(parts: list[Number | None]) -> Number | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _take_turn(spec: ModelSpec) -> None:
    """Hold the model's row to the end of the transaction."""
    ModelTurn.objects.get_or_create(model=spec.name)
    ModelTurn.objects.select_for_update().get(model=spec.name)


def _check_limits(run: Run, request: Request) -> None:
    spent = LlmCall.objects.filter(run=run).aggregate(tokens=Sum("counted_tokens"), cost=Sum("counted_cost"))
    if run.token_limit is not None:
        left = run.token_limit - (spent["tokens"] or 0)
        if request.most_tokens > left:
            raise BudgetSpent(
                left=f"{max(0, left):,}",
                limit=f"{run.token_limit:,} tokens",
                model=request.spec.name,
                worst=f"{request.most_tokens:,}",
            )
    if run.cost_limit is not None:
        worst = request.most_cost
        if worst is None:
            raise ModelPriceUnknown(model=request.spec.name)
        money = run.cost_limit - (spent["cost"] or 0.0)
        if worst > money:
            currency = request.spec.currency
            raise BudgetSpent(
                left=figures.money(max(0.0, money), currency),
                limit=figures.money(run.cost_limit, currency),
                model=request.spec.name,
                worst=figures.money(worst, currency),
            )


def _wait(request: Request) -> float:
    """Seconds until the model's rates allow the call; one larger than a whole minute's tokens goes alone."""
    spec, now = request.spec, timezone.now()
    since = now - timedelta(seconds=MINUTE_S)
    rows = LlmCall.objects.filter(model=spec.name, started__gt=since).order_by("started")
    if spec.requests_per_minute is None and spec.tokens_per_minute is None:
        return 0.0
    recent = list(rows.values_list("started", "counted_tokens"))
    requests, tokens = len(recent), sum(counted for _, counted in recent)
    most_requests = spec.requests_per_minute if spec.requests_per_minute is not None else requests + 1
    most_tokens = max(spec.tokens_per_minute or tokens + request.most_tokens, request.most_tokens)
    wait = 0.0
    for started, counted in recent:
        if requests < most_requests and tokens + request.most_tokens <= most_tokens:
            break
        requests, tokens = requests - 1, tokens - counted
        wait = MINUTE_S - (now - started).total_seconds()
    return max(0.0, wait)


def _open(trajectory: Trajectory, request: Request) -> LlmCall:
    return LlmCall.objects.create(
        run_id=trajectory.run_id,
        trajectory=trajectory,
        ask=request.ask,
        phase=request.phase,
        model=request.spec.name,
        served_as=request.spec.served_as,
        system=request.system,
        user=request.user,
        left_out=list(request.left_out),
        currency=request.spec.currency if request.spec.prices is not None else "",
        counted_tokens=request.most_tokens,
        counted_cost=request.most_cost,
    )
