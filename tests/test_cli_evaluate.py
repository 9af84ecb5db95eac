"""``mucutlass evaluate``: its form, its report, its exit status, and batches that meet bad lines and Ctrl-C."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernels.evaluation_form import EvaluationForm
from kernels.harness.baselines import BaselineKind
from kernels.harness.evaluation import (
    Check,
    Evaluation,
    EvaluationRequest,
    Machine,
    ModuleCandidate,
    Outcome,
    Timing,
)
from kernels.problems.errors import ProblemRaised
from kernels.problems.files import read_problem
from kernels.problems.inspect import inspect
from kernels.problems.inspection import Inspection
from kernels.records import from_json
from mucutlass_web.cli import evaluating
from mucutlass_web.cli.main import main
from tests.harness.programs import PROBLEM

KEYS = {field.name for field in dataclasses.fields(EvaluationForm)}
MU = """program bias_relu(x: f32[M, N], bias: f32[N]) -> f32[M, N]
  y = map(relu(x + bias))
  return y
"""
PY = """import torch


class ModelNew(torch.nn.Module):
    pass
"""
EAGER = BaselineKind.EAGER.full_name


@pytest.fixture(scope="session")
def inspection(tmp_path_factory: pytest.TempPathFactory) -> Inspection:
    path = tmp_path_factory.mktemp("inspected") / "problem.py"
    path.write_text(PROBLEM)
    return inspect(path, "default")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a problem and a good candidate, and a build cache and locks of its own."""
    monkeypatch.setenv("MUCUTLASS_BUILD_CACHE", str(tmp_path / "builds"))
    monkeypatch.setenv("MUCUTLASS_LOCKS", str(tmp_path / "locks"))
    (tmp_path / "problem.py").write_text(PROBLEM)
    (tmp_path / "good.mu").write_text(MU)
    (tmp_path / "good.py").write_text(PY)
    return tmp_path


def timing(subject: str, median_s: float) -> Timing:
    return Timing(subject, median_s, median_s, median_s, median_s, 10, (median_s,) * 10, "a clock")


def passed(request: EvaluationRequest) -> Evaluation:
    """What an evaluation of a good candidate gives; a Python source that says ``crash`` ends its process."""
    candidate = request.candidate
    machine = Machine("cpu", "a CPU", {"torch": "2.99"})
    if isinstance(candidate, ModuleCandidate) and "crash" in candidate.source:
        return Evaluation(Outcome.CRASH, "ended by SIGSEGV", (), None, (), None, (), machine, None, 1.0)
    checks = (Check("matched share", 1.0, 1.0, True),)
    return Evaluation(
        Outcome.PASSED, "", checks, timing("candidate", 0.5), (timing(EAGER, 1.0),), 0.0, (), machine, None, 1.0
    )


@pytest.fixture
def canned(inspection: Inspection, monkeypatch: pytest.MonkeyPatch) -> list[EvaluationRequest]:
    """No process is started: requests are kept here, and answered as ``passed`` does."""
    requests: list[EvaluationRequest] = []

    def evaluate(request: EvaluationRequest, *, cancelled: Callable[[], bool] | None = None) -> Evaluation:
        requests.append(request)
        return passed(request)

    def inspect_problem(problem: Path, *_: Any, **__: Any) -> Inspection:
        read_problem(problem)
        if "raises" in problem.name:
            raise ProblemRaised(path=problem, line=3, during="get_inputs", message="ValueError: no")
        return inspection

    monkeypatch.setattr(evaluating, "evaluate", evaluate)
    monkeypatch.setattr(evaluating, "inspect_problem", inspect_problem)
    return requests


