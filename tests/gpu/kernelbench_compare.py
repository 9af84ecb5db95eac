"""KernelBench's own evaluation and ours on the same candidates: verdicts, times, and how long each takes.

    python -m tests.gpu.kernelbench_compare --kernelbench PATH/src --json FILE [--kernelbench-path A:B]
    python -m tests.gpu.kernelbench_compare --markdown FILE [FILE]   # the tables of earlier reports

Fifteen of our own problems are translated, built side by side and exported as ``ModelNew`` with their shared objects
embedded, so that nothing is compiled in any evaluation. Each file then goes, alone, through our evaluation (as the
plan it was made of, and as the file) and through KernelBench's (``kernelbench_child``, in a fresh process), with the
same numbers of correctness trials and timed calls. The cheats of ``tests.harness.cheats`` go through both as well.

What each wall time holds: ours, one ``evaluate`` with a worker that has evaluated before; KernelBench's, one process
that imports, evaluates the candidate (and times the reference for its speed-up check) and times the reference in eager
mode, which is what its ``run_and_check`` script does without torch.compile. ``--compile`` names problems for which
both sides compile the reference too.

``--device host`` tries the tool out where there is no card: torch.cuda is stood in for in KernelBench's process, and
the report says so.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.codegen import emit
from kernels.codegen.emission import Emission
from kernels.dsl import check, parse
from kernels.export import export
from kernels.harness import evaluate
from kernels.harness.baselines import BaselineKind
from kernels.harness.evaluation import (
    Candidate,
    Evaluation,
    EvaluationRequest,
    FlushKind,
    ModuleCandidate,
    PlanCandidate,
    Timing,
)  # fmt: skip
from kernels.harness.problem_tolerance import tolerance_for
from kernels.problems.files import own_directory
from kernels.problems.inspect import inspect_many
from kernels.problems.inspection import Inspection
from kernels.targets import Policy, Target
from kernels.toolchain import Cache, build
from kernels.toolchain.report import BuildOutcome
from kernels.translate import translate
from tests.gpu import kernelbench_child
from tests.gpu.card_clock import ClockWatch
from tests.gpu.kernelbench_table import markdown
from tests.harness.cheats import CHEATS, Cheat

PROBLEMS = (
    "02_gemm_bias_relu", "06_gemm_bias_gelu", "10_gemm_silu_gate", "12_batched_gemm", "14_mlp", "16_tall_skinny_gemm",
    "17_softmax", "18_layer_norm", "19_rms_norm", "20_sum_rows", "21_log_sum_exp", "22_elementwise_chain",
    "23_conv2d_bias_relu", "24_pointwise_conv", "28_max_pool",
)  # fmt: skip
CORRECT_TRIALS, PERF_TRIALS = 5, 100
"""The defaults of KernelBench's run_and_check."""
BUILD_LIMIT_S, CHILD_LIMIT_S = 400.0, 120.0
CHILDREN = 4
"""KernelBench's processes at a time where only their verdicts count."""
POLICY = Policy.STRICT
"""KernelBench compares with an FP32 reference at 1e-4; TF32 products are not that close."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """One program ready for both sides. ``reference`` is the problem's text with the constants of its size."""

    name: str
    problem: Path
    inspection: Inspection
    plan: PlanCandidate
    exported: str
    reference: str
    build_s: float


