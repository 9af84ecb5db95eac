"""What the log learns by itself: from signing in and out, and from rows that say already who did what."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import signals as auth_signals
from django.contrib.auth.models import User
from django.db.models.signals import post_save
from django.utils import timezone

from runs import control_models
from runs.control_models import RunChange
from runs.import_models import Import
from runs.ledger import record
from runs.ledger_models import Action
from runs.lesson_models import LessonEdit
from runs.people_models import Person
from sol.case_models import Entry, EntryKind

_VERDICTS = {EntryKind.VERDICT: Action.VERDICT, EntryKind.UNDONE: Action.VERDICT_UNDONE}


def listen() -> None:
    """Connect once, when the application is ready."""
    auth_signals.user_logged_in.connect(_signed_in, dispatch_uid="ledger.in")
    auth_signals.user_logged_out.connect(_signed_out, dispatch_uid="ledger.out")
    auth_signals.user_login_failed.connect(_failed, dispatch_uid="ledger.failed")
    post_save.connect(_run_changed, RunChange, dispatch_uid="ledger.run")
    post_save.connect(_settled, Entry, dispatch_uid="ledger.case")
    post_save.connect(_lesson_changed, LessonEdit, dispatch_uid="ledger.lesson")
    post_save.connect(_imported, Import, dispatch_uid="ledger.import")


def _signed_in(user: User, request: Any = None, **_: Any) -> None:
    backend = str(getattr(user, "backend", ""))
    Person.objects.filter(user=user).update(seen=timezone.now())
    record(user, Action.SIGNED_IN, words="single sign-on" if "sso" in backend else "")


def _signed_out(user: User | None, request: Any = None, **_: Any) -> None:
    if user is not None:
        record(user, Action.SIGNED_OUT)


def _failed(credentials: dict[str, Any], request: Any = None, **_: Any) -> None:
    # A password typed into the field of names would stand here for every admin: only names that exist are kept.
    name = str(credentials.get("username") or "")
    known = User.objects.filter(username=name).first() if name and "\0" not in name else None
    record(known, Action.SIGN_IN_FAILED, name="an unknown name", words="single sign-on" if not name else "")


def _run_changed(instance: RunChange, created: bool, **_: Any) -> None:
    if not created or instance.user is None:
        return
    if instance.action == control_models.Action.CANCELLED:
        record(instance.user, Action.CANCELLED, instance.run)
    else:
        record(instance.user, Action.CHANGED, instance.run, str(instance.action))


def _settled(instance: Entry, created: bool, **_: Any) -> None:
    action = _VERDICTS.get(EntryKind(instance.kind))
    if not created or action is None or instance.user is None:
        return
    said = ": ".join(part for part in (instance.verdict.replace("_", " "), instance.words) if part)
    record(instance.user, action, instance.case, said, what=f"case {instance.case_id}")


def _lesson_changed(instance: LessonEdit, created: bool, **_: Any) -> None:
    if created and instance.user is not None:
        record(
            instance.user, Action.LESSON, instance.lesson, str(instance.action), what=f"lesson {instance.lesson_id}"
        )


def _imported(instance: Import, created: bool, **_: Any) -> None:
    if created and instance.imported_by is not None:
        record(instance.imported_by, Action.IMPORTED, instance.run, instance.where)
