"""One evaluation as the command line hands it on: the JSON form of ``mucutlass evaluate --json`` and of a batch.

Every key is always there; what is not known is null, what was not asked for is empty. docs/evaluation.md says what
each field means. This module joins records that others made: it measures, builds and decides nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernels.harness.baselines import BaselineKind
from kernels.harness.correctness import IncorrectReason, RoundErrors, Tile
from kernels.harness.evaluation import Check, Evaluation, Isolation, Machine, Outcome, StageShare, Timing, Tolerance
from kernels.harness.measures import Conditions
from kernels.languages import Language
from kernels.profiling.record import Profile
from kernels.targets import Policy, Target
from kernels.toolchain.report import BuildOutcome, BuildReport


@dataclass(frozen=True, slots=True)
class CandidateForm:
    """What was evaluated. ``sha256`` is of the source's bytes, in hex."""

    file: str
    language: Language
    sha256: str


@dataclass(frozen=True, slots=True)
class ProblemForm:
    """What it was evaluated against; ``size`` is null where the problem could not be looked at."""

    file: str
    size: str | None


@dataclass(frozen=True, slots=True)
class DeviceForm:
    """``kind`` is "host" or "cuda"; ``machine`` is null where nothing ran."""

    kind: str
    target: Target
    machine: Machine | None


@dataclass(frozen=True, slots=True)
class CorrectnessForm:
    """``passed`` is null where correctness was not settled. ``worst_tile`` is the one of all ``rounds`` with the
    largest error beside the reference in it; null where nothing was compared."""

    passed: bool | None
    tolerance: Tolerance | None
    checks: tuple[Check, ...]
    rounds: tuple[RoundErrors, ...]
    worst_tile: Tile | None


@dataclass(frozen=True, slots=True)
class TimingForm:
    """``baselines`` has a key for each that was asked for, by its full name, null where it was not measured;
    ``absent`` holds the reasons. ``once_s`` is what was done once before any call, in seconds."""

    candidate: Timing | None
    baselines: dict[str, Timing | None]
    absent: dict[str, str]
    once_s: float | None
    stages: tuple[StageShare, ...]
    library_share: float | None


@dataclass(frozen=True, slots=True)
class BuildForm:
    """``cached`` is whether every unit came from the cache; null for a program without units."""

    outcome: BuildOutcome
    seconds: float
    cached: bool | None
    compiler: str | None
    libraries: dict[str, str]


@dataclass(frozen=True, slots=True)
class EvaluationForm:
    """All of one evaluation. ``speedup`` maps a baseline's full name to its time over the candidate's.

    ``reason`` is why it is incorrect, null in every other outcome. ``flags`` are signs of a gamed benchmark.
    ``wall_s`` is everything from the request to this form, in seconds; ``spent_s`` and ``overhead_s`` are of the
    evaluation alone. ``gap`` is the time beside its bounds, in the JSON of ``sol.gap.assessment``: who makes the form
    adds it, since bounds are not known in here. ``feedback`` is what the tools of
    ``agent.feedback`` found, likewise in their JSON.
    """

    outcome: Outcome
    reason: IncorrectReason | None
    detail: str
    candidate: CandidateForm
    problem: ProblemForm
    policy: Policy
    device: DeviceForm
    correctness: CorrectnessForm
    timing: TimingForm
    speedup: dict[str, float | None]
    conditions: Conditions | None
    profile: Profile | None
    flags: tuple[dict[str, Any], ...]
    build: BuildForm | None
    isolation: Isolation | None
    versions: dict[str, str | None]
    spent_s: dict[str, float]
    overhead_s: float | None
    wall_s: float
    gap: dict[str, Any] | None = None
    feedback: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """What an evaluation was asked to do: it stands in the form, however the evaluation ends."""

    candidate: CandidateForm
    problem: ProblemForm
    policy: Policy
    device: str
    target: Target
    baselines: tuple[BaselineKind, ...]
    tolerance: Tolerance | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended. ``evaluation`` is None where it never came to one: ``outcome`` and ``detail`` say why."""

    outcome: Outcome
    detail: str
    evaluation: Evaluation | None = None
    report: BuildReport | None = None
    profile: Profile | None = None


def source_digest(source: str) -> str:
    """The SHA-256 of a source's UTF-8 bytes, in hex."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


def evaluation_form(asked: Asked, ended: Ended, wall_s: float, versions: dict[str, str | None]) -> EvaluationForm:
    """The form of one request, whatever came of it."""
    evaluation = ended.evaluation
    return EvaluationForm(
        outcome=ended.outcome,
        reason=evaluation.reason if evaluation else None,
        detail=ended.detail,
        candidate=asked.candidate,
        problem=asked.problem,
        policy=asked.policy,
        device=DeviceForm(asked.device, asked.target, evaluation.machine if evaluation else None),
        correctness=_correctness(asked, ended),
        timing=_timing(asked.baselines, evaluation),
        speedup={name: evaluation.speedup(name) if evaluation else None for name in _names(asked.baselines)},
        conditions=evaluation.conditions if evaluation else None,
        profile=ended.profile,
        flags=(),
        build=_build(ended.report),
        isolation=evaluation.isolation if evaluation else None,
        versions=versions,
        spent_s=evaluation.spent_s if evaluation else {},
        overhead_s=evaluation.overhead_s if evaluation else None,
        wall_s=wall_s,
    )


def _names(baselines: Sequence[BaselineKind]) -> list[str]:
    return [kind.full_name for kind in baselines]


def _correctness(asked: Asked, ended: Ended) -> CorrectnessForm:
    settled = {Outcome.PASSED: True, Outcome.INCORRECT: False}
    checks, rounds = (ended.evaluation.checks, ended.evaluation.rounds) if ended.evaluation else ((), ())
    tiles = [errors.tile for round_ in rounds if (errors := round_.errors) is not None and errors.tile is not None]
    worst = max(tiles, key=lambda tile: tile.error, default=None)
    return CorrectnessForm(settled.get(ended.outcome), asked.tolerance, checks, rounds, worst)


def _timing(baselines: Sequence[BaselineKind], evaluation: Evaluation | None) -> TimingForm:
    if evaluation is None:
        return TimingForm(None, dict.fromkeys(_names(baselines)), {}, None, (), None)
    return TimingForm(
        candidate=evaluation.candidate,
        baselines={name: evaluation.baseline(name) for name in _names(baselines)},
        absent=evaluation.absent,
        once_s=evaluation.once_s,
        stages=evaluation.stages,
        library_share=evaluation.library_share,
    )


def _build(report: BuildReport | None) -> BuildForm | None:
    if report is None:
        return None
    compilers = sorted({unit.compiler for unit in report.units if unit.compiler})
    return BuildForm(
        outcome=report.outcome,
        seconds=report.seconds,
        cached=all(unit.cache_hit for unit in report.units) if report.units else None,
        compiler=", ".join(compilers) or None,
        libraries=report.libraries,
    )
