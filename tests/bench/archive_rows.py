"""A large run in bulk: real records, copied from one attempt and varied where rows must differ."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from kernels.models import Build, Evaluation, Kernel
from runs.models import Attempt, Event, Job, LlmCall, Run, Trajectory
from runs.states import RunState, TrajectoryState
from tests.web import rows


def large_run(problems: int, attempts: int) -> Run:
    """A run of ``problems`` × ``attempts``: a kernel, build, evaluation, call, two events and jobs for each."""
    owner = User.objects.create_user("alice")
    run = rows.run(owner, "A large one", state=RunState.DONE, finished=timezone.now(), attempts=attempts)
    for number in range(1, problems + 1):
        problem = rows.problem(number, f"Problem_{number}")
        problem.source += f"\n# {number}\n"
        problem.digest = hashlib.sha256(problem.source.encode()).hexdigest()
        problem.save()
        row = rows.trajectory(run, problem, state=TrajectoryState.DONE, finish_reason="attempts_spent")
        first = rows.attempt(row, 1, time_s=0.004)
        _others(run, row, first, attempts)
    return run


def _others(run: Run, row: Trajectory, first: Attempt, attempts: int) -> None:
    assert first.build is not None
    assert first.evaluation is not None
    numbers = range(2, attempts + 1)
    kernels = Kernel.objects.bulk_create(_kernel(row, first, number) for number in numbers)
    builds = Build.objects.bulk_create(_copy(first.build, kernel=kernel) for kernel in kernels)
    evaluations = Evaluation.objects.bulk_create(
        _copy(first.evaluation, kernel=kernel, build=build) for kernel, build in zip(kernels, builds, strict=True)
    )
    every = Attempt.objects.bulk_create(
        _copy(first, kernel=k, build=b, evaluation=e, number=n, parent_id=first.pk, new_best=False, time_s=0.005)
        for k, b, e, n in zip(kernels, builds, evaluations, numbers, strict=True)
    )
    Event.objects.bulk_create(
        Event(trajectory=row, sequence=2 * one.number + place, kind=record["kind"], record=record)
        for one in [first, *every]
        for place, record in enumerate(_events(one))
    )
    now = timezone.now()
    Job.objects.bulk_create(
        Job(kind=kind, queue="cpu", state="done", run=run, trajectory=row, attempt=one, claimed=now, finished=now)
        for one in [first, *every]
        for kind in ("build", "evaluate")
    )
    LlmCall.objects.bulk_create(
        LlmCall(
            run=run, trajectory=row, ask=one.number, phase="attempt", model="small", served_as="small",
            system="s" * 2000, user=first.kernel.source * 20, answer=json.dumps({"n": one.number}) * 50,
            counted_tokens=9000, finished=now,
        )
        for one in [first, *every]
    )  # fmt: skip


def _kernel(row: Trajectory, first: Attempt, number: int) -> Kernel:
    source = f"{first.kernel.source}\n# {row.pk} {number}"
    return Kernel(source=source, language="mu", digest=Kernel.digest_of("mu", source))


def _events(one: Attempt) -> list[dict[str, Any]]:
    candidate = {"text": one.kernel.source, "parent": None, "change": one.change, "hypothesis": one.hypothesis,
                 "language": "mu", "predicted": None, "tool": ""}  # fmt: skip
    measured = {"kind": "measured", "number": one.number, "outcome": "passed", "detail": "", "time_s": one.time_s,
                "baseline_s": one.eager_s, "flagged": False, "stage_seconds": {"y": 0.001}, "feedback": [],
                "gap": None}  # fmt: skip
    return [{"kind": "submitted", "number": one.number, "candidate": candidate}, measured]


def _copy(row: Any, **changes: Any) -> Any:
    fields = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    del fields["id"]
    for name, value in changes.items():
        field = row._meta.get_field(name) if not name.endswith("_id") else None
        fields[field.attname if field is not None else name] = value.pk if hasattr(value, "pk") else value
    return type(row)(**fields)
