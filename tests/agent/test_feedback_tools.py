"""Every tool speaks up at hand-made evidence that has what it looks for, and is silent at evidence that has not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent.feedback import FAILURES, TOOLS, Advice, Evidence, Finding, Severity, findings
from agent.feedback.case import Case
from agent.feedback.tools.tool import Tool
from kernels.dsl import check, parse
from kernels.dsl.edit import set_knob
from kernels.dsl.knobs import knob_rows
from kernels.harness.correctness import Errors, IncorrectReason, RoundErrors, Tile
from kernels.harness.evaluation import Check, Outcome, StageShare
from kernels.languages import Language
from kernels.profiling.record import Launch, Occupancy, Pipes, Schedule, Speed, Stall
from kernels.records import from_json, to_json
from kernels.targets import Policy, Target
from kernels.toolchain.sass import SassFacts
from tests.agent.evidence import (
    CHAIN,
    GEMM,
    MAP,
    SOFTMAX,
    TORCH,
    UNFUSED,
    activity,
    bounds,
    build,
    elementwise,
    evidence,
    kernel,
    memory,
    product,
    profile,
    shares,
)

HOST, SM80, SM90 = Target.HOST, Target.SM80, Target.SM90A
SMALL = product(256, 256, 8192)


def seen(**changes: Any) -> dict[str, Any]:
    return {"profile": profile(kernel(**changes))}


SPREAD = memory(l1_hit_pct=5.0, load_bytes_per_sector=8.0)
ROOF = Speed(compute_pct=7.0, memory_pct=82.2, dram_pct=82.2, l2_pct=88.7, l1_pct=29.3)
"""What Nsight Compute said of a map over 268 MB on an H200, which ran at 0.95 of a copy's speed."""


def stalled(reason: str, share: float) -> dict[str, Any]:
    return {"stalls": (Stall(reason, 5.0, share), Stall("selected", 1.0, 0.1))}


IDLE = Pipes(tensor_pct=20.0, gmma_instructions=1e5)
FEW = Occupancy(achieved_pct=18.0, theoretical_pct=25.0, limit_registers=1, limit_shared_memory=2)
PLAIN = Pipes(fp32_pct=30.0)
SPILLED = memory(local_load_bytes=1e7, local_store_bytes=1e7)
TILE = Tile(0, (256, 256), (), (192, 256), (0, 64), 0.5)
ROUND = RoundErrors("first", "uniform", Errors(0.5, 0.5, 0.5, 1.0, 0.9, 0.9, 0.9, 0, 0, TILE), None)

