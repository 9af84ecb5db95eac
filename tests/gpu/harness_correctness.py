"""Tricks with answers on a card, each against the reason that it must end in, and honest modules beside them.

    python -m tests.gpu.harness_correctness --json FILE [CASE ...]

Python modules alone, so nothing is compiled; needs a card and torch. What a card changes is that inputs are copied to
it and stay at their addresses, that graphs can be replayed, and that caches are flushed before timed calls. Exit status
1 where a case fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.harness import evaluate
from kernels.harness.correctness import IncorrectReason
from kernels.harness.evaluation import EvaluationRequest, ModuleCandidate
from kernels.harness.problem_tolerance import tolerance_for
from kernels.problems.files import DEFAULT_SIZE
from kernels.problems.inspect import inspect
from kernels.problems.inspection import Inspection
from kernels.targets import Policy, Target

PROBLEM = """
import torch

M, N, K = 1024, 2048, 8192


class Model(torch.nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.linear = torch.nn.Linear(k, n)

    def forward(self, x):
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.randn(M, K)]


def get_init_inputs():
    return [K, N]
"""

_HEAD = """
import torch

KEPT = {}


class ModelNew(torch.nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.linear = torch.nn.Linear(k, n)
        self.graph = None

    def right(self, x):
        return torch.relu(self.linear(x))

    def keep(self, key, x):
        if key not in KEPT:
            KEPT[key] = self.right(x)
        return KEPT[key].clone()

    def capture(self, x):
        self.x = x.clone(memory_format=torch.contiguous_format)
        self.right(self.x)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.right(self.x)

    def forward(self, x):
"""

R = IncorrectReason


@dataclass(frozen=True, slots=True)
class Case:
    """``body`` is the module's forward; ``reason`` is None where it must pass."""

    name: str
    body: str
    reason: IncorrectReason | None


CASES = [
    Case("honest", "return self.right(x)", None),
    Case("honest graph", "if self.graph is None:\n    self.capture(x)\nself.x.copy_(x)\nself.graph.replay()\n"
         "return self.y.clone()", None),
    Case("graph with stale inputs", "if self.graph is None:\n    self.capture(x)\nself.graph.replay()\n"
         "return self.y.clone()", R.STALE),
    Case("cache by address", "return self.keep(x.data_ptr(), x)", R.STALE),
    Case("cache by first elements", "return self.keep(tuple(x[0, :4].tolist()), x)", R.STALE),
    Case("cache by all contents", "return self.keep(x.double().sum().item(), x)", R.REPEATS),
    Case("alters its inputs", "y = self.right(x)\nx[0, 0] = 0\nreturn y", R.INPUTS_CHANGED),
    Case("strided read as dense", "return self.right(torch.as_strided(x, x.shape, (x.shape[1], 1)))", R.STRIDES),
    Case("last rows left out", "y = self.right(x)\ny[-64:] = 0\nreturn y", R.VALUES),
    Case("noise", "return self.right(x) + 0.01 * torch.randn(1, device=x.device)", R.NON_DETERMINISTIC),
    Case("half precision inside", "return torch.relu(torch.nn.functional.linear(x.bfloat16(), "
         "self.linear.weight.bfloat16(), self.linear.bias.bfloat16())).float()", R.VALUES),
]  # fmt: skip


def run(case: Case, path: Path, inspection: Inspection) -> dict[str, Any]:
    """Evaluate one case; its verdict with what was seen."""
    source = _HEAD + "        " + case.body.replace("\n", "\n        ") + "\n"
    request = EvaluationRequest(
        problem_path=str(path),
        size=inspection.size,
        signature=inspection.signature,
        candidate=ModuleCandidate(source),
        device="cuda",
        tolerance=tolerance_for("kernelbench", inspection, Policy.STRICT, Target.SM90A),
        repeats=20,
    )
    evaluation = evaluate(request)
    unseen = next((check for check in evaluation.checks if check.name == "unseen inputs"), None)
    ended = evaluation.reason or evaluation.outcome
    return {
        "case": case.name,
        "passed": ended.value == (case.reason.value if case.reason else "passed"),
        "ended": ended.value,
        "expected": case.reason.value if case.reason else "passed",
        "detail": evaluation.detail[:500],
        "median_ms": evaluation.candidate.median_s * 1e3 if evaluation.candidate else None,
        "unseen_ms": unseen.seen * 1e3 if unseen and unseen.seen is not None else None,
        "worst_tile": evaluation.rounds[0].errors.tile.words
        if evaluation.rounds and evaluation.rounds[0].errors and evaluation.rounds[0].errors.tile
        else None,
        "wall_s": evaluation.wall_s,
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    chosen = [case for case in CASES if not options.cases or any(word in case.name for word in options.cases)]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "problem.py")
        path.write_text(PROBLEM)
        inspection = inspect(path, DEFAULT_SIZE)
        for case in chosen:
            results.append(run(case, path, inspection))
            print(json.dumps(results[-1]), flush=True)
    options.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0 if results and all(result["passed"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
