"""What happened to a case, line by line, and what a person may take back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef
from django.utils import timezone

from runs.triage.errors import DecidedMeanwhile
from sol.audit.verdict import Verdict
from sol.case_models import DECISIONS, Case, Entry, EntryKind

REMEMBERED = timedelta(hours=12)
"""How long a person's own last verdict is offered for undoing beside the next case."""


@dataclass(frozen=True, slots=True)
class Said:
    """One line of a history. ``who`` is empty where the product did it; ``words`` is what somebody wrote."""

    created: datetime
    who: str
    did: str
    words: str
    comment: bool
    batch: str


@dataclass(frozen=True, slots=True)
class Undoable:
    """A verdict that can be taken back: by whom nothing later was decided. ``count`` cases were settled with it and not
    anew since."""

    batch: str
    verdict: Verdict
    case: Case
    count: int
    created: datetime

    @property
    def words(self) -> str:
        """``Reward hack on k-1234ab`` or ``Reward hack on 14``."""
        on = str(self.count) if self.count > 1 else str(self.case.kernel)
        name = self.verdict.words
        return f"{name[0].upper()}{name[1:]} on {on}"


def history(entries: Iterable[Entry]) -> list[Said]:
    """A case's entries as a reader sees them, the oldest first."""
    return [_said(entry) for entry in entries]


def decided_meanwhile(case: Case) -> DecidedMeanwhile:
    """The error that says who decided on a case last, and what. Two queries at most."""
    last = Entry.objects.filter(case=case, kind__in=DECISIONS).select_related("user").order_by("-pk").first()
    who = last.user.get_username() if last is not None and last.user is not None else "the product"
    did = f"settled it as {Verdict(case.verdict).words}" if case.verdict else "opened it again"
    return DecidedMeanwhile(who=who, did=did)


def _said(entry: Entry) -> Said:
    who = entry.user.get_username() if entry.user is not None else ""
    verdict = Verdict(entry.verdict).words if entry.verdict else ""
    did = {
        EntryKind.RAISED: "flagged by",
        EntryKind.VERDICT: f"settled as {verdict}",
        EntryKind.UNDONE: f"back to {verdict or 'open'}",
        EntryKind.CARRIED: f"carried over: {verdict}",
        EntryKind.REOPENED: "opened again by",
        EntryKind.COMMENT: "said",
        EntryKind.ASSIGNED: "gave it",
    }[EntryKind(entry.kind)]
    return Said(entry.created, who, did, entry.words, entry.kind == EntryKind.COMMENT, entry.batch)


def last_of(user: User) -> Undoable | None:
    """The newest verdict of a person that nothing was decided after; None where there is none today. Two queries."""
    mine = Entry.objects.filter(user=user, kind=EntryKind.VERDICT, created__gt=timezone.now() - REMEMBERED)
    return _undoable(mine.exclude(_overtaken()).select_related("case__kernel").order_by("-pk").first())


def _overtaken() -> Exists:
    """Whether something was decided on an entry's case after it."""
    return Exists(Entry.objects.filter(case=OuterRef("case"), pk__gt=OuterRef("pk"), kind__in=DECISIONS))


def undoable_of(case: Case) -> Undoable | None:
    """The verdict of a settled case, where it can be taken back. Two queries."""
    if not case.verdict:
        return None
    last = (
        Entry.objects.filter(case=case, kind__in=DECISIONS).select_related("case__kernel").order_by("-pk").first()
    )
    return _undoable(last)


def _undoable(entry: Entry | None) -> Undoable | None:
    if entry is None or not entry.batch or not entry.verdict:
        return None
    kinds = (EntryKind.VERDICT, EntryKind.CARRIED)
    batch = Entry.objects.filter(batch=entry.batch, kind__in=kinds).exclude(_overtaken())
    count = batch.values("case").distinct().count()
    return Undoable(entry.batch, Verdict(entry.verdict), entry.case, count, entry.created)