RAISED: dict[str, tuple[Evidence, ...]] = {
    "precision": (
        evidence(GEMM, policy=Policy.HALF),
        evidence(GEMM, ".math(f32)", SM80),
        evidence(GEMM, ".math(f32)", policy=Policy.STRICT),
        evidence(GEMM, target=HOST, policy=Policy.HALF),
    ),
    "wgmma": (
        evidence(
            CHAIN,
            build=build(warnings=("ptxas info : (C7510) Potential Performance Loss: wgmma",)),
            unit_stages={"mu_y": ("y",)},
        ),
        evidence(build=build(warnings=("ptxas info : (C7511) Potential Performance Loss",))),
    ),
    "tensor-idle": (evidence(**seen(pipes=IDLE)), evidence(target=SM80, **seen(pipes=IDLE))),
    "spills": (
        evidence(CHAIN, build=build(spills=64), unit_stages={"mu_y": ("y",)}),
        evidence(**seen(memory=SPILLED, **stalled("long_scoreboard", 0.5))),
        evidence(MAP, ".vector(8)", sass=SassFacts(100, 4, 4, 10, 0, 10, 0)),
    ),
    "registers": (
        evidence(CHAIN, **seen(pipes=IDLE, launch=Launch(registers=168, waves=8.0), occupancy=FEW)),
        evidence(MAP, build=build(registers=128), unit_stages={"mu_y": ("y",)}),
    ),
    "occupancy": (
        evidence(**seen(pipes=IDLE, occupancy=FEW)),
        evidence(MAP, ".threads(1024)", **seen(pipes=PLAIN, occupancy=FEW)),
        evidence(SOFTMAX, target=SM80, **seen(pipes=PLAIN, occupancy=replace(FEW, theoretical_pct=75.0))),
    ),
    "stall": (
        evidence(**seen(**stalled("long_scoreboard", 0.5))),
        evidence(MAP, target=SM80, **seen(pipes=PLAIN, **stalled("lg_throttle", 0.7))),
    ),
    "barrier": (
        evidence(SOFTMAX, **seen(pipes=PLAIN, **stalled("barrier", 0.4))),
        evidence(target=SM80, **seen(pipes=IDLE, **stalled("barrier", 0.7))),
    ),
    "waves": (
        evidence(**seen(launch=Launch(registers=90, waves=1.1))),
        evidence(MAP, **seen(launch=Launch(registers=90, waves=0.3))),
    ),
    "small-grid": (
        evidence(signature=SMALL, stages=shares(y=1e-3)),
        evidence(target=SM80, signature=SMALL),
        evidence(GEMM, ".micro(12, 32)", HOST, signature=product(12, 32, 8192)),
    ),
    "epilogue": (evidence(CHAIN, signature=product(k=128)), evidence(CHAIN, target=SM80, signature=product(k=64))),
    "dram": (
        evidence(UNFUSED, **seen(speed=Speed(compute_pct=20.0, memory_pct=90.0, dram_pct=90.0))),
        evidence(policy=Policy.HALF, **seen(speed=Speed(compute_pct=20.0, memory_pct=90.0, dram_pct=90.0))),
    ),
    "traffic": (
        evidence(bounds=bounds(1e-4, 4e-4, 10**8), **seen(speed=Speed(40.0, 85.0, 75.0))),
        evidence(UNFUSED, target=SM80, bounds=bounds(1e-4, 4e-4, 10**8), **seen()),
    ),
    "coalescing": (
        evidence(MAP, ".vector(1)", **seen(memory=SPREAD, pipes=PLAIN, **stalled("long_scoreboard", 0.5))),
    ),
    "sectors": (
        evidence(
            MAP,
            ".vector(1)",
            **seen(memory=memory(load_bytes_per_sector=8.0), pipes=PLAIN, speed=Speed(10.0, 80.0)),
        ),
    ),
    "bank-conflicts": (
        evidence(target=SM80, **seen(memory=memory(bank_conflicts=6e5))),
        evidence(SOFTMAX, **seen(memory=memory(bank_conflicts=2e5), pipes=PLAIN)),
    ),
    "vector-width": (
        evidence(MAP, ".vector(1)", sass=SassFacts(100, 0, 0, 10, 0, 10, 0)),
        evidence(MAP, ".vector(1)", SM80),
        evidence(MAP, ".vector(2)", HOST),
    ),
    "alignment": (
        evidence(GEMM, ".math(f32)", signature=product(k=4095)),
        evidence(MAP, signature=elementwise(n=4095)),
    ),
    "divergence": (evidence(SOFTMAX, **seen(schedule=Schedule(threads_per_instruction=10.0))),),
    "fusion": (
        evidence(UNFUSED),
        evidence(UNFUSED, target=HOST, bounds=bounds(1e-4, 4e-4), time_s=4e-3),
        evidence(UNFUSED, target=SM80),
    ),
    "library": (
        evidence(TORCH, stages=(StageShare("y", 8e-4, True), StageShare("z", 2e-4, False))),
        evidence("", language=Language.PY, activity=activity(1e-3, 5e-4)),
    ),
    "launches": (
        evidence(UNFUSED, activity=activity(6e-4)),
        evidence("", language=Language.CU, activity=activity(2e-4)),
    ),
    "host-threads": (
        evidence(GEMM, ".threads(1)", HOST, stages=shares(y=1e-3)),
        evidence(MAP, ".threads(2)", HOST, signature=elementwise(8, 8)),
    ),
    "host-registers": (
        evidence(GEMM, ".micro(4, 16)", HOST, signature=product(512, 512, 512)),
        evidence(GEMM, ".micro(8, 16)", HOST, signature=product(512, 512, 512)),
    ),
    "host-cache": (
        evidence(GEMM, ".micro(12, 32).tile(4092, 4096, 1024)", HOST),
        evidence(GEMM, ".micro(12, 32).tile(12, 4096, 1024)", HOST),
    ),
    "host-packing": (
        evidence(GEMM, ".stages(1)", HOST),
        evidence(GEMM, ".stages(3)", HOST, signature=product(4096, 8, 4096)),
        evidence(GEMM, ".stages(2)", HOST, signature=product(4, 4096, 4096)),
    ),
    "hot-stage": (evidence(UNFUSED, target=HOST, stages=shares(y=9e-4, z=1e-4)),),
    "near-bound": (evidence(bounds=bounds(9e-4, 1e-4)),),
    "refused": (
        evidence(
            outcome=Outcome.REFUSED,
            detail="2:3: tile: tile(7, 8, 9): m is 7; m is a multiple of 64\n3:3: name: no stage q; y is one",
        ),
    ),
    "not-compiled": (
        evidence(
            outcome=Outcome.BUILD_ERROR,
            detail="the compiler refused the code",
            build=build(log="a.cu(3): error: x"),
        ),
        evidence(
            outcome=Outcome.BUILD_TIMEOUT,
            detail="it took 300 s",
            build=build(log=" "),
            unit_stages={"mu_y": ("y",)},
        ),
    ),
    "wrong": (
        evidence(
            GEMM,
            outcome=Outcome.INCORRECT,
            detail="values are off",
            reason=IncorrectReason.VALUES,
            checks=(Check("max relative error", 0.5, 1e-3, False, "round 1"),),
            rounds=(ROUND,),
        ),
        evidence(
            "", language=Language.PY, outcome=Outcome.INCORRECT, detail="x", reason=IncorrectReason.NOT_WRITTEN
        ),
    ),
    "crashed": (
        evidence(outcome=Outcome.CRASH, detail="the process ended by SIGSEGV"),
        evidence(outcome=Outcome.LAUNCH_ERROR, detail="too much shared memory"),
        evidence(MAP, ".threads(1024)", outcome=Outcome.LAUNCH_ERROR, detail="too many resources"),
    ),
    "over-limit": (
        evidence(outcome=Outcome.TIMEOUT, detail="60 s"),
        evidence(UNFUSED, outcome=Outcome.OUT_OF_MEMORY, detail="8 GiB"),
    ),
}

