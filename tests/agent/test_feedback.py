"""The classification, which tools run, the words, and the check of advice afterwards."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from agent.feedback import TOOLS, Advice, Bottleneck, Finding, Severity, classification, findings, words
from agent.feedback.case import Case
from agent.feedback.following import Follow, followed, improved, log_gain, said, toward
from kernels.dsl import CheckedProgram, check, parse
from kernels.harness.evaluation import Outcome
from kernels.profiling.record import Profile, ProfileOutcome, Reason, Speed
from kernels.targets import Policy, Target
from kernels.toolchain.sass import sass_facts
from tests.agent.evidence import GEMM, UNFUSED, bounds, evidence, kernel, product, profile

COMPUTE, MEMORY = bounds(4e-4, 1e-4), bounds(1e-4, 4e-4)
BUSY = {
    "compute": profile(kernel(speed=Speed(90.0, 30.0))),
    "memory": profile(kernel(speed=Speed(30.0, 90.0))),
    "latency": profile(kernel(speed=Speed(30.0, 30.0))),
    "mixed": profile(kernel(speed=Speed(90.0, 90.0))),
}


@pytest.mark.parametrize(
    ("compute_s", "memory_s", "kind"),
    [
        (4e-4, 1e-4, Bottleneck.COMPUTE),
        (1e-4, 4e-4, Bottleneck.MEMORY),
        (1e-4, 1.1e-4, Bottleneck.MIXED),
        (1e-6, 2e-6, Bottleneck.LATENCY),
        (1e-4, 0.0, Bottleneck.COMPUTE),
    ],
)
def test_the_analytic_vote_stands_alone_without_a_profile_and_says_so(
    compute_s: float, memory_s: float, kind: Bottleneck
) -> None:
    found = classification(evidence(bounds=bounds(compute_s, memory_s)))
    assert found.kind is found.analytic.kind is kind
    assert found.profiled.kind is None
    assert "there is no profile" in found.words


@pytest.mark.parametrize("kind", BUSY)
def test_the_counters_vote_by_what_was_sustained(kind: str) -> None:
    found = classification(evidence(profile=BUSY[kind]))
    assert found.profiled.kind is found.kind is Bottleneck(kind)
    assert "counters alone" in found.words


def test_kernels_count_by_their_duration() -> None:
    long, short = kernel(speed=Speed(90.0, 10.0)), kernel(speed=Speed(10.0, 90.0), duration_s=1e-5)
    assert classification(evidence(profile=profile(long, short))).kind is Bottleneck.COMPUTE
    assert (
        classification(evidence(profile=profile(replace(long, duration_s=1e-6), short))).kind is Bottleneck.MEMORY
    )


def test_the_bound_wins_a_conflict_and_both_are_told() -> None:
    found = classification(evidence(bounds=COMPUTE, profile=BUSY["memory"]))
    assert found.kind is Bottleneck.COMPUTE
    assert "memory-limited" in found.words
    assert "agree" in classification(evidence(bounds=COMPUTE, profile=BUSY["compute"])).words


def test_without_any_vote_every_tool_looks() -> None:
    found = classification(evidence())
    assert found.kind is Bottleneck.MIXED
    assert "not known" in found.words
    nothing = Profile(ProfileOutcome.UNAVAILABLE, Reason.NO_PERMISSION, "no counters", (), None, None, 1.0)
    assert classification(evidence(profile=nothing)) == found


def test_only_tools_of_the_class_run_in_their_order() -> None:
    """The vector width of a map matters to memory, not to a problem bound by compute."""
    source = UNFUSED.replace("map(relu(y))", "map(relu(y)).vector(1)")
    by_memory = [each.tool for each in findings(evidence(source, bounds=MEMORY, time_s=1e-2))]
    by_compute = [each.tool for each in findings(evidence(source, bounds=COMPUTE, time_s=1e-2))]
    assert "vector-width" in by_memory
    assert "vector-width" not in by_compute
    order = [tool.name for tool in TOOLS]
    assert by_memory == sorted(by_memory, key=order.index)


def test_what_was_not_measured_has_no_findings() -> None:
    assert findings(evidence(outcome=Outcome.NOT_MEASURED, detail="its worker was lost")) == ()
    assert findings(evidence(outcome=Outcome.PROBLEM_ERROR, detail="the problem raised")) == ()


def test_a_program_that_does_not_check_leaves_the_tools_with_what_was_measured() -> None:
    found = findings(evidence("no program", profile=profile(kernel(speed=Speed(20.0, 90.0, 95.0)))))
    assert [each.tool for each in found] == ["dram"]
    assert found[0].advice[0].text == ""


def test_a_kernel_belongs_to_a_stage_only_where_that_is_certain() -> None:
    first, second = kernel(duration_s=1e-3), kernel(duration_s=2e-3)
    both = Case(evidence(UNFUSED, profile=profile(first, second)))
    assert [stage.name if (stage := both.stage_of(each)) else None for each in (first, second)] == ["y", "z"]
    third = kernel(duration_s=3e-3, pipes=replace(kernel().pipes, tensor_pct=0.0, gmma_instructions=0.0))
    three = Case(evidence(UNFUSED, profile=profile(first, second, third)))
    assert three.stage_of(third) is None
    on_tensor_cores = three.stage_of(first)
    assert on_tensor_cores is not None
    assert on_tensor_cores.name == "y"


def some(count: int) -> list[Finding]:
    return [
        Finding(f"tool-{index}", Severity.WARNING, "A cause.", (Advice("Do it.", "y", "tile", (64, 64, 32)),), None)
        for index in range(count)
    ]


def test_words_are_cut_at_whole_findings_and_say_what_was_left_out() -> None:
    grave = Finding("grave", Severity.CRITICAL, "It is slow.", (Advice("Mend it."),), 2.0, "2 / 1", ("a figure",))
    text = words([*some(30), grave], 600)
    assert len(text) <= 600
    assert text.startswith("- [critical] grave: It is slow.\n  seen: a figure\n  expected: 2.00x (2 / 1)")
    assert "y.tile(64, 64, 32): Do it." in text
    kept = text.count("A cause.")
    assert f"({30 - kept} of 31 findings left out, the least grave)" in text
    assert words(some(2)).count("A cause.") == 2
    assert words([], 100) == ""
    assert words(some(3), 10) == ""


@pytest.mark.parametrize(
    ("now", "advised", "chosen", "right"),
    [
        ((128, 128, 64), (128, 64, 64), (128, 64, 64), True),
        ((128, 128, 64), (128, 64, 64), (128, 32, 64), True),
        ((128, 128, 64), (128, 64, 64), (128, 256, 64), False),
        ((128, 128, 64), (128, 64, 64), (64, 64, 64), True),
        ((128, 128, 64), (64, 64, 64), (64, 256, 64), False),
        ((128, 128, 64), (128, 64, 64), (128, 128, 64), False),
        (("tf32",), ("bf16",), ("bf16",), True),
        (("tf32",), ("bf16",), ("f16",), False),
        (("auto",), (4,), (3,), False),
        (("auto",), (4,), (4,), True),
        ((2,), (4,), (), False),
    ],
)
def test_a_knob_is_followed_where_it_moves_the_advised_way(
    now: tuple[int | str, ...], advised: tuple[int | str, ...], chosen: tuple[int | str, ...], right: bool
) -> None:
    assert toward(now, advised, chosen) is right


def test_a_change_is_followed_by_its_words_where_there_is_no_program() -> None:
    tile = Advice("", "y", "tile", (64, 64, 32), (128, 64, 32))
    assert said(tile, "y.tile(64, 64, 32)")
    assert not said(tile, "y.tile(256, 64, 32)")
    assert not said(tile, "z.tile(64, 64, 32)")
    assert not said(tile, "a smaller tile")
    assert said(Advice("", "z", change="fuse"), "fuse z into y")
    assert not said(Advice("", "z", change="fuse"), "fuse q into y")
    assert not said(Advice("in general"), "anything")


def checked(source: str) -> CheckedProgram:
    return check(parse(source), product(), Target.SM90A, Policy.TF32)


FUSE = Finding("fusion", Severity.WARNING, "c", (Advice("w", "z", change="fuse"),))
SMALLER = Finding("waves", Severity.WARNING, "c", (Advice("w", "y", "tile", (128, 64, 32), (128, 128, 32)),))
FUSED = UNFUSED.replace("  z = map(relu(y))\n  return z", "  z = gemm(x, weight.T) >> relu()\n  return z").replace(
    "  y = gemm(x, weight.T)\n", ""
)


def test_the_change_of_the_program_tells_whatever_its_author_calls_it() -> None:
    before = checked(GEMM.format(knobs=".tile(128, 128, 32)"))
    smaller, larger = (checked(GEMM.format(knobs=f".tile(128, {n}, 32)")) for n in (64, 256))
    assert followed([SMALLER], before, smaller, "a better tile", "") == (Follow("waves", False),)
    assert followed([SMALLER], before, larger, "y.tile(128, 64, 32)", "") == ()
    assert followed([FUSE], checked(UNFUSED), checked(FUSED), "", "") == (Follow("fusion", False),)
    assert followed([FUSE], checked(UNFUSED), checked(UNFUSED), "fuse z into y", "") == ()


def test_an_author_may_name_the_tool_that_it_follows() -> None:
    assert followed([SMALLER, FUSE], None, None, "another idea", "fusion") == (Follow("fusion", True),)
    assert followed([SMALLER, FUSE], None, None, "another idea", "no such tool") == ()


def test_a_gain_is_a_ratio_of_times_corrected_where_the_machine_was_disturbed() -> None:
    assert log_gain(2e-3, 5e-3, 1e-3, 5e-3) == pytest.approx(math.log(2))
    assert log_gain(2e-3, 5e-3, 2e-3, 1e-2) == pytest.approx(math.log(2))
    assert log_gain(2e-3, 5e-3, 1e-3, None) == pytest.approx(math.log(2))
    assert log_gain(None, None, 1e-3, None) is None
    assert log_gain(2e-3, None, None, None) is None
    assert improved(log_gain(1e-3, None, 0.9e-3, None))
    assert not improved(log_gain(1e-3, None, 0.999e-3, None))
    assert not improved(None)


SASS = """
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   STL [R1+0x4], R2 ;
        /*0020*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0030*/                   LDG.E.64 R4, desc[UR4][R2.64] ;
        /*0040*/               @P1 LDG.E R4, desc[UR4][R2.64] ;
        /*0050*/                   LDL.LU R8, [R1+0x4] ;
        /*0060*/                   HGMMA.64x128x8.F32.TF32 R24, gdesc[UR8], R24, gsb0 ;
"""


def test_sass_is_counted_by_kind() -> None:
    facts = sass_facts(SASS)
    assert (facts.local_loads, facts.local_stores, facts.tensor) == (1, 1, 1)
    assert (facts.global_loads, facts.wide_loads, facts.narrow_loads) == (3, 1, 1)
    assert facts.instructions == 7
    assert (facts + facts).local_loads == 2
    assert sass_facts("no listing").instructions == 0
