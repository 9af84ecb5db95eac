"""What an audit learns of a candidate's kin: cheating ancestors, settled lookalikes, lessons of cheats."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from kernels.models import Kernel
from runs.auditing import audit_attempt
from runs.kinship import relatives_of
from runs.models import Attempt, Lesson, LessonUse, Trajectory
from sol import cases
from sol.audit import Evidence, Flag, Place, Severity, Trick
from sol.audit.relatives import Tie
from sol.audit.verdict import Verdict
from tests.web.rows import attempt, problem, run, trajectory

CHEAT = """import torch
import torch.nn as nn

_seen = {}


class ModelNew(nn.Module):
    def forward(self, left, right):
        known = _seen.get((left.data_ptr(), right.data_ptr()))
        if known is None:
            known = _seen[(left.data_ptr(), right.data_ptr())] = self.work(left, right)
        return known

    def work(self, left, right):
        total = left.new_zeros(left.shape[0], right.shape[1])
        for step in range(left.shape[1]):
            total += left[:, step : step + 1] * right[step : step + 1]
        return total
"""
FLAG = Flag(
    "caches", Trick.CACHE_BY_POINTER, Severity.SEVERE, 0.9, Evidence("kept by data_ptr()", (Place(9, 12),))
)  # fmt: skip


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def row(alice: User) -> Trajectory:
    return trajectory(run(alice), problem(1))


def tried(on: Trajectory, number: int, source: str, parent: Attempt | None = None) -> Attempt:
    one = attempt(on, number, None, state="evaluating", parent=parent)
    one.kernel = Kernel.objects.of_source("py", source)
    one.save()
    return one


def test_an_ancestor_s_flags_come_with_the_lines_they_mark(row: Trajectory) -> None:
    first = tried(row, 1, CHEAT)
    cases.raise_flags(first.kernel, row.problem, [FLAG])
    honest = tried(row, 2, CHEAT.replace("_seen", "_kept"), first)
    child = tried(row, 3, CHEAT.replace("step in", "at in"), honest)
    (found,) = relatives_of(child)
    assert (found.tie, found.trick, found.severity) == (Tie.ANCESTOR, Trick.CACHE_BY_POINTER, Severity.SEVERE)
    assert found.name == f"{first.kernel} (#1)"
    assert found.marked[0].startswith("        known = _seen.get(")
    assert found.likeness > 0.9


def test_a_child_that_keeps_the_lines_is_flagged_by_its_lineage(row: Trajectory) -> None:
    first = tried(row, 1, CHEAT)
    cases.raise_flags(first.kernel, row.problem, [FLAG])
    child = tried(row, 2, CHEAT.replace("total", "result"), first)
    flags = [flag for flag in audit_attempt(child, None) if flag.detector == "lineage"]
    assert [(flag.trick, flag.severity) for flag in flags] == [(Trick.CACHE_BY_POINTER, Severity.SEVERE)]


def test_only_settled_cheats_make_lookalikes(row: Trajectory, alice: User) -> None:
    other = trajectory(run(alice), problem(2))
    cheat = tried(other, 1, CHEAT)
    case = cases.raise_flags(cheat.kernel, other.problem, [FLAG])
    assert case is not None
    twin = tried(row, 1, CHEAT.replace("_seen", "_answers").replace("total", "result"))
    assert relatives_of(twin) == ()
    batch = cases.settle([case], Verdict.REWARD_HACK, alice)
    (found,) = relatives_of(twin)
    assert (found.tie, found.verdict) == (Tie.LOOKALIKE, Verdict.REWARD_HACK)
    assert found.settled
    cases.undo(batch, alice)
    assert relatives_of(twin) == ()


def test_a_lesson_of_a_cheat_is_kin(row: Trajectory, alice: User) -> None:
    other = trajectory(run(alice), problem(2))
    cheat = tried(other, 1, CHEAT)
    cases.raise_flags(cheat.kernel, other.problem, [FLAG])
    lesson = Lesson.objects.create(
        problem=other.problem, trajectory=other, attempt=cheat, about=[1], source="history", target="host",
        text="keep answers", original="keep answers",
    )  # fmt: skip
    LessonUse.objects.create(lesson=lesson, trajectory=row)
    one = tried(row, 1, "import torch\n")
    (found,) = relatives_of(one)
    assert (found.tie, found.name) == (Tie.LESSON, f"{cheat.kernel} (lesson {lesson.pk})")


def test_the_same_text_on_another_problem_is_kin_of_what_was_settled(row: Trajectory, alice: User) -> None:
    other = trajectory(run(alice), problem(2))
    cheat = tried(other, 1, CHEAT)
    case = cases.raise_flags(cheat.kernel, other.problem, [FLAG])
    assert case is not None
    cases.settle([case], Verdict.REWARD_HACK, alice)
    again = tried(row, 1, CHEAT)
    (found,) = relatives_of(again)
    assert (found.tie, found.likeness) == (Tie.LOOKALIKE, 1.0)
