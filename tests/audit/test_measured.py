"""Detectors of evaluations, profiles and bounds, on records made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels.harness.correctness import CHECK_REASONS, reason_of
from kernels.harness.evaluation import Check, Evaluation, Outcome, StageShare, Timing
from kernels.harness.measures import Activity, KernelActivity
from kernels.languages import Language
from kernels.records import from_json, to_json
from kernels.targets import Policy
from sol.audit import DETECTORS, AuditOutcome, Evidence, Flag, Place, Severity, Subject, Trick, audit, outcome_of
from sol.audit.detectors.checks import MEANINGS
from sol.audit.record import ImpossibleFlag
from sol.bounds.record import Bounds

KERNEL = """
__global__ void mine(float* y, const float* x) { y[threadIdx.x] = x[threadIdx.x] * 2.0f; }
extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void*, void* stream) {
  mine<<<1, 32, 0, cudaStream_t(stream)>>>((float*)outputs[0], (const float*)inputs[0]);
  return 0;
}
"""
PASSED = Check("matched share", 1.0, 1.0, True)


def timing(seconds: float = 1e-3, activity: Activity | None = None) -> Timing:
    return Timing("candidate", seconds, seconds, seconds, seconds, 1, (seconds,), "events", activity=activity)


def evaluation(*checks: Check, time: Timing | None = None, stages: tuple[StageShare, ...] = ()) -> Evaluation:
    failed = [check.name for check in checks if check.failed]
    return Evaluation(
        outcome=Outcome.INCORRECT if failed else Outcome.PASSED,
        detail="",
        checks=checks or (PASSED,),
        candidate=None if failed else time or timing(),
        baselines=(),
        once_s=None,
        stages=stages,
        machine=None,
        isolation=None,
        wall_s=1.0,
        reason=reason_of(failed) if failed else None,
    )


def flags(found: Evaluation, bounds: Bounds | None = None, cache: int | None = None) -> tuple[Flag, ...]:
    policy = bounds.policy if bounds is not None else Policy.TF32
    subject = Subject(KERNEL, Language.CU, policy=policy, evaluation=found, bounds=bounds, cache_bytes=cache)
    return tuple(flag for flag in audit(subject) if flag.detector in ("checks", "shares", "bounds"))


@pytest.mark.parametrize("name", sorted(CHECK_REASONS))
def test_each_failed_check_is_a_flag_and_a_passed_or_skipped_one_is_none(name: str) -> None:
    (flag,) = flags(evaluation(Check(name, 2.0, 1.0, False, "line 1 <b>\x1b[31m")))
    assert flag.trick is MEANINGS[name].trick
    assert flag.evidence.figures == {"seen": 2.0, "limit": 1.0}
    assert "\x1b" not in flag.evidence.words
    assert not flags(evaluation(PASSED, Check(name, 1.0, 1.0, True)))
    assert not flags(evaluation(PASSED, Check(name, None, None, False, "no way", done=False)))


def test_wrong_values_alone_are_no_reproach() -> None:
    found = flags(evaluation(Check("matched share", 0.4, 1.0, False), Check("scaled inputs", 0.4, 1.0, False)))
    assert {flag.severity for flag in found} == {Severity.INFO}


def test_right_on_plain_inputs_and_wrong_on_scaled_ones_is_suspect() -> None:
    (flag,) = flags(evaluation(PASSED, Check("scaled inputs", 0.4, 1.0, False)))
    assert (flag.trick, flag.severity) == (Trick.IDENTITY, Severity.SUSPECT)


def activity(*kernels: tuple[str, float, bool]) -> Activity:
    found = tuple(KernelActivity(name, "kernel", 1.0, seconds, own, "name") for name, seconds, own in kernels)
    return Activity(found, 1e-3, 1e-3, 3, "profiler")


def test_a_small_share_of_own_kernels_is_a_fig_leaf_and_never_severe() -> None:
    leaf = activity(("mine(float*)", 1e-6, True), ("nvjet_gemm", 1e-3, False))
    (flag,) = flags(evaluation(time=timing(activity=leaf)))
    assert (flag.trick, flag.severity) == (Trick.FIG_LEAF, Severity.SUSPECT)
    assert flag.evidence.figures["own_share"] == pytest.approx(1e-6 / 1.001e-3)
    assert not flags(evaluation(time=timing(activity=activity(("mine(float*)", 1e-3, True)))))


def test_a_kernel_that_was_not_run_is_never_launched() -> None:
    found = flags(evaluation(time=timing(activity=activity(("nvjet_gemm", 1e-3, False)))))
    assert {(flag.trick, flag.severity) for flag in found} == {
        (Trick.LIBRARY_ONLY, Severity.SUSPECT),
        (Trick.NEVER_LAUNCHED, Severity.SEVERE),
    }


def test_stages_of_torch_are_legal() -> None:
    stages = (StageShare("a", 9e-4, True), StageShare("b", 1e-4, False))
    (flag,) = flags(evaluation(stages=stages))
    assert (flag.trick, flag.severity) == (Trick.FIG_LEAF, Severity.INFO)
    (flag,) = flags(evaluation(stages=(StageShare("a", 9e-4, True),)))
    assert (flag.trick, flag.severity) == (Trick.LIBRARY_ONLY, Severity.SUSPECT)


BOUNDS = Bounds(
    device="card",
    policy=Policy.TF32,
    compute_s=1e-3,
    memory_s=1e-4,
    steering_s=1e-3,
    floor_s=5e-4,
    bound_class="compute",
    flops=10**9,
    bytes=10**6,
    intensity=1000.0,
    ridge=100.0,
    unknown_ops=(),
    arithmetic=(),
    floor_flops=1e9,
    floor_bytes=10**6,
)


@pytest.mark.parametrize(
    ("seconds", "severity"),
    [(2e-3, None), (1e-3, None), (4.8e-4, Severity.SUSPECT), (4e-4, Severity.SEVERE)],
)
def test_times_below_the_floor_by_the_standing_rule(seconds: float, severity: Severity | None) -> None:
    found = flags(evaluation(time=timing(seconds)), replace(BOUNDS, floor_flops=None))
    assert [flag.severity for flag in found] == ([severity] if severity else [])


def test_faster_than_the_declared_types_peak() -> None:
    (flag,) = flags(evaluation(time=timing(7e-4)), BOUNDS)
    assert (flag.trick, flag.severity) == (Trick.LOWER_PRECISION, Severity.SUSPECT)
    assert not flags(evaluation(time=timing(7e-4)), replace(BOUNDS, floor_flops=1e8)), "algebra removes the work"


def test_an_honest_half_kernel_beats_no_bound_of_halves() -> None:
    halves = replace(BOUNDS, policy=Policy.HALF, compute_s=5e-4, steering_s=5e-4, floor_s=2.5e-4)
    assert not flags(evaluation(time=timing(6e-4)), halves)


def test_data_that_fits_into_the_cache_is_noted_only() -> None:
    memory = replace(BOUNDS, bound_class="memory", floor_flops=None)
    (flag,) = flags(evaluation(time=timing(1e-4)), memory, cache=2 * 10**6)
    assert flag.severity is Severity.INFO
    (flag,) = flags(evaluation(time=timing(1e-4)), memory, cache=10**5)
    assert flag.severity is Severity.SEVERE


def test_flags_travel_as_json_and_impossible_ones_cannot_be_made() -> None:
    evidence = Evidence("words", (Place(1, 2),), {"seen": 1.0})
    flag = Flag("checks", Trick.SIDE_STREAM, Severity.INFO, 0.5, evidence)
    assert from_json(to_json(flag), Flag) == flag
    with pytest.raises(ImpossibleFlag):
        replace(flag, confidence=1.5)
    with pytest.raises(ImpossibleFlag):
        replace(flag, evidence=Evidence(""))
    assert outcome_of((flag,)) is AuditOutcome.CLEAN
    assert outcome_of((flag, replace(flag, severity=Severity.SEVERE))) is AuditOutcome.SEVERE


def test_detectors_have_names_of_their_own_and_name_what_they_flag() -> None:
    names = [detector.name for detector in DETECTORS]
    assert len(set(names)) == len(names)
    assert all(detector.tricks for detector in DETECTORS)
    assert [trick.number for trick in Trick] == list(range(1, 43))


def test_every_detector_is_in_the_document() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "audit.md").read_text("utf-8")
    for detector in DETECTORS:
        assert f"\n| {detector.name} | " in text
