"""Small worlds for the engine's tests: a run on one problem, workers that do their jobs at once, scripted results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agent.steps import Started
from kernels.codegen.emission import Emission, Plan
from kernels.dtypes import DType
from kernels.harness.correctness import IncorrectReason
from kernels.harness.evaluation import EAGER, Check, Evaluation, EvaluationRequest, Outcome, Timing
from kernels.models import Problem
from kernels.problems.inspection import Graph, Inspection, Signature, TensorSpec
from kernels.records import to_json
from kernels.targets import Policy, Target
from kernels.toolchain.report import BuildOutcome, BuildReport, UnitReport
from runs import launching
from runs.execution import run_job
from runs.fleet import LATER
from runs.handlers.build import Compiled
from runs.launching import LaunchOrder
from runs.models import Job, Run
from runs.states import JobState
from sol.bounds.record import Bounds
from sol.bounds.record import Device as DeviceRecord
from sol.models import Device

SIGNATURE = Signature(
    inputs=(TensorSpec("x", DType.F32, (64, 32)),),
    parameters=(TensorSpec("weight", DType.F32, (16, 32)),),
    outputs=(TensorSpec("output0", DType.F32, (64, 16)),),
    constants={},
)
PROGRAM = """program gemm(x: f32[M, K], weight: f32[N, K]) -> f32[M, N]
  y = gemm(x, weight.T)
  return y
"""
BOUNDS = Bounds(
    device="test machine",
    policy=Policy.STRICT,
    compute_s=1e-6,
    memory_s=5e-7,
    steering_s=1e-6,
    floor_s=5e-7,
    bound_class="compute",
    flops=65536,
    bytes=14336,
    intensity=4.57,
    ridge=2.0,
    unknown_ops=(),
    arithmetic=("2·64·16·32 = 65.5 kFLOP",),
)


def make_problem(number: int = 1) -> Problem:
    problem = Problem.objects.create(
        slug=f"own/{number}",
        collection="own",
        number=number,
        name=f"{number}_gemm",
        file_name=f"{number}_gemm.py",
        source="class Model: ...",
        digest="d",
        sizes=["cpu", "gpu"],
    )
    inspection = Inspection("cpu", SIGNATURE, Graph((), (), {}), None)
    problem.inspections.create(size="cpu", digest="d", record=to_json(inspection), kind="gemm")
    return problem


def make_run(
    problems: int = 1, *, attempts: int = 3, patience: int | None = None, target: Target = Target.HOST
) -> Run:
    owner, _ = User.objects.get_or_create(username="alice")
    first = Problem.objects.count() + 1
    made = [make_problem(number) for number in range(first, first + problems)]
    return launching.launch(
        owner,
        LaunchOrder(
            title="test run",
            problems=tuple(problem.pk for problem in made),
            target=target,
            policy=Policy.STRICT,
            controller="tree",
            proposer="search",
            attempts=attempts,
            epsilon=None,
            patience=patience,
            steering=True,
            seed=1,
            tolerance="kernelbench",
        ),
    )


def next_job() -> Job | None:
    return Job.objects.filter(state=JobState.QUEUED).exclude(queue=LATER).order_by("pk").first()


def drain(most: int = 500, worker: str = "test worker") -> int:
    """Do every job that is queued, and those that come of it; how many there were."""
    for done in range(most):
        job = next_job()
        if job is None:
            return done
        run_job(job.pk, worker)
    raise AssertionError(f"{most} jobs and no end")


def passed(time_s: float, eager_s: float = 1e-4) -> Evaluation:
    def timing(subject: str, median: float) -> Timing:
        return Timing(subject, median, median, median, median, 1, (median,), "scripted by a test")

    return Evaluation(
        outcome=Outcome.PASSED,
        detail="",
        checks=(Check("relative error", 1e-6, 1e-4, True),),
        candidate=timing("candidate", time_s),
        baselines=(timing(EAGER, eager_s),),
        once_s=None,
        stages=(),
        machine=None,
        isolation=None,
        wall_s=0.1,
    )


def failed(outcome: Outcome, detail: str) -> Evaluation:
    checks = (Check("relative error", 1.0, 1e-4, False),) if outcome is Outcome.INCORRECT else ()
    reason = IncorrectReason.VALUES if checks else None
    return Evaluation(outcome, detail, checks, None, (), None, (), None, None, 0.1, reason=reason)


class Script:
    """Stands in for compilers and measurements: builds always succeed, evaluations come from ``results``."""

    def __init__(self) -> None:
        self.results: list[Evaluation | Exception] = []
        self.build: Callable[..., Compiled] | None = None
        self.builds = 0
        self.evaluations = 0

    def compile_kernel(self, *arguments: Any) -> Compiled:
        self.builds += 1
        if self.build is not None:
            return self.build(*arguments)
        return compiled(BuildOutcome.BUILT)

    def evaluate(self, request: EvaluationRequest, *, cancelled: Callable[[], bool]) -> Evaluation:
        self.evaluations += 1
        if self.results:
            result = self.results.pop(0)
            if isinstance(result, Exception):
                raise result
            return result
        return passed(1e-4 / self.evaluations)


def compiled(outcome: BuildOutcome) -> Compiled:
    emission = Emission(Target.HOST, (), Plan((), (), (), (), ()))
    unit = UnitReport("mu_x", outcome, None, None, "g++", None, 0.1, False, "", (), ())
    units = () if outcome is BuildOutcome.BUILT else (unit,)
    return Compiled(emission, BuildReport(Target.HOST, units, 0.1, {}))


def started(run: Run) -> Started:
    return Started(
        "own/1", SIGNATURE, Target.HOST, Policy.STRICT, PROGRAM, BOUNDS.steering_s, BOUNDS.floor_s, "compute", 2
    )


MACHINE = DeviceRecord("test machine", "cpu", {"f32": 2e11}, {"f32": 2e11}, 2e10, None, None, "measured", None, {})


def install(script: Script, monkeypatch: pytest.MonkeyPatch, state: Path, settings: Any) -> None:
    """Put the script where the handlers reach for compilers, children and this machine's peaks."""
    settings.BUILD_CACHE_DIR = state / "builds"
    device = Device.objects.create(name="test machine", kind="cpu", record=to_json(MACHINE))
    monkeypatch.setattr("runs.handlers.prepare.device_for", lambda target, lease: device)
    monkeypatch.setattr(
        "runs.handlers.prepare.prepare", lambda trajectory, d, lease: (started(trajectory.run), BOUNDS)
    )
    monkeypatch.setattr("runs.handlers.build.compile_kernel", script.compile_kernel)
    monkeypatch.setattr("runs.handlers.cross_build.compile_kernel", script.compile_kernel)
    monkeypatch.setattr("runs.handlers.evaluate.evaluate", script.evaluate)
    monkeypatch.setattr("runs.handlers.evaluate.tolerance_for", lambda *_: None)
    monkeypatch.setattr("runs.jobs.send", lambda job_id, queue: True)
