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
    """What a person chose. ``epsilon`` is a fraction; None turns a stop rule off.

    ``seed_program`` is tried first in place of the translated program, which an empty one leaves in its place. In
    another ``seed_language`` than μCUTLASS it is all that is tried: proposers cannot change it.
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
            steering=order.steering,
            seed=order.seed,
            tolerance=order.tolerance,
            baselines=",".join(order.baselines),
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
