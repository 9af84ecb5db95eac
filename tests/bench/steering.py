"""The search with steering beside the search without, on ten of our problems on this CPU, at equal attempts.

    python -m tests.bench.steering --state DIR [--json FILE] [--attempts 16] [--seeds 1] [PROBLEM ...]

No Django, no browser: the product's controller and proposer, its builder and its harness, driven in one process. The
two sides take turns attempt by attempt, each first every other time, so that whatever the machine does meets both.
Stop rules and memory are off. A problem that is done is kept in DIR and not measured again, so a stopped run goes on
where it was.

A speedup is torch eager over the program, both from one call in blocks that alternate, so that a busy machine slows
both. A side's curve is its best so far. When both sides are through, the best program of each is evaluated three times
more in turns, and the middle of these is what is reported as its speedup: one lucky measurement must not choose. A
problem without a passing program counts as its baseline, 1.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.controllers import controller
from agent.proposers import proposer
from agent.steps import Ask, Asked, Candidate, Event, Finish, Measured, Started, Submitted, TrajectorySettings
from kernels.codegen import emit
from kernels.dsl import ProgramErrors, check, parse
from kernels.harness import evaluate, isolation, warm
from kernels.harness.evaluation import EAGER, Evaluation, EvaluationRequest, Outcome, PlanCandidate
from kernels.harness.problem_tolerance import tolerance_for
from kernels.problems.files import find_problems, own_directory
from kernels.problems.inspect import inspect
from kernels.problems.inspection import Inspection
from kernels.targets import Policy, Target
from kernels.toolchain import Cache, build
from kernels.translate import translate
from mucutlass_web.cli.peaks import device_named
from sol.bounds import Device, bound, count

TEN = ("02_gemm_bias_relu", "10_gemm_silu_gate", "12_batched_gemm", "14_mlp", "16_tall_skinny_gemm", "17_softmax",
       "18_layer_norm", "23_conv2d_bias_relu", "25_depthwise_conv", "30_group_norm")  # fmt: skip
AGAIN = 3
"""Evaluations of each side's best program when the searches are through."""


@dataclass
class Workshop:
    """What it takes to measure programs of one problem."""

    path: Path
    inspection: Inspection
    store: Cache
    eager_s: list[float] = field(default_factory=list)

    def measured(self, number: int, candidate: Candidate) -> Measured:
        """Check, build and evaluate a candidate; torch eager's time of the same call is kept too."""
        evaluation = self.evaluated(candidate.text)
        if isinstance(evaluation, str):
            return Measured(number, Outcome.REFUSED, evaluation, None, None)
        ours, eager = evaluation.candidate, evaluation.baseline(EAGER)
        passed = evaluation.outcome is Outcome.PASSED and ours is not None
        return Measured(
            number,
            evaluation.outcome,
            evaluation.detail,
            time_s=ours.median_s if passed and ours else None,
            baseline_s=eager.median_s if eager else None,
            stage_seconds={share.stage: share.seconds for share in evaluation.stages},
        )

    def evaluated(self, text: str) -> Evaluation | str:
        """The evaluation of a program, or why there is none."""
        try:
            checked = check(parse(text), self.inspection.signature, Target.HOST, Policy.STRICT)
        except ProgramErrors as error:
            return str(error)
        emission = emit(checked)
        report = build(emission, cache=self.store)
        artifacts = {unit.symbol: str(self.store.path(unit.artifact)) for unit in report.units if unit.artifact}
        if len(artifacts) < len(report.units):
            return "the compiler refused the code"
        evaluation = evaluate(
            EvaluationRequest(
                problem_path=str(self.path),
                size="cpu",
                signature=self.inspection.signature,
                candidate=PlanCandidate(emission.plan, artifacts),
                device="host",
                tolerance=tolerance_for("strict", self.inspection, Policy.STRICT, Target.HOST),
            )
        )
        eager = evaluation.baseline(EAGER)
        if eager is not None:
            self.eager_s.append(eager.median_s)
        return evaluation


class Side:
    """One search: its settings, its history, the best time after each attempt."""

    def __init__(self, settings: TrajectorySettings, started: Started, workshop: Workshop) -> None:
        self.settings = settings
        self.history: list[Event] = [started]
        self.workshop = workshop
        self.best: tuple[float, str] | None = None
        self.curve: list[float] = []
        self.ended = ""

    def one_attempt(self) -> None:
        """Go on to the end of the next attempt; where the search has ended its best stays as it is."""
        while not self.ended:
            step = controller(self.settings.controller).next_step(self.settings, tuple(self.history))
            if isinstance(step, Finish):
                self.ended = step.words
            elif isinstance(step, Ask):
                self.history.append(Asked(step))
                answer = proposer(self.settings.proposer).answer(self.settings, tuple(self.history), step)
                self.history.append(answer)
            else:
                self.history.append(Submitted(step.number, step.candidate))
                self._end(step.candidate, self.workshop.measured(step.number, step.candidate))
                return
        self.curve.append(self.best[0] if self.best else 1.0)

    def _end(self, candidate: Candidate, measured: Measured) -> None:
        self.history.append(measured)
        if measured.time_s is not None and measured.baseline_s is not None:
            speedup = measured.baseline_s / measured.time_s
            if self.best is None or speedup > self.best[0]:
                self.best = (speedup, candidate.text)
        self.curve.append(self.best[0] if self.best else 1.0)

    def row(self, again: list[tuple[float, float]]) -> dict[str, Any]:
        """What is kept: the curve over eager, the best measured again (its time and speedup), its program."""
        return {
            "curve": self.curve,
            "best": self.best[0] if self.best else None,
            "again_ms": [time_s * 1e3 for time_s, _ in again],
            "again": [speedup for _, speedup in again],
            "speedup": statistics.median(speedup for _, speedup in again) if again else 1.0,
            "ended": self.ended or "its attempts are spent",
            "program": self.best[1] if self.best else "",
        }


