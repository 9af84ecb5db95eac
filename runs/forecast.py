"""The launch page's summary: what will happen, who will do it, and how long it took the last time. No estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernels.languages import Language
from kernels.targets import Target
from runs import figures
from runs.fleet import CPU, MODEL, MODEL_PREFIX, QueueState, device_queue, queue_states
from runs.forms import LaunchForm
from runs.headroom import ProblemRow
from runs.model_fields import stops_by_limits
from runs.models import Run
from runs.pool import most_attempts
from runs.queries import last_of_shape


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is known before it runs. ``attempts`` and ``stops`` are None where a field must be mended first.

    ``limits`` are the run's tokens and money in words, empty without any; ``asked_first`` says that the first program
    is the proposer's, since the translation is in another language.
    """

    problems: int
    attempts: int | None
    each: int | None
    stops: str | None
    inspected: int
    failed: int
    queues: tuple[QueueState, ...]
    last: Run | None
    limits: str = ""
    asked_first: bool = False

    @property
    def shared(self) -> bool:
        """Whether a pool holds fewer attempts than the problems' own budgets together."""
        return self.attempts is not None and self.each is not None and self.attempts < self.each * self.problems

    @property
    def missing(self) -> tuple[str, ...]:
        """Queues that nobody serves."""
        return tuple(queue.name for queue in self.queues if not queue.online)

    @property
    def last_seconds(self) -> float | None:
        """How long the last run of this shape took."""
        if self.last is None or self.last.started is None or self.last.finished is None:
            return None
        return (self.last.finished - self.last.started).total_seconds()


def _stops(epsilon: float | None, patience: int | None) -> str:
    rules = []
    if epsilon is not None:
        rules.append(f"within {epsilon:g}{figures.THIN}% of SOL")
    if patience is not None:
        rules.append(f"after {patience} attempts without progress")
    if not rules:
        return "only when its attempts are spent"
    return f"once ahead of eager, and {' or '.join(rules)}"


def forecast(form: LaunchForm, rows: list[ProblemRow]) -> Forecast:
    """Put the summary together from a form, valid or not. Five queries at most."""
    form.is_valid()
    data = getattr(form, "cleaned_data", {})
    chosen = [row for row in rows if row.problem.pk in form.chosen()]
    each, target = data.get("attempts"), data.get("target", Target.HOST.value)
    fine = "epsilon" in data and "patience" in data
    last = None
    if each and chosen and "controller" in data:
        last = last_of_shape(target, data["controller"], each, len(chosen))
    return Forecast(
        problems=len(chosen),
        attempts=most_attempts(each, len(chosen), data.get("pool")) if each else None,
        each=each,
        stops=_stops(data["epsilon"], data["patience"]) if fine else None,
        inspected=sum(row.status == "inspected" for row in chosen),
        failed=sum(row.status == "failed" for row in chosen),
        queues=tuple(queue_states(_queues(data, target)).values()),
        last=last,
        limits=stops_by_limits(data, form.models.models),
        asked_first=Language(data.get("representation") or Language.MU) is not Language.MU,
    )


def _queues(data: dict[str, Any], target: str) -> tuple[str, ...]:
    asking = (MODEL,) if str(data.get("proposer", "")).startswith(MODEL_PREFIX) else ()
    return (CPU, *asking, device_queue(Target(target)))