class Comparison:
    """Everything of one run of this tool. ``folder`` holds the files that KernelBench's processes read."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.target: Target = Target.HOST if options.device == "host" else options.arch
        self.size = "cpu" if options.device == "host" else "gpu"
        self.cache = Cache(options.cache)
        self.began = time.monotonic()

    def candidates(self, names: list[str]) -> dict[str, Candidates | str]:
        """Inspect in one process, build side by side; a name's words where it could not be made."""
        paths = [own_directory() / f"{name}.py" for name in names]
        inspections = inspect_many(paths, self.size)

        def one(item: tuple[str, Path, Inspection | Exception]) -> Candidates | str:
            name, path, inspection = item
            try:
                return self._candidate(name, path, inspection)
            except Exception as error:  # noqa: BLE001 - one that cannot be made must not stop the others
                return f"{type(error).__name__}: {error}"[:600]

        with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
            made = pool.map(one, zip(names, paths, inspections, strict=True))
            return dict(zip(names, made, strict=True))

    def _candidate(self, name: str, path: Path, inspection: Inspection | Exception) -> Candidates:
        if isinstance(inspection, Exception):
            raise inspection
        began = time.monotonic()
        program = translate(name, inspection, self.target).program
        emission = emit(check(parse(program), inspection.signature, self.target, POLICY))
        artifacts = self._build(emission)
        text = path.read_text("utf-8")
        binaries = {symbol: Path(file).read_bytes() for symbol, file in artifacts.items()}
        exported = export(emission, (name, name), text, inspection, binaries)
        reference = f"{text}\nglobals().update(SIZES[{self.size!r}])\n"
        plan = PlanCandidate(emission.plan, artifacts)
        return Candidates(name, path, inspection, plan, exported, reference, time.monotonic() - began)

    def _build(self, emission: Emission) -> dict[str, str]:
        report = build(emission, cache=self.cache, time_limit_s=BUILD_LIMIT_S)
        if report.outcome is not BuildOutcome.BUILT:
            raise RuntimeError(next(unit.log for unit in report.units if unit.outcome is report.outcome)[-400:])
        return {unit.symbol: str(self.cache.path(unit.artifact)) for unit in report.units if unit.artifact}

    def ours(
        self,
        problem: Path,
        inspection: Inspection,
        candidate: Candidate,
        baselines: tuple[BaselineKind, ...] = (),
        flush: FlushKind = "read",
    ) -> dict[str, Any]:
        """Our evaluation of one candidate, with as many rounds and timed calls as KernelBench has."""
        request = EvaluationRequest(
            problem_path=str(problem),
            size=inspection.size,
            signature=inspection.signature,
            candidate=candidate,
            device=self.options.device,
            tolerance=tolerance_for("kernelbench", inspection, POLICY, self.target),
            rounds=CORRECT_TRIALS,
            repeats=PERF_TRIALS,
            baselines=baselines,
            policy=POLICY,
            flush=flush,
        )
        return _row(evaluate(request))

    def kernelbench(
        self, name: str, reference: str, candidate: str, *, compiled: bool = False, tf32: bool = True
    ) -> dict[str, Any]:
        """KernelBench's evaluation, in a process of its own with a path of its own; ``tf32``: cuDNN may take it."""
        folder = self.folder / (name if tf32 else f"{name}_without_tf32")
        folder.mkdir(parents=True)
        files = {"reference": folder / "reference.py", "candidate": folder / "candidate.py"}
        files["reference"].write_text(reference, "utf-8")
        files["candidate"].write_text(candidate, "utf-8")
        task = {
            **{key: str(path) for key, path in files.items()},
            "kernelbench": str(self.options.kernelbench.absolute()),
            "more_paths": [path for path in self.options.kernelbench_path.split(os.pathsep) if path],
            "stand_in_for_a_card": self.options.device == "host",
            "correct_trials": CORRECT_TRIALS, "perf_trials": PERF_TRIALS,
            "build_dir": str(folder / "builds"), "compile": compiled, "tf32": tf32,
        }  # fmt: skip
        (folder / "task.json").write_text(json.dumps(task), "utf-8")
        with ClockWatch() as watch:
            answer = _child(folder)
        span = answer.get("candidate_span")
        return {**answer, "sm_clock_mhz": watch.median_mhz(*span) if span else None}


def _child(folder: Path) -> dict[str, Any]:
    """Run the task of a folder; what came of it, with the wall time of the whole process."""
    began = time.monotonic()
    script = str(Path(kernelbench_child.__file__))
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")}
    environment.pop("PYTHONPATH", None)
    try:
        ended = subprocess.run(
            [sys.executable, script, str(folder / "task.json"), str(folder / "result.json")],
            capture_output=True, text=True, cwd=folder, env=environment, timeout=CHILD_LIMIT_S, check=False,
        )  # fmt: skip
        said = (ended.stdout + ended.stderr)[-800:]
        code: int | str = ended.returncode
    except subprocess.TimeoutExpired:
        said, code = "", f"stopped after {CHILD_LIMIT_S:g} s"
    wall_s = time.monotonic() - began
    result = folder / "result.json"
    if not result.exists():
        return {"error": f"the process ended with {code}: {said}", "wall_s": wall_s}
    answer: dict[str, Any] = json.loads(result.read_text("utf-8"))
    return {**answer, "wall_s": wall_s}


