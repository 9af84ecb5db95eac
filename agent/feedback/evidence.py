"""What is known of one candidate when its findings are made: a frozen record with a JSON form.

What was not measured, built or read is None or empty. Nothing is judged here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kernels.dsl.simd import Simd
from kernels.harness.correctness import IncorrectReason, RoundErrors
from kernels.harness.evaluation import Check, Evaluation, Outcome, StageShare
from kernels.harness.measures import Activity
from kernels.languages import Language
from kernels.problems.inspection import Signature
from kernels.profiling.record import Profile
from kernels.targets import Policy, Target
from kernels.toolchain.report import BuildReport
from kernels.toolchain.sass import SassFacts
from sol.bounds.record import Bounds


@dataclass(frozen=True, slots=True)
class Evidence:
    """One candidate, as far as it came. Times in seconds.

    ``units`` are what work is spread over: cores of the host, multiprocessors of the card. ``l2_bytes`` is what one
    core of the host has of second-level cache, or the card's whole L2. ``policy`` is the lowest precision allowed.
    ``simd`` is the host's vector unit, None for this machine's. ``unit_stages`` names the stages of each built unit by
    its symbol. ``checks``, ``reason`` and ``rounds`` are the evaluation's; ``sass`` adds up all
    units whose machine code was read.
    """

    target: Target
    policy: Policy
    signature: Signature
    language: Language
    source: str
    outcome: Outcome
    detail: str
    bounds: Bounds | None = None
    build: BuildReport | None = None
    profile: Profile | None = None
    activity: Activity | None = None
    time_s: float | None = None
    stages: tuple[StageShare, ...] = ()
    checks: tuple[Check, ...] = ()
    reason: IncorrectReason | None = None
    rounds: tuple[RoundErrors, ...] = ()
    units: int | None = None
    l2_bytes: int | None = None
    sass: SassFacts | None = None
    simd: Simd | None = None
    unit_stages: dict[str, tuple[str, ...]] = field(default_factory=dict)


def with_evaluation(evidence: Evidence, evaluation: Evaluation) -> Evidence:
    """The evidence with all that an evaluation tells."""
    candidate = evaluation.candidate
    return replace(
        evidence,
        outcome=evaluation.outcome,
        detail=evaluation.detail,
        activity=candidate.activity if candidate else None,
        time_s=candidate.median_s if candidate else None,
        stages=evaluation.stages,
        checks=evaluation.checks,
        reason=evaluation.reason,
        rounds=evaluation.rounds,
    )
