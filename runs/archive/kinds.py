"""The kinds of records that an archive holds: which rows of a run, and how their columns are written.

All columns of a model go in, but those named in ``left``. A reference to another row is written as that row's key: a
kernel's digest, a problem's slug, a device's name, else the number of its record. People are written as names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Exists, OuterRef, Q

from agent.steps import Event as EventRecord
from kernels.codegen.emission import Emission
from kernels.harness.evaluation import Evaluation as EvaluationRecord
from kernels.models import Build, Evaluation, Kernel, Problem, ProblemSize, Profile
from kernels.problems.inspection import Inspection
from kernels.profiling.record import Profile as ProfileRecord
from kernels.toolchain.report import BuildReport
from runs.audit_models import Look
from runs.control_models import RunChange
from runs.feedback_models import Followed, Raised
from runs.lesson_models import Lesson, LessonEdit, LessonUse
from runs.models import Attempt, Event, Job, LlmCall, Run, Submission, Trajectory
from runs.states import FINAL
from runs.talk_models import Remark, Reviewed
from sol.audit.problems.record import ProblemAudit
from sol.audit.record import Evidence
from sol.bounds.record import Bounds
from sol.bounds.record import Device as DeviceRecord
from sol.models import Bound, Case, Device, Entry, Flag

Rows = Callable[[Run], "models.QuerySet[Any]"]


@dataclass(frozen=True)
class Kind:
    """One kind of record, kept in ``name``.jsonl.

    ``key`` is the column that names a row, "id" where a number does. ``refs`` are references by column to other
    kinds; those of them in ``later`` may point ahead. ``records`` are the types of JSON columns. ``text`` is the
    column that stands in a file of its own, below ``folder``.
    """

    name: str
    model: type[models.Model]
    rows: Rows
    key: str = "id"
    refs: dict[str, str] = field(default_factory=dict)
    later: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    records: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    folder: str = ""

    @property
    def member(self) -> str:
        """Its file in the archive."""
        return f"{self.name}.jsonl"

    @property
    def people(self) -> tuple[models.Field[Any, Any], ...]:
        """Columns that point to accounts: names in the archive, and nobody here once it is imported."""
        return tuple(one for one in self._all if one.related_model is User and one.name not in self.left)

    @property
    def columns(self) -> tuple[models.Field[Any, Any], ...]:
        """Columns that are written as they are."""
        apart = {"id", self.text, *self.refs, *self.left}
        return tuple(one for one in self._all if one.name not in apart and one.related_model is not User)

    @property
    def _all(self) -> tuple[models.Field[Any, Any], ...]:
        return tuple(self.model._meta.concrete_fields)


def _problems(run: Run) -> models.QuerySet[Any]:
    return Problem.objects.filter(trajectories__run=run)


def _kernels(run: Run) -> models.QuerySet[Any]:
    tried = Q(pk__in=Attempt.objects.filter(trajectory__run=run).values("kernel"))
    posted = Q(pk__in=Submission.objects.filter(trajectory__run=run).values("kernel"))
    return Kernel.objects.filter(tried | posted)


def _devices(run: Run) -> models.QuerySet[Any]:
    names = Trajectory.objects.filter(run=run).exclude(device="").values("device")
    return Device.objects.filter(name__in=names, elsewhere=run.brought_by)


def _bounds(run: Run) -> models.QuerySet[Any]:
    return Bound.objects.filter(problem__in=_problems(run), device__in=_devices(run))


def _builds(run: Run) -> models.QuerySet[Any]:
    mine = Attempt.objects.filter(trajectory__run=run)
    return Build.objects.filter(Q(pk__in=mine.values("build")) | Q(pk__in=mine.values("cross_build")))


def _profiles(run: Run) -> models.QuerySet[Any]:
    tried = Attempt.objects.filter(
        trajectory__run=run,
        kernel=OuterRef("kernel"),
        trajectory__problem=OuterRef("problem"),
        trajectory__size=OuterRef("size"),
    )
    found = Profile.objects.filter(target=run.target, policy=run.policy, elsewhere=run.brought_by)
    return found.filter(Exists(tried))


def _cases(run: Run) -> models.QuerySet[Any]:
    tried = Attempt.objects.filter(
        trajectory__run=run, kernel=OuterRef("kernel"), trajectory__problem=OuterRef("problem")
    )
    return Case.objects.filter(Exists(tried))


def _of(model: type[models.Model], path: str) -> Rows:
    return lambda run: model._default_manager.filter(**{path: run})


_ABOUT = {"kernel": "kernels", "problem": "problems"}

KINDS: tuple[Kind, ...] = (
    Kind("problems", Problem, _problems, key="slug", left=("imported",), text="source", folder="problems"),
    Kind(
        "inspections", ProblemSize, lambda run: ProblemSize.objects.filter(problem__in=_problems(run)),
        refs={"problem": "problems"}, left=("digest", "inspected"),
        records={"record": Inspection, "audit": ProblemAudit},
    ),
    Kind("devices", Device, _devices, key="name", left=("kind", "elsewhere"), records={"record": DeviceRecord}),
    Kind(
        "bounds", Bound, _bounds, refs={"problem": "problems", "device": "devices"}, records={"record": Bounds}
    ),
    Kind("kernels", Kernel, _kernels, key="digest", text="source", folder="kernels"),
    Kind(
        "run", Run, lambda run: Run.objects.filter(pk=run.pk),
        left=("owner", "cancelled_by", "paused_by", "cloned_from", "grid", "launch_key"),
    ),
    Kind(
        "trajectories", Trajectory, _of(Trajectory, "run"), later=("best",), records={"bounds": Bounds},
        refs={"run": "run", "problem": "problems", "best": "attempts"},
    ),
    Kind("builds", Build, _builds, refs=_ABOUT, records={"emission": Emission, "report": BuildReport}),
    Kind(
        "evaluations", Evaluation,
        lambda run: Evaluation.objects.filter(pk__in=Attempt.objects.filter(trajectory__run=run).values("evaluation")),
        refs={**_ABOUT, "build": "builds"}, records={"record": EvaluationRecord},
        left=("machine",),
    ),
    Kind(
        "attempts", Attempt, _of(Attempt, "trajectory__run"), later=("parent",),
        refs={
            "trajectory": "trajectories", "parent": "attempts", "kernel": "kernels", "build": "builds",
            "cross_build": "builds", "evaluation": "evaluations",
        },
    ),
    Kind(
        "events", Event, _of(Event, "trajectory__run"), refs={"trajectory": "trajectories"},
        records={"record": EventRecord},
    ),
    Kind(
        "jobs", Job, lambda run: Job.objects.filter(run=run, state__in=FINAL),
        refs={"run": "run", "trajectory": "trajectories", "attempt": "attempts"},
        left=("payload", "token", "worker", "lease_until"),
    ),
    Kind(
        "profiles", Profile, _profiles, refs={**_ABOUT, "build": "builds"}, left=("report", "elsewhere"),
        records={"record": ProfileRecord},
    ),
    Kind("calls", LlmCall, _of(LlmCall, "run"), refs={"run": "run", "trajectory": "trajectories"}),
    Kind(
        "submissions", Submission, _of(Submission, "trajectory__run"),
        refs={"trajectory": "trajectories", "kernel": "kernels"},
    ),
    Kind(
        "lessons", Lesson, _of(Lesson, "trajectory__run"),
        refs={"problem": "problems", "trajectory": "trajectories", "attempt": "attempts"}, left=("retired",),
    ),
    Kind("lesson_edits", LessonEdit, _of(LessonEdit, "lesson__trajectory__run"), refs={"lesson": "lessons"}),
    Kind(
        "lesson_uses", LessonUse,
        lambda run: LessonUse.objects.filter(trajectory__run=run, lesson__trajectory__run=run),
        refs={"lesson": "lessons", "trajectory": "trajectories"},
    ),
    Kind(
        "raised", Raised, _of(Raised, "attempt__trajectory__run"), refs={"attempt": "attempts"}, left=("elsewhere",)
    ),
    Kind(
        "followed", Followed,
        lambda run: Followed.objects.filter(attempt__trajectory__run=run, raised__attempt__trajectory__run=run),
        refs={"raised": "raised", "attempt": "attempts"},
    ),
    Kind("looks", Look, _of(Look, "attempt__trajectory__run"), refs={"attempt": "attempts"}, left=("user",)),
    Kind(
        "changes", RunChange, _of(RunChange, "run"), refs={"run": "run", "trajectory": "trajectories"},
    ),
    Kind("remarks", Remark, _of(Remark, "attempt__trajectory__run"), refs={"attempt": "attempts"}),
    Kind("reviews", Reviewed, _of(Reviewed, "attempt__trajectory__run"), refs={"attempt": "attempts"}),
    Kind("cases", Case, _cases, refs=_ABOUT),
    Kind(
        "flags", Flag, lambda run: Flag.objects.filter(case__in=_cases(run)),
        refs={"case": "cases", "evaluation": "evaluations"}, records={"evidence": Evidence},
    ),
    Kind(
        "entries", Entry, lambda run: Entry.objects.filter(case__in=_cases(run)),
        refs={"case": "cases"}, left=("batch",),
    ),
)  # fmt: skip
BY_NAME = {kind.name: kind for kind in KINDS}
OPTIONAL: frozenset[str] = frozenset()
"""Kinds that archives of this format may lack, being written before there were such."""


def user_names() -> dict[int, str]:
    """Accounts by key, as they are named in an archive. One query."""
    return dict(User.objects.values_list("pk", "username"))