def _row(evaluation: Evaluation) -> dict[str, Any]:
    """What goes into the report of one of our evaluations."""
    failed = [check.name for check in evaluation.checks if check.failed]
    times = {timing.subject: timing.median_s * 1e3 for timing in evaluation.baselines}
    own = evaluation.candidate
    lead_s = own.activity.lead_s if own and own.activity else None
    return {
        "outcome": evaluation.outcome.value, "detail": evaluation.detail[:500], "failed_checks": failed,
        "median_ms": own.median_s * 1e3 if own else None, "calls": own.count if own else None,
        "quartiles_ms": [own.q1_s * 1e3, own.q3_s * 1e3] if own else None, "lead_s": lead_s,
        "spent_s": evaluation.spent_s, "sm_clock_mhz": _clock(own),
        "baselines_ms": times, "wall_s": evaluation.wall_s,
        "machine": evaluation.machine.name if evaluation.machine else None,
        "isolation": evaluation.isolation.method if evaluation.isolation else None,
    }  # fmt: skip


def _clock(own: Timing | None) -> list[float] | None:
    """The lowest and highest clock that was read beside the candidate's calls."""
    clock = own.conditions.sm_clock if own and own.conditions else None
    return [clock.low, clock.high] if clock else None


def compare(run: Comparison, made: Candidates, *, compiled: bool) -> dict[str, Any]:
    """One problem through both sides: the file with L2 flushed by writing, as KernelBench does, the plan by reading."""
    kinds = (BaselineKind.EAGER, BaselineKind.COMPILE) if compiled else (BaselineKind.EAGER,)
    plan = run.ours(made.problem, made.inspection, made.plan)
    module = run.ours(made.problem, made.inspection, ModuleCandidate(made.exported), kinds, "write")
    theirs = run.kernelbench(made.name, made.reference, made.exported, compiled=compiled)
    row = {"build_s": made.build_s, "plan": plan, "module": module, "kernelbench": theirs, "compiled": compiled}
    if theirs.get("correct") is False:
        row["without_tf32"] = run.kernelbench(made.name, made.reference, made.exported, tf32=False)
    return row


def cheats(run: Comparison) -> dict[str, Any]:
    """The cheats through both sides: KernelBench's several at a time, as its verdicts count, then ours alone."""
    wanted = run.options.cheats or [cheat.name for cheat in CHEATS]
    card = run.options.device == "cuda"
    chosen = [cheat for cheat in CHEATS if cheat.name in wanted and (card or not cheat.card)]
    problems = sorted({cheat.problem_path for cheat in chosen})
    inspections = dict(zip(problems, inspect_many(problems, run.size), strict=True))

    def theirs(cheat: Cheat) -> dict[str, Any]:
        reference = cheat.problem_path.read_text("utf-8") + f"\nglobals().update(SIZES[{run.size!r}])\n"
        return run.kernelbench(f"cheat_{cheat.name}", reference, cheat.path.read_text("utf-8"))

    with ThreadPoolExecutor(CHILDREN) as pool:
        answers = list(pool.map(theirs, chosen))
    rows: dict[str, Any] = {}
    for cheat, answer in zip(chosen, answers, strict=True):
        inspection = inspections[cheat.problem_path]
        ours: dict[str, Any] = {
            "outcome": "not run",
            "detail": str(inspection),
            "failed_checks": [],
            "median_ms": None,
        }
        if isinstance(inspection, Inspection):
            ours = run.ours(cheat.problem_path, inspection, ModuleCandidate(cheat.path.read_text("utf-8")))
        rows[cheat.name] = {"words": cheat.words, "honest": cheat.honest, "ours": ours, "kernelbench": answer}
        print(cheat_line(cheat.name, rows[cheat.name]), flush=True)
    return rows


