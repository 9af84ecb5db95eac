"""The whole way with real processes: each good or bad candidate and problem ends as its own outcome."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from kernels.codegen.emission import Plan
from kernels.harness import evaluate, isolation
from kernels.harness.evaluation import EAGER, Evaluation, Limits, Outcome
from kernels.records import dumps, loads
from tests.harness.conftest import MakeRequest
from tests.harness.local import write
from tests.harness.processes import SUBJECTS, cold, forked, left_running, wait_for
from tests.harness.programs import COLUMNS, HEAD, PROBLEM, ROWS, launch, one_launch, torch_call, value


def failed(evaluation: Evaluation) -> set[str]:
    return {check.name for check in evaluation.checks if check.failed}


def test_a_right_candidate_is_measured_beside_eager(make_request: MakeRequest) -> None:
    plan = Plan(
        values=(
            value("x", ROWS, COLUMNS),
            value("bias", COLUMNS),
            value("s", ROWS, COLUMNS),
            value("y", ROWS, COLUMNS),
        ),
        inputs=("x",),
        parameters=("bias",),
        steps=(
            torch_call("sum", "torch.add", ({"value": "x"}, {"value": "bias"}), ("s",)),
            launch("relu", "relu", ("s",), ("y",), ROWS * COLUMNS),
        ),
        outputs=("y",),
    )
    evaluation = evaluate(make_request(plan=plan))
    assert evaluation.outcome is Outcome.PASSED, evaluation.detail
    assert evaluation.candidate is not None
    assert evaluation.candidate.count == len(evaluation.candidate.samples) == 12
    baseline = evaluation.baseline(EAGER)
    assert baseline is not None
    assert baseline.count == 12
    assert evaluation.speedup(EAGER) == baseline.median_s / evaluation.candidate.median_s
    assert [(stage.stage, stage.library) for stage in evaluation.stages] == [("sum", True), ("relu", False)]
    assert evaluation.once_s is not None
    assert evaluation.machine is not None
    assert evaluation.machine.kind == "cpu"
    assert evaluation.isolation is not None
    assert evaluation.isolation.method == isolation.probe()
    assert evaluation.isolation.memory_limit_bytes is not None
    assert {"timed outputs", "clock agreement", "processes", "parameters unchanged"} <= {
        c.name for c in evaluation.checks
    }
    assert loads(dumps(evaluation), Evaluation) == evaluation


@pytest.mark.parametrize(
    ("symbol", "outcome", "said"),
    [
        ("late_segfault", Outcome.CRASH, "SIGSEGV"),
        ("illegal", Outcome.CRASH, "SIGILL"),
        ("exits", Outcome.CRASH, "exit status 0"),
        ("error_code", Outcome.LAUNCH_ERROR, "42"),
        ("takes_100_gb", Outcome.OUT_OF_MEMORY, "bad_alloc"),
        ("fork_bomb", Outcome.CRASH, "processes"),
    ],
)
def test_a_candidate_that_fails_ends_in_its_own_outcome(
    make_request: MakeRequest, symbol: str, outcome: Outcome, said: str
) -> None:
    evaluation = evaluate(make_request(symbol))
    assert evaluation.outcome is outcome, evaluation.detail
    assert said in evaluation.detail
    assert evaluation.candidate is None
    assert evaluation.baselines == ()
    assert left_running() == []


def test_an_endless_call_is_a_timeout(make_request: MakeRequest) -> None:
    evaluation = evaluate(make_request("endless", limits=Limits(seconds=1.5)))
    assert evaluation.outcome is Outcome.TIMEOUT, evaluation.detail
    assert left_running() == []


def test_processes_left_running_are_a_failed_check_and_are_ended(make_request: MakeRequest) -> None:
    evaluation = evaluate(make_request("forks"))
    assert evaluation.outcome is Outcome.INCORRECT, evaluation.detail
    assert failed(evaluation) == {"processes"}
    assert left_running() == []


def test_100_mb_of_output_is_let_go(make_request: MakeRequest) -> None:
    evaluation = evaluate(make_request("prints"))
    assert evaluation.outcome is Outcome.PASSED, evaluation.detail


def test_a_missing_shared_object_is_a_launch_error(make_request: MakeRequest, tmp_path: Path) -> None:
    evaluation = evaluate(make_request(artifacts={"bias_relu": str(tmp_path / "gone.so")}))
    assert evaluation.outcome is Outcome.LAUNCH_ERROR
    assert "gone.so" in evaluation.detail


@pytest.mark.parametrize(
    ("line", "outcome", "said"),
    [
        ("import os; os._exit(3)", Outcome.PROBLEM_ERROR, "ended its process with exit status 3"),
        ("import ctypes; ctypes.string_at(8)", Outcome.PROBLEM_ERROR, "SIGSEGV"),
        ("while True: pass", Outcome.TIMEOUT, "loading the problem file"),
        ("x = bytearray(100 << 30)", Outcome.OUT_OF_MEMORY, "the problem's own code"),
    ],
)
def test_a_problem_that_fails_is_told_from_a_candidate(
    make_request: MakeRequest, tmp_path: Path, line: str, outcome: Outcome, said: str
) -> None:
    path = write(tmp_path, "bad.py", f"{PROBLEM}\n{line}\n")
    evaluation = evaluate(make_request(problem_path=path, limits=Limits(seconds=3)))
    assert evaluation.outcome is outcome, evaluation.detail
    assert said in evaluation.detail
    assert left_running() == []


def test_cancelling_ends_everything(make_request: MakeRequest) -> None:
    asked: list[float] = []

    def cancelled() -> bool:
        asked.append(time.monotonic())
        return len(asked) > 8

    evaluation = evaluate(make_request("endless"), cancelled=cancelled)
    assert (evaluation.outcome, evaluation.detail) == (Outcome.NOT_MEASURED, "cancelled")
    assert left_running() == []


SPY = """
API spy(BIAS_RELU) {
  right(x, b, y, m, n);
  if (getenv("SECRET_KEY") || getenv("DATABASE_URL")) return 78;
  FILE* f = fopen("PROBLEM_PATH", "r");
  if (f && fgetc(f) != EOF) return 79;
  f = fopen("FOLDER/mark", "w");
  if (f) fclose(f);
  int s = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in a = {};
  a.sin_family = AF_INET;
  a.sin_port = htons(PORT_NUMBER);
  a.sin_addr.s_addr = htonl(0x7f000001);
  if (!connect(s, (struct sockaddr*)&a, sizeof a)) return 77;
  return 0;
}
"""


@pytest.mark.skipif(isolation.probe() != isolation.BUBBLEWRAP, reason="bubblewrap does not work here")
def test_a_candidate_sees_no_keys_no_problem_no_network_and_writes_nothing(
    make_request: MakeRequest, problem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "k")
    monkeypatch.setenv("DATABASE_URL", "d")
    with socket.create_server(("127.0.0.1", 0)) as server:
        text = SPY.replace("PROBLEM_PATH", str(problem)).replace("FOLDER", str(tmp_path))
        source = write(tmp_path, "spy.cpp", HEAD + text.replace("PORT_NUMBER", str(server.getsockname()[1])))
        library = tmp_path / "spy.so"
        subprocess.run(["g++", "-shared", "-fPIC", "-w", source, "-o", str(library)], check=True)
        evaluation = evaluate(make_request(plan=one_launch("spy"), artifacts={"spy": str(library)}))
        assert evaluation.outcome is Outcome.PASSED, evaluation.detail
    assert not (tmp_path / "mark").exists()


def test_a_killed_worker_leaves_nothing_behind(make_request: MakeRequest, tmp_path: Path) -> None:
    """The worker is a process of its own here, killed while its candidate runs without end."""
    request = replace(make_request("endless"), limits=Limits(seconds=60))
    script = (
        "import sys, pathlib; from kernels.harness import evaluate; from kernels.records import loads; "
        "from kernels.harness.evaluation import EvaluationRequest; "
        "evaluate(loads(pathlib.Path(sys.argv[1]).read_text(), EvaluationRequest))"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", script, write(tmp_path, "request.json", dumps(request))],
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    wait_for(lambda: forked(SUBJECTS, worker.pid)[1:] or cold(worker.pid)[2:])
    family = psutil.Process(worker.pid).children(recursive=True)
    worker.kill()
    worker.wait()
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []
