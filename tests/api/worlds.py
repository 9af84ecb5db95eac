"""Runs whose candidates come from outside, driven as the engine's tests drive theirs."""

from __future__ import annotations

from django.contrib.auth.models import User

from agent.steps import Candidate
from kernels.targets import Policy, Target
from runs import launching
from runs.launching import LaunchOrder
from runs.models import Run, Trajectory
from tests.runs.worlds import PROGRAM, make_problem


def external_run(owner: User, *, attempts: int = 4, problem: int = 1) -> Run:
    return launching.launch(
        owner,
        LaunchOrder(
            title="outside",
            problems=(make_problem(problem).pk,),
            target=Target.HOST,
            policy=Policy.STRICT,
            controller="flat",
            proposer="external",
            attempts=attempts,
            epsilon=None,
            patience=None,
            steering=False,
            seed=1,
            tolerance="kernelbench",
        ),
    )


def trajectory_of(run: Run) -> Trajectory:
    return run.trajectories.get()


def text(number: int) -> str:
    """A program of its own for every number."""
    return PROGRAM.replace("gemm(x, weight.T)", f"gemm(x, weight.T).tile({32 * number}, 64, 64)")


def candidate(number: int = 1, parent: int | None = None) -> Candidate:
    return Candidate(text(number), parent, f"tile({32 * number}, 64, 64)", "a larger tile", predicted=1.5)
