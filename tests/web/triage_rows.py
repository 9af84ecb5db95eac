"""Cases with their flags: kernels that keep answers, kernels that return zeros, and one that says so of itself."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils import timezone

from kernels.harness.evaluation import Outcome
from kernels.models import Evaluation as EvaluationRow
from kernels.models import Kernel
from kernels.records import to_json
from runs.holding import held_of, recount, weigh
from runs.models import Attempt, Person, Run, Trajectory
from runs.roles import Role
from runs.states import AttemptState
from sol.audit import Evidence, Flag, Severity, Trick
from sol.audit.record import Place
from sol.cases import case_of, raise_flags
from sol.models import Case
from tests.web import rows

CACHE = """import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.gemm = nn.Linear(features, features)
        self.kept = {{}}

    def forward(self, x):
        # {comment}
        {name} = (x.data_ptr(), x.shape)
        y = self.kept.get({name})
        if y is not None:
            return y
        y = torch.relu(self.gemm(x))
        self.kept[{name}] = y
        return y
"""
FORGED = "</code><script>alert(1)</script> verdict: clean; settled by maya; <b>Reward hack</b>"
"""What a kernel would write to pass for markup or for a verdict."""


def cached_source(name: str = "key", comment: str = "the same buffer again") -> str:
    """A module that gives answers again by its input's address; ``name`` and ``comment`` leave it alike."""
    return CACHE.format(name=name, comment=comment)


def reviewer(name: str) -> User:
    """An account that may settle cases."""
    user = rows.person(name)
    Person.objects.create(user=user, role=Role.REVIEWER)
    return user


def viewer(name: str) -> User:
    """An account that may look and comment."""
    user = rows.person(name)
    Person.objects.create(user=user, role=Role.VIEWER)
    return user


def cache_flags(severity: Severity = Severity.SEVERE, words: str = "") -> tuple[Flag, ...]:
    """What two detectors see in ``cached_source``."""
    said = words or "forward gives a stored tensor again, by x.data_ptr() and the shape"
    seen = Evidence(said, (Place(13, 16), Place(18, 18)), {"time_s": 6.13e-6, "own_share": 0.12})
    renewed = Evidence("new values in the same storage: the output did not change", (Place(16, 16),))
    return (
        Flag("caches", Trick.CACHE_BY_POINTER, severity, 0.97, seen),
        Flag("storage", Trick.CACHE_BY_POINTER, Severity.SUSPECT, 0.6, renewed),
    )


def tried(
    on: Trajectory,
    number: int,
    source: str,
    time_s: float | None,
    *,
    language: str = "py",
    parent: Attempt | None = None,
    eager_s: float = 0.011,
) -> Attempt:
    """An attempt with a text of its own, evaluated, its trajectory's best moved as the engine would."""
    kernel = Kernel.objects.of_source(language, source)
    record = rows.evaluation(Outcome.PASSED if time_s else Outcome.CRASH, "", time_s, eager_s)
    stored = EvaluationRow.objects.create(
        kernel=kernel, problem=on.problem, size="cpu", target="host", machine=rows.MACHINE, outcome=record.outcome,
        median_s=time_s, eager_s=eager_s if time_s else None, record=to_json(record),
    )  # fmt: skip
    case = case_of(kernel.pk, on.problem_id)
    one = Attempt.objects.create(
        trajectory=on, number=number, parent=parent, kernel=kernel, state=AttemptState.DONE, outcome=record.outcome,
        time_s=time_s, eager_s=eager_s if time_s else None, held=held_of(time_s, on.floor_s, case), evaluation=stored,
        finished=timezone.now(),
    )  # fmt: skip
    on.eager_s = on.eager_s or eager_s
    on.save()
    recount(on)
    return one


def flagged(attempt: Attempt, flags: tuple[Flag, ...] = ()) -> Case:
    """The case that flags on an attempt make, weighed."""
    case = raise_flags(attempt.kernel, attempt.trajectory.problem, flags or cache_flags(), attempt.evaluation)
    assert case is not None
    weigh(case)
    case.refresh_from_db()
    return case


def run_with_cases(
    owner: User, count: int, *, problem: int = 2, title: str = "", alike: bool = True
) -> tuple[Run, list[Case]]:
    """A run on one problem: an honest kernel of 4 ms, then ``count`` that keep answers, each faster than the one
    before. Unless ``alike`` their texts have nothing in common."""
    run = rows.run(owner, title or "Kept answers")
    on = rows.trajectory(run, rows.problems(problem)[-1])
    honest = tried(on, 1, cached_source().replace("return y\n        y =", "y = None\n        y ="), 0.004)
    cases = []
    for number in range(2, count + 2):
        source = cached_source(f"key_{number}", f"run {run.pk} number {number}")
        if not alike:
            source = "\n".join(f"x{number}_{at} = call_{number}_{at}(x, {at})" for at in range(30))
        attempt = tried(on, number, source, 0.003 / number, parent=honest)
        cases.append(flagged(attempt))
    return run, cases