def run(folder: Path, capsys: pytest.CaptureFixture[str], file: str, *more: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of ``evaluate FILE --problem problem.py``."""
    status = main(["evaluate", str(folder / file), "--problem", str(folder / "problem.py"), *more])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_real_evaluation_gives_the_whole_form(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(folder, capsys, "good.mu", "--json", "--baseline", "eager,tf32")
    form = json.loads(out)
    assert status == 0, form["detail"]
    assert set(form) == KEYS
    assert form["outcome"] == "passed"
    assert form["correctness"]["passed"] is True
    assert len(form["correctness"]["rounds"]) >= 5
    assert form["correctness"]["worst_tile"] is not None
    assert set(form["timing"]["baselines"]) == {EAGER, BaselineKind.TF32.full_name}
    assert form["speedup"][EAGER] == pytest.approx(
        form["timing"]["baselines"][EAGER]["median_s"] / form["timing"]["candidate"]["median_s"]
    )
    # A CPU has no TF32: asked for and not measured is null, with its reason.
    assert form["speedup"][BaselineKind.TF32.full_name] is None
    assert form["timing"]["absent"][BaselineKind.TF32.full_name]
    assert form["flags"] == []
    assert form["profile"] is None
    assert form["build"]["cached"] is False
    assert form["build"]["compiler"].startswith("g++")
    assert form["versions"]["torch"] == form["device"]["machine"]["facts"]["torch"]
    assert from_json(form, EvaluationForm).outcome is Outcome.PASSED


def test_the_report_for_people_names_its_baseline_and_what_was_not_measured(
    folder: Path, canned: list[EvaluationRequest], capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(folder, capsys, "good.mu", "--baseline", "eager", "--baseline", "compile")
    assert status == 0
    assert out.startswith(f"passed: {folder}/good.mu (μCUTLASS) on {folder}/problem.py, size default")
    assert "2.00× over torch eager (1 s)" in out
    assert "torch.compile: no reason was given" in out
    assert canned[0].baselines == (BaselineKind.EAGER, BaselineKind.COMPILE)


@pytest.mark.parametrize(("options", "flush"), [((), "read"), (("--flush", "write"), "write")])
def test_l2_is_flushed_by_reading_unless_asked_otherwise(
    folder: Path,
    canned: list[EvaluationRequest],
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    flush: str,
) -> None:
    assert run(folder, capsys, "good.py", *options)[0] == 0
    assert batch(folder, [asking(**({"flush": flush} if options else {}))]) == 0
    assert [request.flush for request in canned] == [flush, flush]


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("bad.mu", MU.replace("bias)", "bios)"), "2:"),
        ("bad.py", "x = 1\n", "the source defines no class ModelNew"),
        ("bad.py", "class ModelNew(:\n", "line 1, column"),
        ("bad.cu", "int main() {}\n", "a .cu source does not run on host"),
    ],
)
def test_a_candidate_that_is_wrong_is_refused_with_its_place(
    folder: Path,
    canned: list[EvaluationRequest],
    capsys: pytest.CaptureFixture[str],
    file: str,
    text: str,
    words: str,
) -> None:
    (folder / file).write_text(text)
    status, out, err = run(folder, capsys, file, "--device", "host")
    assert (status, out) == (1, "")
    assert err.startswith(f"{folder}/{file}:{words}")
    status, out, _ = run(folder, capsys, file, "--device", "host", "--json")
    form = json.loads(out)
    assert (status, form["outcome"], set(form)) == (1, "refused", KEYS)
    assert form["correctness"]["passed"] is None
    assert form["timing"]["candidate"] is None
    assert form["speedup"] == {EAGER: None}
    assert not canned


def test_code_that_no_compiler_takes_is_a_build_error_with_its_log(
    folder: Path, canned: list[EvaluationRequest], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.cpp").write_text("this is no C++\n")
    status, out, _ = run(folder, capsys, "bad.cpp", "--json")
    form = json.loads(out)
    assert (status, form["outcome"], set(form)) == (1, "build_error", KEYS)
    assert "error" in form["detail"]
    assert form["build"]["outcome"] == "failed"
    assert not canned


def test_a_problem_whose_code_raises_is_a_problem_error(
    folder: Path, canned: list[EvaluationRequest], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "raises.py").write_text(PROBLEM)
    status = main(["evaluate", str(folder / "good.mu"), "--problem", str(folder / "raises.py"), "--json"])
    form = json.loads(capsys.readouterr().out)
    assert (status, form["outcome"], form["problem"]["size"]) == (1, "problem_error", None)
    correctness: dict[str, Any] = {
        "passed": None,
        "tolerance": None,
        "checks": [],
        "rounds": [],
        "worst_tile": None,
    }
    assert form["correctness"] == correctness


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "a candidate and --problem are needed, or --batch"),
        (["x.mu"], "a candidate and --problem are needed, or --batch"),
        (["x.mu", "--problem", "p.py", "--resume"], "-o and --resume go with --batch"),
        (["x.mu", "--batch", "b.jsonl"], "--batch takes its candidates from its lines"),
        (["--batch", "b.jsonl", "--problem", "p.py"], "--problem goes into the lines"),
        (["--batch", "b.jsonl", "--tolerance", "strict"], "--tolerance goes into the lines"),
        (["--batch", "b.jsonl", "--resume"], "--resume needs -o FILE"),
        (["--batch", "b.jsonl", "--jobs-build", "0"], "--jobs-build must be 1 or more"),
        (["x.mu", "--problem", "p.py", "--tolerance", "loose"], "invalid choice"),
    ],
)
def test_wrong_usage_is_status_2(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", *arguments])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_a_baseline_or_an_ending_that_there_is_not_is_one_line(
    folder: Path, canned: list[EvaluationRequest], capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run(folder, capsys, "good.mu", "--baseline", "fastest")
    assert (status, err.split(":")[0]) == (1, "unknown-baseline")
    (folder / "kernel.rs").write_text("fn main() {}")
    status, _, err = run(folder, capsys, "kernel.rs")
    assert (status, err.split(":")[0]) == (1, "language-unknown")


def batch(folder: Path, lines: list[str], *more: str) -> int:
    (folder / "requests.jsonl").write_text("\n".join(lines) + "\n")
    return main(["evaluate", "--batch", str(folder / "requests.jsonl"), "--json", *more])


def asking(file: str = "good.py", **fields: Any) -> str:
    return json.dumps({"file": file, "problem": "problem.py", "baselines": ["eager"], **fields})


BAD_LINES = [
    ("{", "no JSON"),
    ("[1]", "a JSON array"),
    (asking(fiel=1), "there is no field 'fiel'"),
    ('{"file": "good.py"}', "problem is missing"),
    (asking(policy="fast"), "one of strict, tf32, half"),
    (asking(tolerance="loose"), "kernelbench-v0.1"),
    (asking(flush="burn"), "one of read, write"),
    (asking(device="tpu"), "one of host, cuda"),
    (asking(baselines=["fastest"]), "there is no baseline 'fastest'"),
    (asking(baselines=7), "a list of names"),
    (asking(id=[1]), "a string or a whole number"),
    (asking(id="twice"), "given before"),
    (asking(size=3), "a name in the problem's SIZES"),
    (asking(profile="yes"), "true or false"),
    (asking("none.mu"), "No such file"),
    (asking("kernel.rs"), "there is no candidate language"),
    (asking(problem="none.py"), "none.py"),
]


def test_bad_lines_give_error_lines_and_the_rest_goes_on(
    folder: Path, canned: list[EvaluationRequest], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [asking(id="twice"), ""]
    for line, _ in BAD_LINES:
        lines += [line, asking()]
    lines += [asking("bad.mu"), asking("crash.py"), asking(id=7)]
    (folder / "bad.mu").write_text(MU.replace("bias)", "bios)"))
    (folder / "crash.py").write_text(PY + "# crash\n")
    assert batch(folder, lines, "--jobs-build", "2") == 1
    said = capsys.readouterr()
    results = [json.loads(line) for line in said.out.splitlines()]
    assert [result["line"] for result in results] == [n for n, line in enumerate(lines, start=1) if line]
    assert all(set(result) == {"id", "line", "error", *KEYS} for result in results)
    errors = [result for result in results if result["error"] is not None]
    assert len(errors) == len(BAD_LINES)
    for result, (_, words) in zip(errors, BAD_LINES, strict=True):
        assert words in result["error"]["message"]
        assert result["outcome"] is None
    outcomes = [result["outcome"] for result in results if result["error"] is None]
    assert outcomes == ["passed"] * (1 + len(BAD_LINES)) + ["refused", "crash", "passed"]
    assert [result["id"] for result in results][-1] == 7
    assert f"{len(results)} of {len(results)} requests done, {len(BAD_LINES) + 2} passed" in said.err


def test_paths_are_relative_to_the_file_of_requests(
    folder: Path,
    canned: list[EvaluationRequest],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert batch(folder, [asking()]) == 0
    assert canned[0].problem_path == str(folder / "problem.py")


def test_an_interrupted_batch_leaves_whole_lines_and_resumes(
    folder: Path,
    canned: list[EvaluationRequest],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines, results = [asking(id=f"r{number}") for number in range(4)], folder / "results.jsonl"
    usual = vars(evaluating)["evaluate"]

    def interrupted(request: EvaluationRequest, *, cancelled: Callable[[], bool] | None = None) -> Evaluation:
        canned.append(request)
        if len(canned) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            assert cancelled is not None
            assert cancelled()
        return passed(request)

    monkeypatch.setattr(evaluating, "evaluate", interrupted)
    assert batch(folder, lines, "-o", str(results)) == 130
    assert [json.loads(line)["id"] for line in results.read_text().splitlines()] == ["r0", "r1"]
    # A kill in the middle of writing leaves a piece of a line, which is cut off.
    with results.open("a") as file:
        file.write('{"id": "r2", "outc')
    monkeypatch.setattr(evaluating, "evaluate", usual)
    assert batch(folder, lines, "-o", str(results), "--resume") == 0
    assert [json.loads(line)["id"] for line in results.read_text().splitlines()] == ["r0", "r1", "r2", "r3"]
    assert "2 were done before" in capsys.readouterr().err


def test_results_of_another_batch_are_not_added_to(
    folder: Path, canned: list[EvaluationRequest], capsys: pytest.CaptureFixture[str]
) -> None:
    results = folder / "results.jsonl"
    results.write_text('{"id": 1, "outcome": "passed"}\n')
    assert batch(folder, [asking()], "-o", str(results)) == 1
    assert "results-not-empty" in capsys.readouterr().err
    results.write_text("something else\n")
    assert batch(folder, [asking()], "-o", str(results), "--resume") == 1
    assert "results-not-results" in capsys.readouterr().err
    assert not canned


def test_a_line_that_had_an_error_is_tried_again_when_resumed(
    folder: Path, canned: list[EvaluationRequest], capsys: pytest.CaptureFixture[str]
) -> None:
    results = folder / "results.jsonl"
    assert batch(folder, [asking("late.py", id="late")], "-o", str(results)) == 1
    (folder / "late.py").write_text(PY)
    assert batch(folder, [asking("late.py", id="late")], "-o", str(results), "--resume") == 0
    assert [json.loads(line)["outcome"] for line in results.read_text().splitlines()] == [None, "passed"]


@pytest.mark.slow
def test_bad_candidates_between_good_ones_spoil_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For real: every candidate in processes of its own."""
    launch = 'extern "C" int mucutlass_launch(const void* const*, void* const*, void*, void*)'
    (folder / "crash.cpp").write_text(f"{launch} {{ __builtin_trap(); }}\n")
    (folder / "wrong.cpp").write_text(f"{launch} {{ return 0; }}\n")
    (folder / "gone.py").write_text("import os\nos._exit(3)\nclass ModelNew: pass\n")
    files = ["good.mu", "crash.cpp", "good.mu", "wrong.cpp", "gone.py", "good.mu"]
    assert batch(folder, [asking(file) for file in files], "--jobs-build", "2") == 1
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    outcomes = [result["outcome"] for result in results]
    assert outcomes == ["passed", "crash", "passed", "incorrect", "crash", "passed"], results
