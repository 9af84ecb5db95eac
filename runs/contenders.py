"""Contenders, kept true: one row a kernel, problem, target and card, summed up from its attempts that ended.

Attempts that are saved and cases that change bring their rows up to date by themselves; whoever writes attempts in
bulk calls ``rebuild``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.signals import post_delete, post_save

from kernels.models import ProblemSize
from runs.kernel_models import Contender, Standing
from runs.models import Attempt
from sol.audit.record import Severity
from sol.gap.standing import Held
from sol.models import Case
from sol.signals import cases_changed

_BATCH = 1000
_SOME = 200
_resting: ContextVar[bool] = ContextVar("resting", default=False)
_KEY = ("kernel_id", "trajectory__problem_id", "trajectory__run__target", "trajectory__device")


class Key(NamedTuple):
    """Which contender: a kernel on a problem, a target and a card."""

    kernel: int
    problem: int
    target: str
    device: str


class Ended(NamedTuple):
    """An attempt that ended, as far as contenders look at it. Times are seconds."""

    kernel: int
    problem: int
    target: str
    device: str
    pk: int
    size: str
    language: str
    run: int
    owner: int
    outcome: str
    held: str
    time_s: float | None
    eager_s: float | None
    sol_s: float | None
    created: datetime
    finished: datetime | None

    @property
    def key(self) -> Key:
        """Which contender it belongs to."""
        return Key(self.kernel, self.problem, self.target, self.device)

    @property
    def order(self) -> tuple[bool, bool, float, int]:
        """The one that speaks for the contender comes first."""
        counts = self.time_s is not None and not self.held
        first = -self.pk if self.time_s is None else self.pk
        return not counts, self.time_s is None, self.time_s or 0.0, first


_FIELDS = (
    *_KEY, "pk", "trajectory__size", "kernel__language", "trajectory__run_id", "trajectory__run__owner_id", "outcome",
    "held", "time_s", "eager_s", "trajectory__sol_s", "created", "finished",
)  # fmt: skip


_TOLD = [
    field.name
    for field in Contender._meta.concrete_fields
    if not field.primary_key and field.name not in Key._fields
]
"""What a contender's row says beside which one it is."""


def _ended() -> QuerySet[Attempt]:
    return Attempt.objects.exclude(outcome="").order_by()


def standing_of(held: str, case: Case | None) -> Standing:
    """What flags and people say, of an attempt's ``held`` and its kernel's case."""
    if case is not None and case.verdict:
        return Standing(case.verdict)
    if case is not None and case.open:
        return Standing.OPEN_SEVERE if case.severity == Severity.SEVERE else Standing.OPEN_SUSPECT
    return Standing.BELOW_FLOOR if held == Held.FLOOR else Standing.NO_FLAGS


def sum_up(attempts: Iterable[Ended], case: Case | None, kind: str) -> dict[str, Any]:
    """A contender's fields from its attempts, of which there is one at least."""
    every = list(attempts)
    best = min(every, key=lambda one: one.order)
    counted_s = None if best.held else best.time_s
    return {
        "kernel_id": best.kernel, "problem_id": best.problem, "target": best.target, "device": best.device,
        "language": best.language, "kind": kind, "best_id": best.pk, "run_id": best.run, "owner_id": best.owner,
        "outcome": best.outcome, "held": best.held, "standing": standing_of(best.held, case), "tries": len(every),
        "time_s": best.time_s, "counted_s": counted_s, "sol_s": best.sol_s, "eager_s": best.eager_s,
        "gap": counted_s / best.sol_s if counted_s and best.sol_s else None,
        "speedup": best.eager_s / counted_s if counted_s and best.eager_s else None,
        "at": best.finished or best.created,
    }  # fmt: skip


def refresh(key: Key) -> None:
    """Bring one contender up to date, make it, or take it away. Five queries at most."""
    with transaction.atomic():
        fields = _fields_of(key)
        if fields is None:
            Contender.objects.filter(**key._asdict()).delete()
            return
        # Two workers may end attempts of one key at once: the second waits here and then sees what the first wrote.
        Contender.objects.bulk_create([Contender(**fields)], ignore_conflicts=True)
        row = Contender.objects.select_for_update().get(**key._asdict())
        fresh = _fields_of(key) or fields
        Contender.objects.filter(pk=row.pk).update(**fresh)


def _fields_of(key: Key) -> dict[str, Any] | None:
    found = _ended().filter(**dict(zip(_KEY, key, strict=True))).values_list(*_FIELDS)
    attempts = [Ended(*one) for one in found]
    if not attempts:
        return None
    case = Case.objects.filter(kernel_id=key.kernel, problem_id=key.problem).first()
    size = ProblemSize.objects.filter(problem_id=key.problem, size=attempts[0].size).values_list("kind", flat=True)
    return sum_up(attempts, case, size.first() or "")


