"""A problem file and tiny shared objects, compiled once a session."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernels.codegen.emission import Launch, Plan
from kernels.dtypes import DType
from kernels.harness.evaluation import EvaluationRequest, Limits, PlanCandidate
from kernels.harness.tolerance import profile
from tests.harness.programs import BODIES, HEAD, PROBLEM, SIGNATURE, one_launch


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one shared object that exports every body under its name."""
    folder = tmp_path_factory.mktemp("objects")
    functions = [f"API {name}(BIAS_RELU) {{ {body} }}" for name, body in BODIES.items()]
    functions.append(
        "API add(const float* x, const float* b, float* y, int64_t m, int64_t n, void*, void*) {"
        "for (int64_t i = 0; i < m * n; i++) y[i] = x[i] + b[i % n]; return 0; }"
    )
    functions.append(
        "API relu(const float* x, float* y, int64_t count, void*, void*) {"
        "for (int64_t i = 0; i < count; i++) y[i] = x[i] > 0 ? x[i] : 0; return 0; }"
    )
    functions.append(
        "API gemm(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k, void* w, void*) {"
        "if (!w) return 9;\n#pragma omp parallel for\nfor (int64_t i = 0; i < m; i++) {"
        "for (int64_t j = 0; j < n; j++) c[i * n + j] = 0;"
        "for (int64_t p = 0; p < k; p++) for (int64_t j = 0; j < n; j++) c[i*n+j] += a[i*k+p] * b[p*n+j]; }"
        "return 0; }"
    )
    source = folder / "objects.cpp"
    source.write_text(HEAD + "#ifndef PORT\n#define PORT 9\n#endif\n" + "\n".join(functions))
    command = ["g++", "-O2", "-march=native", "-fopenmp", "-shared", "-fPIC", "-w", str(source)]
    subprocess.run([*command, "-o", str(folder / "objects.so")], check=True)
    return folder


MakeRequest = Callable[..., EvaluationRequest]


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "problem.py"
    path.write_text(PROBLEM)
    return path


@pytest.fixture
def make_request(objects: Path, problem: Path) -> MakeRequest:
    """``make_request("symbol")``, ``(plan=…)`` or ``(candidate=…)``; other fields of the request by name."""

    def make(
        symbol: str = "bias_relu",
        *,
        plan: Plan | None = None,
        artifacts: dict[str, str] | None = None,
        **fields: Any,
    ) -> EvaluationRequest:
        plan = plan or one_launch(symbol)
        symbols = [step.symbol for step in plan.steps if isinstance(step, Launch)]
        if artifacts is None:
            artifacts = {name: str(objects / "objects.so") for name in symbols}
        request = EvaluationRequest(
            problem_path=str(problem),
            size="default",
            signature=SIGNATURE,
            candidate=PlanCandidate(plan, artifacts),
            device="host",
            tolerance=profile("kernelbench", DType.F32),
            rounds=4,
            warmup=2,
            repeats=12,
            limits=Limits(seconds=20.0),
        )
        return replace(request, **fields)

    return make


@pytest.fixture(autouse=True)
def _own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests wait for no real build, and hold none up."""
    monkeypatch.setenv("MUCUTLASS_LOCKS", str(tmp_path / "locks"))
