"""Timing on a card, through whole evaluations: spread, kernel activity, baselines, energy, clocks.

    python -m tests.gpu.harness_timing --cache DIR --build-only     # where nvcc is; needs no card
    python -m tests.gpu.harness_timing --cache DIR --json FILE      # where the card is

Exit status 1 where a case fails. ``--times`` makes the evaluations of the spread fewer, ``--only`` chooses cases. What
no time is left for (``--seconds``) is not begun, and fails by that.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernels.codegen.emission import Plan
from kernels.dtypes import DType
from kernels.harness import evaluate
from kernels.harness.baselines import BaselineKind
from kernels.harness.correctness import IncorrectReason
from kernels.harness.evaluation import (
    EAGER,
    Evaluation,
    EvaluationRequest,
    Limits,
    ModuleCandidate,
    Outcome,
    PlanCandidate,
    repeats_for,
)
from kernels.harness.tolerance import profile
from kernels.problems.inspection import Signature, TensorSpec
from kernels.records import from_json, to_json
from kernels.targets import Policy
from tests.bench.spread import summary
from tests.gpu import run_suite
from tests.gpu.figures import PRODUCTS, SIDE

SPREAD_LIMIT = 0.02
POWER_W = (40.0, 1200.0)
"""An idle card, and more than any takes: joules a call without a flush over the median with one lie between them."""
SPAN = (0.7, 1.25)
"""The card's own record over the events' median: the events hold a launch too, and the profiler slows launches down."""
GEMM = next(figure.case for figure in PRODUCTS if figure.case.name == f"gemm_f16_nn_{SIDE}")

GEMM_PROBLEM = f"""
import torch

class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b

def get_inputs():
    return [((torch.rand({SIDE}, {SIDE}) - 0.5) / 4).half() for _ in range(2)]

def get_init_inputs():
    return []
"""
LINEAR = """
import torch

class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)

    def forward(self, x):
        return torch.relu(self.linear(x))

def get_inputs():
    return [torch.rand(2048, 2048)]

def get_init_inputs():
    return [2048]
"""
TURN = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x.t()

def get_inputs():
    return [torch.rand(64, 96)]

def get_init_inputs():
    return []
"""
ADD = TURN.replace("x.t()", "x + 1")
ON_THE_CPU = ADD.replace("class Model(", "class ModelNew(").replace("x + 1", "(x.cpu() + 1).to(x.device)")


@dataclass(slots=True)
class Run:
    """Options, and the folder with everything built."""

    cache: Path
    times: int
    ends: float

    def problem(self, name: str, text: str) -> str:
        path = self.cache / f"timing_{name}.py"
        path.write_text(text, encoding="utf-8")
        return str(path)


def _f32(name: str, *shape: int) -> TensorSpec:
    return TensorSpec(name, DType.F32, shape)


def gemm_request(run: Run, **more: Any) -> EvaluationRequest:
    """Our own f16 product of ``SIDE`` cubed."""
    form = json.loads((run.cache / f"{GEMM.name}.json").read_text(encoding="utf-8"))["plan"]
    plan = from_json(form, Plan)
    artifacts = {
        symbol: str(run.cache / f"{symbol}.so") for step in plan.steps if (symbol := getattr(step, "symbol", ""))
    }
    request = EvaluationRequest(
        problem_path=run.problem("gemm", GEMM_PROBLEM),
        size="default",
        signature=run_suite.signature_of(GEMM),
        candidate=PlanCandidate(plan, artifacts),
        device="cuda",
        tolerance=profile("kernelbench", DType.F16),
        rounds=3,
        repeats=repeats_for("cuda"),
        limits=Limits(seconds=60.0),
    )
    return replace(request, **more)


def module_request(
    run: Run, name: str, problem: str, candidate: str, signature: Signature, **more: Any
) -> EvaluationRequest:
    """A candidate in Python, so that nothing has to be built."""
    request = EvaluationRequest(
        problem_path=run.problem(name, problem),
        size="default",
        signature=signature,
        candidate=ModuleCandidate(candidate),
        device="cuda",
        tolerance=profile("kernelbench", DType.F32),
        rounds=3,
        repeats=20,
        limits=Limits(seconds=60.0),
    )
    return replace(request, **more)


def spread_case(run: Run) -> dict[str, Any]:
    """Medians of ten evaluations within 2 %; the card's record beside the events in each."""
    evaluations: list[Evaluation] = []
    while len(evaluations) < run.times and time.monotonic() < run.ends:
        evaluations.append(evaluate(gemm_request(run)))
    found = summary(evaluations)
    timings = [e.candidate for e in evaluations if e.candidate is not None]
    records = [t.activity for t in timings]
    spans = [a.span_s / t.median_s for t, a in zip(timings, records, strict=True) if a is not None]
    clocks = [t.conditions.sm_clock.high for t in timings if t.conditions and t.conditions.sm_clock]
    return {
        **found,
        "details": sorted({e.detail for e in evaluations if e.outcome is not Outcome.PASSED}),
        "span_over_events": spans,
        "own_share": [a.own_share for a in records if a is not None],
        "sm_clock_mhz": clocks,
        "passed": len(timings) == run.times and found["spread"] is not None and found["spread"] <= SPREAD_LIMIT,
        "activity_agrees": len(spans) == len(timings) and all(SPAN[0] <= ratio <= SPAN[1] for ratio in spans),
    }