def rebuild(run_pk: int | None = None) -> int:
    """Build all contenders anew from attempts, or those that one run's attempts belong to; how many there are then."""
    with transaction.atomic():
        kinds = {(p, size): kind for p, size, kind in ProblemSize.objects.values_list("problem_id", "size", "kind")}
        cases = {(case.kernel_id, case.problem_id): case for case in Case.objects.defer("sketch")}
        attempts, stale = _ended(), Contender.objects.all()
        if run_pk is not None:
            kernels = Attempt.objects.filter(trajectory__run_id=run_pk).values("kernel_id")
            attempts, stale = attempts.filter(kernel_id__in=kernels), stale.filter(kernel_id__in=kernels)
        stale.delete()
        made, waiting = 0, []
        for fields in _summed(attempts, cases, kinds):
            waiting.append(Contender(**fields))
            made += 1
            if len(waiting) == _BATCH:
                Contender.objects.bulk_create(waiting)
                waiting = []
        Contender.objects.bulk_create(waiting)
        return made


def _summed(
    attempts: QuerySet[Attempt], cases: dict[tuple[int, int], Case], kinds: dict[tuple[int, str], str]
) -> Iterator[dict[str, Any]]:
    ordered = attempts.order_by(*_KEY).values_list(*_FIELDS).iterator(chunk_size=5000)
    for key, group in groupby((Ended(*one) for one in ordered), key=lambda one: one.key):
        every = list(group)
        case = cases.get((key.kernel, key.problem))
        yield sum_up(every, case, kinds.get((key.problem, every[0].size), ""))


def refresh_attempt(attempt: Attempt) -> None:
    """Bring the contender of an attempt up to date."""
    trajectory = attempt.trajectory
    refresh(Key(attempt.kernel_id, trajectory.problem_id, trajectory.run.target, trajectory.device))


def refresh_cases(cases: Iterable[Case]) -> None:
    """Bring the contenders of the cases' kernels up to date. A fixed number of queries for every ``_SOME`` cases."""
    wanted = sorted({(case.kernel_id, case.problem_id) for case in cases})
    for start in range(0, len(wanted), _SOME):
        _refresh_pairs(set(wanted[start : start + _SOME]))


@transaction.atomic
def _refresh_pairs(wanted: set[tuple[int, int]]) -> None:
    kernels, problems = ({pair[at] for pair in wanted} for at in (0, 1))
    # Held before attempts are read: who ends one of them meanwhile waits here, or was waited for.
    held = Contender.objects.select_for_update().filter(kernel_id__in=kernels, problem_id__in=problems)
    rows = {Key(*one): pk for pk, *one in held.order_by("pk").values_list("pk", *Key._fields)}
    sizes = ProblemSize.objects.filter(problem_id__in=problems).values_list("problem_id", "size", "kind")
    kinds = {(problem, size): kind for problem, size, kind in sizes}
    found = Case.objects.filter(kernel_id__in=kernels, problem_id__in=problems).defer("sketch")
    cases = {(case.kernel_id, case.problem_id): case for case in found}
    attempts = _ended().filter(kernel_id__in=kernels, trajectory__problem_id__in=problems)
    every = (Contender(**fields) for fields in _summed(attempts, cases, kinds))
    fresh = {Key(one.kernel_id, one.problem_id, one.target, one.device): one for one in every}
    fresh = {key: one for key, one in fresh.items() if key[:2] in wanted}
    told = [one for key, one in fresh.items() if key in rows]
    Contender.objects.bulk_create(told, update_conflicts=True, unique_fields=Key._fields, update_fields=_TOLD)
    gone = [pk for key, pk in rows.items() if key not in fresh and key[:2] in wanted]
    if gone:
        Contender.objects.filter(pk__in=gone).delete()
    for key in sorted(fresh.keys() - rows.keys()):  # somebody makes it just now
        refresh(key)


@contextmanager
def resting(kernels: Iterable[int]) -> Iterator[None]:
    """While attempts of these kernels are deleted in bulk: their contenders follow once, at the end."""
    wanted, token = set(kernels), _resting.set(True)
    try:
        yield
    finally:
        _resting.reset(token)
    left: set[Key] = set()
    for start in range(0, len(wanted), _BATCH):
        some = sorted(wanted)[start : start + _BATCH]
        Contender.objects.filter(kernel_id__in=some).delete()
        left |= {Key(*one) for one in _ended().filter(kernel_id__in=some).values_list(*_KEY).distinct()}
    for key in sorted(left):
        refresh(key)


def _on_attempt_saved(instance: Attempt, **further: Any) -> None:
    if instance.outcome:
        refresh_attempt(instance)


def _on_attempt_gone(instance: Attempt, **further: Any) -> None:
    if not _resting.get():
        refresh_attempt(instance)


def _on_cases_changed(cases: list[Case], **_: Any) -> None:
    refresh_cases(cases)


def follow() -> None:
    """Connect once, after what holds times (``runs.following``): it has to have its say first."""
    post_save.connect(_on_attempt_saved, sender=Attempt, dispatch_uid="runs.contenders.saved")
    post_delete.connect(_on_attempt_gone, sender=Attempt, dispatch_uid="runs.contenders.gone")
    cases_changed.connect(_on_cases_changed, dispatch_uid="runs.contenders.cases")
