"""Importing problem files: read statically here, inspected by a worker later."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from kernels.errors import UserError
from kernels.models import Problem, ProblemSize
from kernels.problems.files import ProblemFile, find_problems, own_directory, read_problem
from runs import jobs
from runs.fleet import LATER
from runs.models import Job
from runs.states import JobKind, JobState

_NUMBER = re.compile(r"^\d+_")


@dataclass(slots=True)
class Imported:
    """What an import did."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    errors: list[UserError] = field(default_factory=list)


def import_directory(directory: Path) -> Imported:
    """Store every problem file below ``directory``; a file that cannot be read is an error of its own."""
    done = Imported()
    own = directory.resolve() == own_directory().resolve()
    for found in find_problems(directory):
        try:
            file = read_problem(found.path)
        except UserError as error:
            done.errors.append(error)
            continue
        _store(file, found.path, own, done)
    if done.added or done.changed or ProblemSize.objects.filter(record__isnull=False, audit__isnull=True).exists():
        inspect_soon()
    return done


def _store(file: ProblemFile, path: Path, own: bool, done: Imported) -> None:
    collection = "own" if own else ("KernelBench" if file.level is not None else path.parent.name)
    slug = _slug(file, collection)
    before = Problem.objects.filter(slug=slug).values_list("digest", flat=True).first()
    if before == file.digest:
        done.unchanged += 1
        return
    Problem.objects.update_or_create(
        slug=slug,
        defaults={
            "collection": collection,
            "level": file.level,
            "number": file.number,
            "name": _title(file.name),
            "file_name": path.name,
            "summary": file.docstring,
            "source": file.source,
            "digest": file.digest,
            "sizes": list(file.sizes),
        },
    )
    if before is None:
        done.added += 1
    else:
        done.changed += 1


def _title(name: str) -> str:
    """``1_Square_matrix_multiplication_`` -> ``Square_matrix_multiplication``: the number stands in the slug."""
    return _NUMBER.sub("", name).strip("_") or name


def _slug(file: ProblemFile, collection: str) -> str:
    """``L1/23`` for a levelled problem, ``own/2`` for ours, else the folder and the name."""
    if file.level is not None:
        return f"L{file.level}/{file.number}"
    if file.number is not None:
        return f"{collection}/{file.number}"
    return f"{collection}/{file.name}"[:40]


def inspect_soon() -> None:
    """Have a worker look at what is new when it has nothing else to do."""
    if not Job.objects.filter(kind=JobKind.INSPECT, state=JobState.QUEUED).exists():
        jobs.enqueue(JobKind.INSPECT, LATER)
