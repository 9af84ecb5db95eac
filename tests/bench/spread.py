"""How far ten evaluations of one candidate lie apart: each a whole evaluation, in processes of its own.

    python -m tests.bench.spread [PROBLEM] [--times 10]

One of our own problems on this machine's CPU, by a part of its file name; its translated program is the candidate.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernels.codegen import emit
from kernels.dsl import check, parse
from kernels.harness import evaluate
from kernels.harness.conditions import OTHERS_LIMIT
from kernels.harness.evaluation import EAGER, Evaluation, EvaluationRequest, PlanCandidate
from kernels.harness.problem_tolerance import tolerance_for
from kernels.problems.files import find_problems, own_directory
from kernels.problems.inspect import inspect
from kernels.targets import Policy, Target
from kernels.toolchain import build
from kernels.translate import translate
from mucutlass_web.cli.commands import cache


def spread(medians: Sequence[float]) -> float | None:
    """Slowest less fastest median over their own median; None of fewer than two."""
    if len(medians) < 2:
        return None
    return (max(medians) - min(medians)) / statistics.median(medians)


def quiet(shares: Sequence[float | None]) -> bool | None:
    """Whether other processes left the cores alone in every evaluation; None where one does not tell."""
    if any(share is not None and share > OTHERS_LIMIT for share in shares):
        return False
    return None if not shares or None in shares else True


def summary(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """Medians of candidate and torch eager, their spread, and what the machine did meanwhile."""
    own = [e.candidate.median_s for e in evaluations if e.candidate is not None]
    eager = [b.median_s for e in evaluations if (b := e.baseline(EAGER)) is not None]
    ratios = [r for e in evaluations if (r := e.speedup(EAGER)) is not None]
    shares = [e.conditions.others_share if e.conditions is not None else None for e in evaluations]
    return {
        "evaluations": len(evaluations),
        "passed": len(own),
        "median_ms": [round(value * 1e3, 5) for value in own],
        "spread": spread(own),
        "eager_median_ms": [round(value * 1e3, 5) for value in eager],
        "eager_spread": spread(eager),
        "over_eager": [round(value, 3) for value in ratios],
        "over_eager_spread": spread(ratios),
        "within_one": [e.candidate.spread for e in evaluations if e.candidate is not None],
        "others_share": shares,
        "quiet": quiet(shares),
        "wall_s": [round(e.wall_s, 2) for e in evaluations],
    }


def request_for(path: Path) -> EvaluationRequest:
    """The translated program of one of our problems, built for this CPU."""
    inspection, store = inspect(path, "cpu"), cache()
    program = translate(path.stem, inspection, Target.HOST).program
    emission = emit(check(parse(program), inspection.signature, Target.HOST, Policy.STRICT))
    report = build(emission, cache=store)
    artifacts = {unit.symbol: str(store.path(unit.artifact)) for unit in report.units if unit.artifact}
    return EvaluationRequest(
        problem_path=str(path),
        size="cpu",
        signature=inspection.signature,
        candidate=PlanCandidate(emission.plan, artifacts),
        device="host",
        tolerance=tolerance_for("strict", inspection, Policy.STRICT, Target.HOST),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="The spread of repeated evaluations on this CPU.")
    parser.add_argument("problem", nargs="?", default="02_gemm_bias_relu")
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args()
    path = next(found.path for found in find_problems(own_directory()) if options.problem in found.path.name)
    request = request_for(path)
    found = {"problem": path.stem, **summary([evaluate(request) for _ in range(options.times)])}
    print(json.dumps(found, indent=1))
    target = Path("build/spread.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
