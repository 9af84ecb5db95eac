"""Candidates in CUDA C++ and Python on a card, good and bad, each against the outcome that it must have.

    python -m tests.gpu.harness_languages --json FILE [--arch sm_90a] [--with-inline] [--build-only] [CASE ...]

Needs a card, nvcc, and CUTLASS's headers for the CuTe case; ``--build-only`` needs no card. ``--with-inline`` adds a
module that compiles CUDA by torch's own means, which takes about a minute. Exit status 1 where a case fails.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.candidates import built, prepare
from kernels.harness import evaluate
from kernels.harness.evaluation import EAGER, EvaluationRequest, ModuleCandidate, Outcome
from kernels.harness.problem_tolerance import tolerance_for
from kernels.languages import Language
from kernels.problems.files import DEFAULT_SIZE
from kernels.problems.inspect import inspect
from kernels.problems.inspection import Inspection
from kernels.targets import Policy, Target
from kernels.toolchain import Cache, build
from kernels.toolchain.report import BuildOutcome
from tests.gpu import language_sources as sources


@dataclass(frozen=True, slots=True)
class Case:
    """One candidate. ``says`` must stand in the evaluation's detail or in the notes of its checks."""

    name: str
    language: Language
    source: str
    problem: str
    outcome: Outcome
    says: str = ""
    needs: str = ""


CASES = [
    Case("raw CUDA", Language.CU, sources.PLAIN, sources.BIAS_RELU, Outcome.PASSED),
    Case("raw CUDA with a workspace", Language.CU, sources.WITH_WORKSPACE, sources.BIAS_RELU, Outcome.PASSED),
    Case("CuTe", Language.CU, sources.CUTE, sources.BIAS_RELU, Outcome.PASSED),
    Case("ModelNew of torch calls", Language.PY, sources.TORCH, sources.HALF_LINEAR, Outcome.PASSED, "by order"),
    Case("ModelNew with Triton", Language.PY, sources.TRITON, sources.BIAS_RELU, Outcome.PASSED, needs="triton"),
    Case("ModelNew of many launches", Language.PY, sources.MANY_LAUNCHES, sources.SHORT_CALLS, Outcome.PASSED),
    Case("output on the host", Language.PY, sources.ON_THE_HOST, sources.HALF_LINEAR, Outcome.INCORRECT, "lies on cpu"),
    Case("too much shared memory", Language.CU, sources.TOO_MUCH_SHARED, sources.BIAS_RELU, Outcome.LAUNCH_ERROR,
         "error code"),
    Case("work on a side stream", Language.CU, sources.SIDE_STREAM, sources.BIAS_RELU, Outcome.INCORRECT),
    # The context is broken for good by this one, and the next candidate must not notice.
    Case("illegal access", Language.CU, sources.ILLEGAL, sources.BIAS_RELU, Outcome.CRASH, "illegal memory access"),
    Case("raw CUDA after it", Language.CU, sources.PLAIN, sources.BIAS_RELU, Outcome.PASSED),
]  # fmt: skip
INLINE = Case("ModelNew with load_inline", Language.PY, sources.INLINE, sources.BIAS_RELU, Outcome.PASSED)


class Bench:
    """A folder with the problems, their inspections, and a build cache."""

    def __init__(self, folder: Path, target: Target) -> None:
        self.folder = folder
        self.target = target
        self.cache = Cache(folder / "cache")
        self._inspections: dict[str, tuple[Path, Inspection]] = {}

    def problem(self, text: str) -> tuple[Path, Inspection]:
        if text not in self._inspections:
            path = self.folder / f"problem{len(self._inspections)}.py"
            path.write_text(text)
            self._inspections[text] = path, inspect(path, DEFAULT_SIZE)
        return self._inspections[text]

    def run(self, case: Case, *, build_only: bool) -> dict[str, Any]:
        """Build and evaluate one case; its verdict with numbers."""
        if case.needs and importlib.util.find_spec(case.needs) is None:
            return {"case": case.name, "passed": None, "why": f"{case.needs} is not installed"}
        began = time.perf_counter()
        path, inspection = self.problem(case.problem)
        prepared = prepare(case.source, case.language, inspection.signature, self.target, Policy.TF32)
        artifacts: dict[str, Path] = {}
        if not isinstance(prepared, ModuleCandidate):
            report = build(prepared, cache=self.cache)
            if report.outcome is not BuildOutcome.BUILT:
                log = report.units[0].log[-2000:]
                return {"case": case.name, "passed": False, "why": f"build {report.outcome.value}: {log}"}
            artifacts = {unit.symbol: self.cache.path(unit.artifact) for unit in report.units if unit.artifact}
        built_s = time.perf_counter() - began
        if build_only:
            return {"case": case.name, "passed": True, "build_s": built_s}
        request = EvaluationRequest(
            problem_path=str(path),
            size=inspection.size,
            signature=inspection.signature,
            candidate=built(prepared, artifacts),
            device="cuda",
            tolerance=tolerance_for("kernelbench", inspection, Policy.TF32, self.target),
        )
        return {"build_s": built_s, **_verdict(case, request)}


def _verdict(case: Case, request: EvaluationRequest) -> dict[str, Any]:
    evaluation = evaluate(request)
    said = "\n".join([evaluation.detail, *(check.note for check in evaluation.checks)])
    eager = evaluation.baseline(EAGER)
    return {
        "case": case.name,
        "passed": evaluation.outcome is case.outcome and case.says in said,
        "outcome": evaluation.outcome.value,
        "expected": case.outcome.value,
        "detail": evaluation.detail[:500],
        "median_ms": evaluation.candidate.median_s * 1e3 if evaluation.candidate else None,
        "eager_ms": eager.median_s * 1e3 if eager else None,
        "once_s": evaluation.once_s,
        "wall_s": evaluation.wall_s,
        "weights": next((check.note for check in evaluation.checks if check.name == "weights"), None),
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--arch", type=Target, default=Target.SM90A)
    parser.add_argument("--with-inline", action="store_true")
    parser.add_argument("--build-only", action="store_true")
    options = parser.parse_args()
    cases = [*CASES, *([INLINE] if options.with_inline else [])]
    chosen = [case for case in cases if not options.cases or any(word in case.name for word in options.cases)]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.arch)
        for case in chosen:
            results.append(bench.run(case, build_only=options.build_only))
            print(json.dumps(results[-1]), flush=True)
    options.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0 if results and all(result["passed"] is not False for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
