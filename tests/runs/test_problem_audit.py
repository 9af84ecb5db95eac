"""Flaws of problems are looked for when nothing else is to do, stored with the size, and again for a new source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kernels.models import Problem, ProblemSize
from kernels.problems.errors import InspectionCancelled
from kernels.problems.inspection import Inspection
from kernels.records import from_json
from runs import jobs
from runs.fleet import LATER
from runs.handlers import flaws
from runs.handlers.inspect import handle_inspect, store_inspection
from runs.importing import import_directory
from runs.jobs import Lease
from runs.models import Job
from runs.states import JobKind, JobState
from sol.audit.problems import ProblemAudit, audit
from tests.runs.worlds import make_problem
from tests.sol.graphs import Sketch

pytestmark = pytest.mark.django_db

Seen = Callable[[int, Any], None]


def summed() -> Inspection:
    """``(x @ w).sum(1)``, with an input that nothing reads."""
    sketch = Sketch()
    x, w, _ = sketch.input("x", 64, 64), sketch.parameter("w", 64, 64), sketch.input("spare", 8)
    y = sketch.op("mm", x, w, shape=(64, 64))
    return sketch.done(sketch.op("aten.sum.dim_IntList", y, [1], shape=(64,)))


@pytest.fixture
def problem() -> Problem:
    one = make_problem()
    one.sizes = ["cpu"]
    one.save()
    store_inspection(one, "cpu", summed())
    return one


@pytest.fixture
def lease(monkeypatch: pytest.MonkeyPatch) -> Lease:
    monkeypatch.setattr("runs.jobs.send", lambda *_: True)
    job = jobs.enqueue(JobKind.INSPECT, LATER)
    held = jobs.claim(job.pk, "a worker")
    assert held is not None
    return Lease(held)


def looks(monkeypatch: pytest.MonkeyPatch, answer: Callable[[Inspection], Any]) -> list[int]:
    """What stands in for the child; notes how many problems it was given at a time."""
    given: list[int] = []

    def look(paths: Sequence[Path], inspections: Sequence[Inspection], *, seen: Seen, cancelled: Any) -> None:
        assert all(path.read_text() == "class Model: ..." for path in paths)
        given.append(len(paths))
        for place, inspection in enumerate(inspections):
            seen(place, answer(inspection))

    monkeypatch.setattr(flaws, "audit_inspected", look)
    return given


def test_a_size_is_audited_once(problem: Problem, lease: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
    given = looks(monkeypatch, lambda inspection: audit(inspection, None, not_run="no room"))
    handle_inspect(lease.job, lease)
    row = ProblemSize.objects.get(problem=problem, size="cpu")
    assert (row.gravest, row.flaws) == ("severe", 2)
    stored = from_json(row.audit or {}, ProblemAudit)
    assert [flaw.flaw for flaw in stored.flaws] == ["removable_work", "input_ignored"]
    assert stored.not_run == "no room"
    assert Job.objects.get(pk=lease.job.pk).state == JobState.DONE
    flaws.audit_waiting(lease)
    assert given == [1]


def test_a_new_source_is_audited_again(problem: Problem, lease: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
    given = looks(monkeypatch, lambda inspection: audit(inspection, None))
    flaws.audit_waiting(lease)
    problem.digest = "another"
    problem.save()
    assert flaws.waiting_for_audit() == []
    row = store_inspection(problem, "cpu", summed())
    row.refresh_from_db()
    assert (row.audit, row.flaws, row.gravest) == (None, None, "")
    flaws.audit_waiting(lease)
    assert given == [1, 1]


def test_what_was_stopped_is_left_for_later(
    problem: Problem, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks(monkeypatch, lambda _: InspectionCancelled(path="a.py"))
    with pytest.raises(InspectionCancelled):
        flaws.audit_waiting(lease)
    assert ProblemSize.objects.get(problem=problem).audit is None


def test_one_that_cannot_be_audited_holds_up_no_other(
    problem: Problem, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_problem(2)
    other.sizes = ["cpu"]
    other.save()
    store_inspection(other, "cpu", summed())
    monkeypatch.setattr(flaws, "TOGETHER", 1)
    answers: list[Any] = [InspectionCancelled(path="a.py"), audit(summed(), None)]
    looks(monkeypatch, lambda _: answers.pop(0))
    with pytest.raises(InspectionCancelled):
        flaws.audit_waiting(lease)
    assert answers == []
    assert ProblemSize.objects.filter(audit__isnull=False).count() == 1


def test_importing_the_same_again_has_what_is_missing_looked_at(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.jobs.send", lambda *_: True)
    (tmp_path / "1_gemm.py").write_text("class Model: ...")
    import_directory(tmp_path)
    assert Job.objects.filter(kind=JobKind.INSPECT).count() == 1