def one_case(run: Run) -> dict[str, Any]:
    """One evaluation with everything: a kernel of our own by its symbol, joules that make sense as watts, clocks."""
    evaluation = evaluate(gemm_request(run, energy=True))
    t, seen = evaluation.candidate, evaluation.conditions
    if t is None:
        return {**_ending(evaluation), "passed": False}
    kernels = t.activity.kernels if t.activity is not None else ()
    ratio = t.activity.span_s / t.median_s if t.activity is not None else None
    watts = t.energy_j / t.median_s if t.energy_j is not None else None
    return {
        **_ending(evaluation),
        "kernels": [to_json(kernel) for kernel in kernels],
        "span_over_events": ratio,
        "energy_j": t.energy_j,
        "energy_method": t.energy_method,
        "watts_at_the_median": watts,
        "missing": t.missing,
        "conditions": to_json(seen) if seen is not None else None,
        "persisting": evaluation.machine.facts.get("persisting L2 lines") if evaluation.machine else None,
        "activity_right": bool(kernels) and kernels[0].own and kernels[0].origin == "symbol",
        "activity_agrees": ratio is not None and SPAN[0] <= ratio <= SPAN[1],
        "energy_right": watts is not None and POWER_W[0] <= watts <= POWER_W[1],
        "clocks_read": seen is not None
        and None not in (seen.sm_clock, seen.memory_clock, seen.temperature, seen.power, seen.throttle),
    }


def judged(case: dict[str, Any]) -> dict[str, Any]:
    """A case of several parts passes where all of them hold."""
    parts = ("activity_right", "activity_agrees", "energy_right", "clocks_read")
    return {"passed": all(case.get(part) is True for part in parts), **case}


def baselines_case(run: Run) -> dict[str, Any]:
    """Every baseline of an f32 layer, each with its name; TF32 is faster than eager and says what it costs."""
    signature = Signature(
        (_f32("x", 2048, 2048),),
        (_f32("linear.weight", 2048, 2048), _f32("linear.bias", 2048)),
        (_f32("y", 2048, 2048),),
        {},
    )
    same = LINEAR.replace("class Model(", "class ModelNew(")
    evaluation = evaluate(
        module_request(run, "linear", LINEAR, same, signature, baselines=tuple(BaselineKind), policy=Policy.HALF)
    )
    rows = {
        t.subject: {
            "ms": t.median_s * 1e3, "over": evaluation.speedup(t.subject), "settings": t.settings,
            "agrees": t.agrees, "note": t.agrees_note,
        }
        for t in evaluation.baselines
    }  # fmt: skip
    eager, tf32 = evaluation.baseline(EAGER), evaluation.baseline(BaselineKind.TF32.full_name)
    faster = eager is not None and tf32 is not None and tf32.median_s < eager.median_s
    return {
        **_ending(evaluation),
        "baselines": rows,
        "absent": evaluation.absent,
        "compile_measured": BaselineKind.COMPILE.full_name in rows,
        "passed": faster and BaselineKind.BEST.full_name in rows and eager is not None and eager.agrees is True,
    }


def nothing_case(run: Run) -> dict[str, Any]:
    """A call that gives the right values and does nothing on the card fails by that."""
    same = TURN.replace("class Model(", "class ModelNew(")
    signature = Signature((_f32("x", 64, 96),), (), (_f32("y", 96, 64),), {})
    evaluation = evaluate(module_request(run, "turn", TURN, same, signature, baselines=()))
    right = evaluation.outcome is Outcome.INCORRECT and evaluation.reason is IncorrectReason.NO_KERNEL
    return {**_ending(evaluation), "passed": right and "no kernel activity" in evaluation.detail}


def copies_case(run: Run) -> dict[str, Any]:
    """A candidate that works on the CPU is shown as copies alone."""
    signature = Signature((_f32("x", 64, 96),), (), (_f32("y", 64, 96),), {})
    evaluation = evaluate(module_request(run, "add", ADD, ON_THE_CPU, signature, baselines=()))
    record = evaluation.candidate.activity if evaluation.candidate else None
    check = next((check for check in evaluation.checks if check.name == "kernel activity"), None)
    return {
        **_ending(evaluation),
        "kernels": [to_json(kernel) for kernel in record.kernels] if record is not None else None,
        "note": check.note if check is not None else None,
        "energy_j": evaluation.candidate.energy_j if evaluation.candidate else None,
        "passed": record is not None and record.launches == 0 and bool(record.kernels),
    }


def _ending(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "outcome": evaluation.outcome.value,
        "detail": evaluation.detail[:400],
        "wall_s": round(evaluation.wall_s, 2),
        "checks": {
            check.name: [check.seen, check.note]
            for check in evaluation.checks
            if check.name in ("kernel activity", "activity against events", "steady over time", "device work")
        },
    }


CASES: dict[str, Callable[[Run], dict[str, Any]]] = {
    "nothing": nothing_case,
    "copies": copies_case,
    "one": lambda run: judged(one_case(run)),
    "spread": spread_case,
    "baselines": baselines_case,
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", type=Path, default=Path("build/gpu"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--build-only", action="store_true")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    if not (options.cache / f"{GEMM.name}.json").exists():
        run_suite.build(GEMM, options.cache)
    if options.build_only:
        return 0
    run = Run(options.cache.absolute(), options.times, time.monotonic() + options.seconds)
    found = []
    for name in options.only:
        began = time.monotonic()
        if began > run.ends:
            case: dict[str, Any] = {"passed": False, "detail": "not begun: no time was left"}
        else:
            case = CASES[name](run)
        found.append({"case": name, **case, "case_s": round(time.monotonic() - began, 1)})
        print(json.dumps(found[-1]), flush=True)
    seconds = [case["case_s"] for case in found]
    print(f"{sum(case['passed'] for case in found)} of {len(found)} cases passed in {sum(seconds):.0f} s, "
          f"median case {statistics.median(seconds):.1f} s")  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps({"cases": found}, indent=1) + "\n", encoding="utf-8")
    return 0 if all(case["passed"] for case in found) else 1


if __name__ == "__main__":
    sys.exit(main())