def measure(path: Path, device: Device, store: Cache, attempts: int, seed: int) -> dict[str, Any]:
    """Both searches on one problem."""
    inspection = inspect(path, "cpu")
    bounds = bound(count(inspection), inspection, device, Policy.STRICT)
    started = Started(
        problem=path.stem,
        signature=inspection.signature,
        target=Target.HOST,
        policy=Policy.STRICT,
        seed_program=translate(path.stem, inspection, Target.HOST).program,
        sol_s=bounds.steering_s,
        floor_s=bounds.floor_s,
        bound_class=bounds.bound_class,
        cores=os.cpu_count() or 1,
        l2_bytes=int(device.facts["l2_bytes"]) if "l2_bytes" in device.facts else None,
    )
    workshop = Workshop(path, inspection, store)
    sides = [
        Side(TrajectorySettings("tree", "search", attempts, None, None, on, seed, memory=False), started, workshop)
        for on in (True, False)
    ]
    for number in range(attempts):
        for side in sides if number % 2 == 0 else reversed(sides):
            side.one_attempt()
    again = _again(workshop, sides)
    eager_s = statistics.median(workshop.eager_s) if workshop.eager_s else None
    steered, plain = (side.row(found) for side, found in zip(sides, again, strict=True))
    return {"problem": path.stem, "seed": seed, "sol_ms": bounds.steering_s * 1e3, "steered": steered, "plain": plain,
            "eager_ms": eager_s * 1e3 if eager_s else None, "evaluations": len(workshop.eager_s)}  # fmt: skip


def _again(workshop: Workshop, sides: Sequence[Side]) -> list[list[tuple[float, float]]]:
    found: list[list[tuple[float, float]]] = [[] for _ in sides]
    for _ in range(AGAIN):
        for side, times in zip(sides, found, strict=True):
            result = workshop.evaluated(side.best[1]) if side.best else ""
            if isinstance(result, str) or result.outcome is not Outcome.PASSED or result.candidate is None:
                continue
            eager = result.baseline(EAGER)
            if eager is not None:
                times.append((result.candidate.median_s, eager.median_s / result.candidate.median_s))
    return found


def geomean(values: Sequence[float]) -> float:
    """Of at least one positive value."""
    return math.exp(sum(math.log(value) for value in values) / len(values))


def summary(rows: Sequence[dict[str, Any]], attempts: int) -> dict[str, Any]:
    """Geomeans at equal attempts, and the attempts after which one side has what the other has at its end."""
    curves = {
        name: [geomean([row[name]["curve"][at] for row in rows]) for at in range(attempts)]
        for name in ("steered", "plain")
    }

    def reaches(name: str, value: float) -> int | None:
        return next((at + 1 for at, now in enumerate(curves[name]) if now >= value), None)

    speedups = {name: geomean([row[name]["speedup"] for row in rows]) for name in curves}
    return {
        "problems": len(rows),
        "attempts": attempts,
        "speedup_over_eager": speedups,
        "steered_over_plain": speedups["steered"] / speedups["plain"],
        "curve": curves,
        "steered_reaches_plains_end_after": reaches("steered", curves["plain"][-1]),
        "plain_reaches_steereds_end_after": reaches("plain", curves["steered"][-1]),
        "better_with_steering": sum(row["steered"]["speedup"] > row["plain"]["speedup"] for row in rows),
    }


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0 where every problem had a passing program on both sides."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=list(TEN), help="parts of file names; ten problems if none")
    parser.add_argument("--state", type=Path, required=True, help="builds, peaks and problems that are done")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--attempts", type=int, default=16)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    options = parser.parse_args(arguments)
    options.state.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_CACHE_HOME"] = str(options.state)
    device, store = device_named("host"), Cache(options.state / "builds")
    warm.servers(isolation.probe(), "host")
    found = {file.path.stem: file.path for file in find_problems(own_directory())}
    paths = [path for name, path in found.items() if any(part in name for part in options.problems)]
    rows = []
    for seed in options.seeds:
        for path in paths:
            kept = options.state / f"{path.stem}-{options.attempts}-{seed}.json"
            if not kept.exists():
                row = measure(path, device, store, options.attempts, seed)
                kept.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
            rows.append(json.loads(kept.read_text(encoding="utf-8")))
            steered, plain = (rows[-1][name]["speedup"] for name in ("steered", "plain"))
            print(f"{path.stem:24} seed {seed}: {steered:.2f}× with steering, {plain:.2f}× without", flush=True)
    told = summary(rows, options.attempts)
    print(json.dumps(told, indent=1))
    if options.json:
        report = {"device": device.name, "again": AGAIN, "seeds": options.seeds, "summary": told, "rows": rows}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row[name]["best"] for row in rows for name in ("steered", "plain")) else 1


if __name__ == "__main__":
    sys.exit(main())