SILENT: dict[str, tuple[Evidence, ...]] = {
    "precision": (
        evidence(),
        evidence(GEMM, ".math(bf16)", policy=Policy.HALF),
        evidence(MAP),
        evidence(target=HOST),
    ),
    "wgmma": (evidence(build=build(warnings=("warning #177-D: unused",))), evidence()),
    "tensor-idle": (evidence(**seen()), evidence(**seen(pipes=PLAIN)), evidence()),
    "spills": (
        evidence(build=build()),
        # Counters see local memory, and no warp waits for it.
        evidence(build=build(spills=64), **seen(memory=SPILLED, **stalled("gmma", 0.3))),
    ),
    "registers": (
        evidence(build=build(registers=168), unit_stages={"mu_y": ("y",)}),
        evidence(**seen(occupancy=FEW)),
    ),
    "occupancy": (evidence(**seen()), evidence(**seen(occupancy=FEW)), evidence()),
    "stall": (
        evidence(**seen(**stalled("gmma", 0.7))),
        evidence(**seen(**stalled("barrier", 0.9))),
        evidence(MAP, **seen(speed=ROOF, **stalled("long_scoreboard", 0.97))),
    ),
    "barrier": (
        evidence(**seen(pipes=IDLE, **stalled("barrier", 0.2))),
        evidence(**seen(stalls=())),
        # A product whose tensor cores are busy has waiting warps by design: some load, others multiply.
        evidence(**seen(**stalled("barrier", 0.43))),
    ),
    "waves": (evidence(**seen()), evidence(**seen(launch=Launch(waves=1.95))), evidence(**seen(launch=Launch()))),
    "small-grid": (evidence(), evidence(signature=SMALL, units=None), evidence(signature=product(256, 256, 64))),
    "epilogue": (evidence(CHAIN), evidence(CHAIN, target=HOST, signature=product(k=8)), evidence(MAP)),
    "dram": (evidence(**seen()),),
    "traffic": (evidence(bounds=bounds(), **seen()), evidence(**seen()), evidence(bounds=bounds(bytes_=1))),
    "coalescing": (
        evidence(MAP, **seen(memory=SPREAD)),
        evidence(MAP),
        # Read once, in order: nothing to hit, and every byte of a sector used.
        evidence(MAP, **seen(memory=memory(l1_hit_pct=0.0), **stalled("long_scoreboard", 0.9))),
        evidence(MAP, **seen(memory=SPREAD, speed=ROOF, **stalled("long_scoreboard", 0.9))),
    ),
    "sectors": (
        evidence(MAP, **seen()),
        evidence(MAP, **seen(memory=memory(load_requests=0.0, load_bytes_per_sector=8))),
    ),
    "bank-conflicts": (evidence(**seen()), evidence(**seen(memory=memory(shared_wavefronts=0.0)))),
    "vector-width": (evidence(MAP, ".vector(4)"), evidence(MAP, ".vector(16)", HOST), evidence()),
    "alignment": (evidence(), evidence(target=HOST, signature=product(k=4095))),
    "divergence": (evidence(SOFTMAX, **seen()), evidence(SOFTMAX, **seen(schedule=Schedule()))),
    "fusion": (evidence(CHAIN), evidence(MAP), evidence("", language=Language.CU)),
    "library": (evidence(TORCH), evidence(UNFUSED, stages=shares(y=1e-3)), evidence(activity=activity(1e-3))),
    "launches": (evidence(activity=activity(9.5e-4)), evidence()),
    "host-threads": (
        evidence(target=HOST),
        evidence(MAP, ".threads(32)"),
        evidence(GEMM, ".threads(1)", HOST, units=None),
    ),
    "host-registers": (evidence(GEMM, ".micro(12, 32)", HOST), evidence()),
    "host-cache": (
        evidence(GEMM, ".micro(12, 32).tile(132, 512, 256)", HOST),
        evidence(target=HOST, l2_bytes=None),
    ),
    "host-packing": (evidence(GEMM, ".stages(3)", HOST), evidence(GEMM, ".stages(4)")),
    "hot-stage": (evidence(stages=shares(y=1e-3)), evidence(UNFUSED, stages=shares(y=5e-4, z=5e-4)), evidence()),
    "near-bound": (evidence(bounds=bounds()), evidence(), evidence(bounds=bounds(0.0, 0.0))),
    "refused": (evidence(),),
    "not-compiled": (evidence(outcome=Outcome.REFUSED),),
    "wrong": (evidence(outcome=Outcome.CRASH),),
    "crashed": (evidence(outcome=Outcome.INCORRECT),),
    "over-limit": (evidence(outcome=Outcome.CRASH),),
}

BY_NAME: dict[str, Tool] = {tool.name: tool for tool in (*TOOLS, *FAILURES)}


def cases(table: dict[str, tuple[Evidence, ...]]) -> list[Any]:
    return [
        pytest.param(name, each, id=f"{name}-{index}")
        for name, rows in table.items()
        for index, each in enumerate(rows)
    ]


def run(name: str, on: Evidence) -> Finding | None:
    return BY_NAME[name].run(Case(on))


def test_every_tool_is_tried_both_ways() -> None:
    assert set(RAISED) == set(SILENT) == set(BY_NAME)
    assert len(TOOLS) >= 15
    assert len(BY_NAME) == len(TOOLS) + len(FAILURES)


@pytest.mark.parametrize(("name", "on"), cases(RAISED))
def test_it_speaks_up_with_a_cause_advice_and_figures(name: str, on: Evidence) -> None:
    finding = run(name, on)
    assert finding is not None
    assert finding.tool == name
    assert finding.cause.endswith(".")
    assert finding.evidence
    assert all(finding.evidence)
    assert finding.advice
    assert all(advice.words for advice in finding.advice)
    if finding.gain is not None:
        assert finding.gain > 1
        assert any(character.isdigit() for character in finding.arithmetic)
    else:
        assert finding.arithmetic == ""


