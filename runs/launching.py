"""Launching a run: rows for the run, its trajectories and their first jobs, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from kernels.harness.baselines import BaselineKind
from kernels.languages import Language
from kernels.models import Problem
from kernels.targets import Policy, Target
from runs import jobs, ledger
from runs.fleet import preparing_queue
from runs.ledger_models import Action
from runs.models import Grid, Run, Trajectory
from runs.states import JobKind, Order


@dataclass(frozen=True, slots=True)
class LaunchOrder:
    """What a person chose. ``epsilon`` is a fraction; None turns a stop rule off. ``pool`` is how many
    attempts all problems have together, None where each has its own ``attempts`` alone.

    ``seed_program`` is tried first in place of the translated program, which an empty one leaves in its place. In
    another ``seed_language`` than the ``representation``, which is what the proposer writes, it is all that is tried.
    ``token_limit`` and ``cost_limit`` hold for all problems together; None: no limit. ``problems`` are in the ``order``
    that it names. ``cloned_from`` is the key of the run whose settings it began with.
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
    order: Order = Order.HEADROOM
    cloned_from: int | None = None


def launched(owner: User, key: str) -> Run | None:
    """The run that this form launched already. One query, none without a key."""
    return Run.objects.filter(owner=owner, launch_key=key).first() if key else None


def launch(owner: User, order: LaunchOrder, *, key: str = "", grid: Grid | None = None) -> Run:
    """Make the run and set it going; with the ``key`` of a form that launched one already, that one.

    The order must be valid; the form checks it.
    """
    try:
        return launched(owner, key) or _launch(owner, order, key, grid)
    except IntegrityError:
        # The same form came twice at the same time: the other one was first.
        first = launched(owner, key)
        if first is None:
            raise
        return first


def _launch(owner: User, order: LaunchOrder, key: str, grid: Grid | None) -> Run:
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
            order=order.order,
            cloned_from=Run.objects.filter(pk=order.cloned_from).first() if order.cloned_from else None,
            grid=grid,
            launch_key=key,
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
        ledger.record(owner, Action.LAUNCHED, run, what=f"{run} {run.title}")
    return run


def _in_order(ids: Sequence[int]) -> list[Problem]:
    found = Problem.objects.in_bulk(ids)
    return [found[key] for key in ids if key in found]
