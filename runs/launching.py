"""Launching a run: rows for the run, its trajectories and their first jobs, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from kernels.harness.baselines import BaselineKind
from kernels.languages import Language
from kernels.models import Problem
from kernels.targets import Policy, Target
from runs import jobs
from runs.fleet import preparing_queue
from runs.models import Run, Trajectory
from runs.states import JobKind


@dataclass(frozen=True, slots=True)
class LaunchOrder:
    """What a person chose. ``epsilon`` is a fraction; None turns a stop rule off. ``pool`` is how many
    attempts all problems have together, None where each has its own ``attempts`` alone.

    ``seed_program`` is tried first in place of the translated program, which an empty one leaves in its place. In
    another ``seed_language`` than the ``representation``, which is what the proposer writes, it is all that is tried.
    ``token_limit`` and ``cost_limit`` hold for all problems together; None: no limit.
    """

    title: str
    problems: tuple[int, ...]
    target: Target
    policy: Policy
    controller: str
    proposer: str
    attempts: int
    epsilon: float | None
    patience: int | None
    steering: bool
    seed: int
    tolerance: str
    seed_program: str = ""
    seed_language: Language = Language.MU
    baselines: tuple[BaselineKind, ...] = (BaselineKind.EAGER,)
    pool: int | None = None
    representation: Language = Language.MU
    memory: bool = True
    shape: str = "5x2x4"
    token_limit: int | None = None
    cost_limit: float | None = None


def launch(owner: User, order: LaunchOrder) -> Run:
    """Make the run and set it going. The order must be valid; the form checks it."""
    with transaction.atomic():
        run = Run.objects.create(
            title=order.title,
            owner=owner,
            target=order.target,
            policy=order.policy,
            controller=order.controller,
            proposer=order.proposer,
            attempts=order.attempts,
            epsilon=order.epsilon,
            patience=order.patience,
            pool=order.pool,
            steering=order.steering,
            seed=order.seed,
            tolerance=order.tolerance,
            baselines=",".join(order.baselines),
            representation=order.representation,
            memory=order.memory,
            shape=order.shape,
            token_limit=order.token_limit,
            cost_limit=order.cost_limit,
        )
        for problem in _in_order(order.problems):
            trajectory = Trajectory.objects.create(
                run=run,
                problem=problem,
                size=problem.size_for(order.target),
                seed_program=order.seed_program,
                seed_language=order.seed_language,
            )
            jobs.enqueue(JobKind.PREPARE, preparing_queue(order.target), trajectory=trajectory)
    return run


def _in_order(ids: Sequence[int]) -> list[Problem]:
    found = Problem.objects.in_bulk(ids)
    return [found[key] for key in ids if key in found]
