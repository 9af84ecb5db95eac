"""Runs with everything that an archive holds, and a second installation: the same database, emptied."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection

from kernels.models import Problem
from kernels.records import from_json
from runs.archive.form import MANIFEST, Manifest, Member, text_of
from runs.archive.writing import write
from runs.control_models import RunChange
from runs.feedback_models import Followed, Raised
from runs.lesson_models import LessonEdit, LessonUse
from runs.models import LlmCall, Run, Trajectory
from runs.states import JobKind, JobState
from runs.talk_models import Remark, Reviewed
from sol.audit.verdict import Verdict
from sol.cases import comment, settle
from tests.web import gallery, histories
from tests.web.audit_rows import CACHED, CAST, flagged

SECRET = "hunter2-the-secret"


def honest() -> None:
    """Give each problem of the gallery a text of its own, and the digest that belongs to it."""
    for problem in Problem.objects.all():
        problem.source += f"\n# {problem.slug}\n"
        problem.digest = hashlib.sha256(problem.source.encode()).hexdigest()
        problem.save()
        problem.inspections.update(digest=problem.digest)


def plain_run(owner: User) -> Run:
    """Three problems with whole logs."""
    run = histories.replayable(owner)
    for row in run.trajectories.all():
        for one in row.attempts.filter(number__lte=2):
            gallery.job(row, JobKind.BUILD, "cpu", one, JobState.DONE)
            gallery.job(row, JobKind.EVALUATE, "host", one, JobState.DONE)
    honest()
    return run


def full_run(owner: User, reviewer: User) -> Run:
    """A run with a row of every kind that an archive holds."""
    run = plain_run(owner)
    first, second, _ = run.trajectories.order_by("pk")
    lesson = histories.lesson(first)
    LessonEdit.objects.create(lesson=lesson, user=reviewer, action="edited", before="a", after="b")
    LessonUse.objects.create(lesson=lesson, trajectory=second)
    one, two, *_ = first.attempts.order_by("number")
    raised = Raised.objects.create(attempt=one, tool="tiles", target="host", severity="warning", expected=1.4)
    Followed.objects.create(raised=raised, attempt=two, log_gain=0.1, improved=True, named=False)
    call(first, 1)
    case = flagged(two, CACHED, CAST)
    comment(case, reviewer, "looks like a cache by pointer")
    settle([case], Verdict.REWARD_HACK, reviewer, "it keeps its answers")
    Remark.objects.create(attempt=one, user=reviewer, line=3, text="why this tile?")
    Reviewed.objects.create(attempt=one, user=reviewer)
    RunChange.objects.create(run=run, user=owner, action="paused", record={})
    run.refresh_from_db()
    return run


def call(on: Trajectory, ask: int) -> LlmCall:
    """One call of a model."""
    return LlmCall.objects.create(
        run=on.run, trajectory=on, ask=ask, phase="attempt", model="small", served_as="small-2", system="be brief",
        user="make it faster", answer="{}", data={"candidates": []}, prompt_tokens=120, completion_tokens=8, cost=0.01,
        counted_cost=0.01, counted_tokens=128, currency="USD", seconds=2.5, left_out=["3 attempts"],
    )  # fmt: skip


def written(run: Run, path: Path) -> Path:
    """The run's archive."""
    write(Run.objects.get(pk=run.pk), path)
    return path


def elsewhere() -> None:
    """Empty the database: another installation."""
    with connection.constraint_checks_disabled(), connection.cursor() as cursor:
        for model in apps.get_models():
            if model._meta.app_label in ("kernels", "sol", "runs"):
                cursor.execute(f"DELETE FROM {connection.ops.quote_name(model._meta.db_table)}")


def members(path: Path) -> dict[str, bytes]:
    """All members of an archive."""
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def forged(
    path: Path, change: Callable[[dict[str, bytes]], None], *, manifest: dict[str, Any] | None = None
) -> Path:
    """The archive with its members changed and its manifest made right again: only what it says is wrong."""
    held = members(path)
    form = json.loads(held.pop(MANIFEST))
    change(held)
    form["members"] = []
    kept = from_json({**form, **(manifest or {})}, Manifest)
    listed = tuple(Member(name, len(data), hashlib.sha256(data).hexdigest()) for name, data in held.items())
    counts = dict(kept.counts) | {
        name.removesuffix(".jsonl"): data.count(b"\n") for name, data in held.items() if name.endswith(".jsonl")
    }
    right = Manifest(
        **{**{f: getattr(kept, f) for f in kept.__slots__}, "members": listed, "counts": counts}
    ).sealed()
    return zipped(path.with_name("forged.zip"), {**held, MANIFEST: text_of(right).encode()})


def zipped(path: Path, held: dict[str, bytes]) -> Path:
    """A zip with these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in held.items():
            file.writestr(name, data)
    return path


def changed(name: str, line: int, **fields: Any) -> Callable[[dict[str, bytes]], None]:
    """A change of one record's fields; a field that is Ellipsis is taken away."""

    def change(held: dict[str, bytes]) -> None:
        lines = held[name].splitlines()
        record = json.loads(lines[line - 1]) | fields
        lines[line - 1] = json.dumps({key: one for key, one in record.items() if one is not ...}).encode()
        held[name] = b"\n".join(lines) + b"\n"

    return change