@pytest.mark.parametrize(("name", "on"), cases(SILENT))
def test_it_is_silent_where_there_is_nothing(name: str, on: Evidence) -> None:
    assert run(name, on) is None


@pytest.mark.parametrize(("name", "on"), cases(RAISED))
def test_all_advised_knobs_are_legal_for_the_target(name: str, on: Evidence) -> None:
    for finding in (run(name, on), *findings(on)):
        for advice in finding.advice if finding is not None else ():
            if advice.stage:
                legal(advice, on)


def legal(advice: Advice, on: Evidence) -> None:
    """The advised stage is there; an advised knob is one of the target's, and its value passes the checker."""
    checked = check(parse(on.source), on.signature, on.target, on.policy, on.simd)
    stage = next(each for each in checked.stages if each.name == advice.stage)
    if not advice.knob:
        assert advice.change
        return
    assert advice.knob in knob_rows(stage.op, on.target)
    changed = set_knob(checked.program, advice.stage, advice.knob, advice.args)
    after = check(changed, on.signature, on.target, on.policy, on.simd)
    assert next(each for each in after.stages if each.name == advice.stage).knobs != stage.knobs


@pytest.mark.parametrize(("name", "on"), cases(RAISED))
def test_evidence_and_findings_survive_their_json_form(name: str, on: Evidence) -> None:
    assert from_json(to_json(on), Evidence) == on
    found = findings(on)
    assert tuple(from_json(to_json(one), Finding) for one in found) == found
    assert findings(from_json(to_json(on), Evidence)) == found


@pytest.mark.parametrize("name", [name for name in RAISED if name not in {tool.name for tool in FAILURES}])
def test_most_tools_have_advice_in_knobs_or_structure(name: str) -> None:
    """A tool that only has general words to say would be of no use to a search."""
    if name in ("near-bound", "hot-stage"):
        return
    found = [run(name, each) for each in RAISED[name]]
    assert any(advice.text for finding in found if finding is not None for advice in finding.advice)


def test_other_languages_get_general_advice_and_no_knob() -> None:
    on = replace(
        RAISED["stall"][0], language=Language.CU, source="// CUDA", **seen(pipes=IDLE, **stalled("barrier", 0.7))
    )
    found = findings(on)
    assert {"barrier"} <= {finding.tool for finding in found}
    assert not any(advice.text for finding in found for advice in finding.advice)


def test_nothing_of_a_small_part_of_the_time_is_critical() -> None:
    slow = replace(kernel(), **stalled("long_scoreboard", 0.9))
    raised = evidence(MAP, **seen(**stalled("long_scoreboard", 0.9)))
    part = replace(raised, profile=profile(replace(slow, duration_s=1e-4), replace(kernel(), duration_s=9e-4)))
    whole, small = (next(f for f in findings(each) if f.tool == "stall") for each in (raised, part))
    assert (whole.severity, small.severity) == (Severity.CRITICAL, Severity.WARNING)