def line(name: str, row: dict[str, Any]) -> str:
    """One line of progress for a problem."""
    if "failure" in row:
        return f"{name:24} FAILED {row['failure'][:90]}"
    theirs = row["kernelbench"]
    words = theirs.get("error") or f"correct {theirs['correct']}, {theirs['runtime_ms']} ms"
    return f"{name:24} ours {row['plan']['outcome']}, {row['plan']['median_ms']} ms; KernelBench {words}"[:160]


def cheat_line(name: str, row: dict[str, Any]) -> str:
    """One line of progress for a cheat."""
    theirs = row["kernelbench"]
    words = theirs.get("error") or f"correct {theirs['correct']}"
    return f"{name:24} ours {row['ours']['outcome']} {row['ours']['failed_checks']}; KernelBench {words}"[:160]


def report_of(run: Comparison) -> dict[str, Any]:
    """Everything, written after each problem where a file is named."""
    options = run.options
    report: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(), "device": options.device,
        "correct_trials": CORRECT_TRIALS, "perf_trials": PERF_TRIALS, "policy": POLICY.value, "machine": None,
        "problems": {}, "cheats": {},
    }  # fmt: skip
    names = list(options.only or PROBLEMS)
    made = run.candidates(names)
    _warm(run, made)
    for name, one in made.items():
        late = time.monotonic() - run.began > options.seconds
        row: dict[str, Any] = {"failure": "not run: the time of this tool was over" if late else one}
        if not isinstance(one, str) and not late:
            row = compare(run, one, compiled=name in options.compile)
            report["machine"] = report["machine"] or row["plan"]["machine"]
        report["problems"][name] = row
        print(line(name, row), flush=True)
        _write(options.json, report)
    if not options.no_cheats and time.monotonic() - run.began < options.seconds:
        report["cheats"] = cheats(run)
        _write(options.json, report)
    return report


def _warm(run: Comparison, made: dict[str, Candidates | str]) -> None:
    """One evaluation that counts for nothing: a worker evaluates many, and the first one starts what is kept."""
    one = next((item for item in made.values() if not isinstance(item, str)), None)
    if one is not None:
        run.ours(one.problem, one.inspection, one.plan, (BaselineKind.EAGER,))


def _write(path: Path | None, report: dict[str, Any]) -> None:
    if path is not None:
        path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0 where every problem's file passes on both sides."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelbench", type=Path, help="KernelBench's source folder")
    parser.add_argument("--kernelbench-path", default="", help="more folders for its process alone, A:B")
    parser.add_argument("--device", choices=["cuda", "host"], default="cuda")
    parser.add_argument("--arch", type=Target, default=Target.SM90A)
    parser.add_argument("--cache", type=Path, default=Path("build/gpu"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="names of our problems")
    parser.add_argument("--compile", nargs="*", default=[], help="problems whose reference both sides compile too")
    parser.add_argument("--cheats", nargs="*", default=[], help="names of cheats")
    parser.add_argument("--no-cheats", action="store_true")
    parser.add_argument("--seconds", type=float, default=600.0, help="begin nothing more after so many seconds")
    parser.add_argument(
        "--markdown", type=Path, nargs="+", metavar="FILE", help="print the tables of reports, and do nothing else"
    )
    options = parser.parse_args(arguments)
    if options.markdown is not None:
        print(markdown(*(json.loads(file.read_text("utf-8")) for file in options.markdown)))
        return 0
    if options.kernelbench is None:
        parser.error("--kernelbench PATH/src is needed")
    options.cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kernelbench-") as folder:
        report = report_of(Comparison(options, Path(folder)))
    good = [
        row for row in report["problems"].values()
        if row.get("plan", {}).get("outcome") == "passed" and row["kernelbench"].get("correct")
    ]  # fmt: skip
    print(f"{len(good)} of {len(report['problems'])} pass both")
    return 0 if len(good) == len(report["problems"]) else 1


if __name__ == "__main__":
    sys.exit(main())
