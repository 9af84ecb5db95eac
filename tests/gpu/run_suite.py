"""Build the programs of ``programs`` and run them on a card, each in a process of its own, against float64.

    python -m tests.gpu.run_suite --build-only --cache DIR     # where nvcc is: writes DIR/<symbol>.so, DIR/<case>.json
    python -m tests.gpu.run_suite --cache DIR --json FILE      # where the card is: needs torch, and the folder

Where a case's files are missing, it is built first. One failing program does not stop the others. Cases that run
side by side take turns with the card: whatever one times, it has the card to itself.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import math
import statistics
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernels.locks import machine_lock
from tests.gpu.case import Case
from tests.gpu.pairs import WARMUP, Clock
from tests.gpu.programs import CASES

if TYPE_CHECKING:
    from kernels.dsl.ir import CheckedProgram
    from kernels.problems.inspection import Signature

BUILD_LIMIT_S = 600.0
RUN_LIMIT_S = 300.0
_LOCK = "suite"
"""What cases hold while they use the card: together to compare, alone to time."""
TORCH_TYPES = {
    "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32",
    "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
}  # fmt: skip


def build(case: Case, cache: Path) -> dict[str, Any]:
    """Check, generate and compile one case; its manifest is written and given back."""
    from kernels.codegen import emit
    from kernels.records import to_json
    from kernels.targets import Target
    from kernels.toolchain import nvcc

    emission = emit(check_case(case))
    builds = []
    compiler = nvcc.find(Target(case.target))
    for unit in emission.units:
        target = cache.absolute() / f"{unit.symbol}{ending(case)}"
        if target.exists():
            continue
        if compiler is None:
            raise RuntimeError(f"{target.name} is not in {cache.name}, and there is no nvcc")
        began = time.monotonic()
        result = compiler.compile(unit, target, BUILD_LIMIT_S)
        if result.outcome != "built":
            raise RuntimeError(f"{unit.symbol}: {result.outcome}\n{result.log[:4000]}")
        builds.append(
            {
                "symbol": unit.symbol,
                "seconds": round(time.monotonic() - began, 1),
                "warnings": list(result.warnings),
                "resources": [to_json(record) for record in result.resources],
            }
        )
    manifest = {"plan": to_json(emission.plan), "builds": builds}
    _manifest(case, cache).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return manifest


def ending(case: Case) -> str:
    """Of the file of a unit's shared object, behind its symbol: two targets may compile the same unit."""
    return ".so" if case.target == "sm_90a" else f".{case.target}.so"


def check_case(case: Case) -> CheckedProgram:
    """The case's program, checked for the signature that its tensors make."""
    from kernels.dsl.check import check
    from kernels.dsl.parser import parse
    from kernels.targets import Policy, Target

    return check(parse(case.text), signature_of(case), Target(case.target), Policy(case.policy))


def signature_of(case: Case) -> Signature:
    """What a problem with the case's tensors would look like."""
    from kernels.dsl.parser import parse
    from kernels.dtypes import DType
    from kernels.problems.inspection import Signature, TensorSpec

    inputs = tuple(TensorSpec(name, DType(dtype), shape) for name, (dtype, shape) in case.tensors.items())
    parameters = tuple(spec for spec in inputs if spec.name in case.parameters)
    program = parse(case.text)
    bound: dict[int | str, int] = {}
    for written in program.parameters:
        bound |= zip(written.type.shape, case.tensors[written.name][1], strict=True)
    outputs = tuple(
        TensorSpec(
            f"y{index}", DType(written.dtype), tuple(int(bound.get(extent, extent)) for extent in written.shape)
        )
        for index, written in enumerate(program.results)
    )
    return Signature(tuple(spec for spec in inputs if spec not in parameters), parameters, outputs, {})


def _manifest(case: Case, cache: Path) -> Path:
    return cache / f"{case.name}.json"


def run_case(case: Case, cache: Path) -> dict[str, Any]:
    """Run one case on the current card: its error against float64, and its time beside torch's."""
    import torch

    if not _manifest(case, cache).exists():
        build(case, cache)
    with machine_lock(False, name=_LOCK):
        runner, given, found = _checked(case, cache)
    with machine_lock(True, name=_LOCK):
        times = {"ms": time_ms(lambda: runner.run(once=False)), "baseline_ms": _baseline_ms(case, given)}
    return {**found, **times, "device": torch.cuda.get_device_name(), "torch": torch.__version__}


def _checked(case: Case, cache: Path) -> tuple[PlanRunner, dict[str, Any], dict[str, Any]]:
    """The case's runner, its tensors, and what comparing with float64 gave."""
    import torch

    plan = json.loads(_manifest(case, cache).read_text(encoding="utf-8"))["plan"]
    torch.manual_seed(len(case.name))
    given = {}
    for name, (dtype, shape) in case.tensors.items():
        scale = 1.0 / math.sqrt(math.sqrt(shape[-1])) if case.collective and len(shape) > 1 else 1.0
        given[name] = (torch.randn(shape, device="cuda") * scale).to(getattr(torch, TORCH_TYPES[dtype]))
    runner = PlanRunner(plan, given, cache, ending(case))
    runner.run(once=True)
    runner.run(once=False)
    torch.cuda.synchronize()
    output = joined(runner.outputs)
    exact = {name: tensor.double() for name, tensor in given.items()}
    reference = joined(case.reference(torch.nn.functional, **exact))
    if output.shape != reference.shape:
        raise RuntimeError(f"shape {tuple(output.shape)}, expected {tuple(reference.shape)}")
    error = float((output - reference).norm() / reference.norm())
    runner.run(once=False)
    torch.cuda.synchronize()
    found = {
        "error": error,
        "tolerance": case.tolerance,
        "worst": float((output - reference).abs().max() / reference.abs().max()),
        "passed": math.isfinite(error) and error <= case.tolerance,
        "repeats": bool(torch.equal(output, joined(runner.outputs))),
    }
    return runner, given, found


def joined(results: Any) -> Any:
    """One result in float64 as a copy of its own; several as one long row."""
    import torch

    if isinstance(results, torch.Tensor):
        results = (results,)
    if len(results) == 1:
        return results[0].to(torch.float64, copy=True)
    return torch.cat([result.double().reshape(-1) for result in results])


def _baseline_ms(case: Case, given: dict[str, Any]) -> float | None:
    import torch

    if not case.baseline:
        return None
    torch.backends.cuda.matmul.allow_tf32 = case.policy != "strict"
    native = {name: tensor.to(getattr(torch, case.baseline)) for name, tensor in given.items()}
    return time_ms(lambda: case.reference(torch.nn.functional, **native))


def time_ms(call: Any, rounds: int = 30) -> float:
    """Median of ``rounds`` single calls in milliseconds, after five to warm up, each behind a flush of L2."""
    clock = Clock()
    for _ in range(WARMUP):
        call()
    return statistics.median(clock.ms(call) for _ in range(rounds))


class PlanRunner:
    """Holds a plan's tensors on the card and launches its steps on torch's stream."""

    def __init__(self, plan: dict[str, Any], given: dict[str, Any], cache: Path, ending: str = ".so") -> None:
        import torch

        self.plan = plan
        self.tensors: dict[str, Any] = {}
        self.functions: dict[str, Any] = {}
        for value in plan["values"]:
            if value["storage"] == value["name"]:
                known = given.get(value["name"])
                self.tensors[value["name"]] = self._unwritten(value) if known is None else known
        for value in plan["values"]:
            if value["storage"] != value["name"]:
                base = self.tensors[value["storage"]]
                view = torch.as_strided(base, value["shape"], value["strides"], value["offset"])
                self.tensors[value["name"]] = view
        most = max((step["workspace_bytes"] for step in plan["steps"]), default=0)
        self.workspace = torch.empty(max(most, 1), dtype=torch.uint8, device="cuda")
        for step in plan["steps"]:
            library = ctypes.CDLL(str((cache / f"{step['symbol']}{ending}").resolve()))
            self.functions[step["symbol"]] = getattr(library, step["symbol"])

    def _unwritten(self, value: dict[str, Any]) -> Any:
        """Memory of a stage's result in its own layout, full of what no kernel writes."""
        import torch

        dtype = getattr(torch, TORCH_TYPES[value["dtype"]])
        fill = math.nan if dtype.is_floating_point else -1
        flat = torch.full((math.prod(value["shape"]),), fill, dtype=dtype, device="cuda")
        return flat.as_strided(value["shape"], value["strides"])

    @property
    def output(self) -> Any:
        """The first result."""
        return self.outputs[0]

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The results, in order."""
        return tuple(self.tensors[name] for name in self.plan["outputs"])

    def run(self, once: bool) -> None:
        """Launch the steps that run once, or those that run every time."""
        import torch

        stream = torch.cuda.current_stream().cuda_stream
        for step in self.plan["steps"]:
            if step["once"] != once:
                continue
            names = [*step["pointers"], *step["results"]]
            arguments: list[Any] = [ctypes.c_void_p(self.tensors[name].data_ptr()) for name in names]
            arguments += [ctypes.c_int64(size) for size in step["sizes"]]
            arguments += [ctypes.c_void_p(self.workspace.data_ptr()), ctypes.c_void_p(stream)]
            code = self.functions[step["symbol"]](*arguments)
            if code:
                raise RuntimeError(f"stage {step['stage']}: {step['symbol']} returned {code}")


def run_apart(case: Case, cache: Path, mode: str, limit_s: float) -> dict[str, Any]:
    """``--one CASE`` in a child process, whatever becomes of it."""
    began = time.monotonic()
    argv = [sys.executable, "-m", "tests.gpu.run_suite", "--one", case.name, "--cache", str(cache), "--mode", mode]
    try:
        child = subprocess.run(argv, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return {"passed": False, "failure": f"no answer within {limit_s:g} s"}
    lines = child.stdout.strip().splitlines()
    try:
        answer: dict[str, Any] = json.loads(lines[-1])
    except (IndexError, ValueError):
        answer = {"passed": False, "failure": f"exit status {child.returncode}: {child.stderr[-1500:]}"}
    answer["wall_s"] = round(time.monotonic() - began, 1)
    return answer


def one(case: Case, cache: Path, mode: str) -> dict[str, Any]:
    """What the child does; a failure is an answer too."""
    try:
        if mode == "build":
            manifest = build(case, cache)
            return {"passed": True, "builds": manifest["builds"]}
        return run_case(case, cache)
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs in the table
        return {
            "passed": False,
            "failure": f"{type(error).__name__}: {error}",
            "trace": traceback.format_exc()[-1500:],
        }


def row(name: str, answer: dict[str, Any]) -> str:
    """One line of the table."""
    if "failure" in answer:
        return f"{name:32} FAILED  {str(answer['failure']).strip().splitlines()[-1][:110]}"
    if "builds" in answer:
        done = ", ".join(f"{b['symbol']} {b['seconds']} s {len(b['warnings'])} warnings" for b in answer["builds"])
        return f"{name:32} built   {done or 'was there already'}"
    verdict = "passed" if answer["passed"] else "WRONG "
    beside = f"torch {answer['baseline_ms']:.4f} ms" if answer["baseline_ms"] else ""
    steady = "" if answer["repeats"] else "  not the same twice"
    return (
        f"{name:32} {verdict}  error {answer['error']:.2e} of {answer['tolerance']:.0e}"
        f"  {answer['ms']:.4f} ms  {beside}{steady}"
    )


def report_of(answers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The answers with the day, and the card and torch that they name themselves."""
    named = next((answer for answer in answers.values() if "device" in answer), {})
    rows = {
        name: {key: value for key, value in answer.items() if key not in ("device", "torch")}
        for name, answer in answers.items()
    }
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"date": today, "card": named.get("device"), "torch": named.get("torch"), "cases": rows}


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0 where every case passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="names of cases")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--mode", default="run", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.cache.mkdir(parents=True, exist_ok=True)
    if options.one:
        print(json.dumps(one(CASES[options.one], options.cache, options.mode)))
        return 0
    mode, limit_s = ("build", 2 * BUILD_LIMIT_S) if options.build_only else ("run", RUN_LIMIT_S)
    chosen = [case for case in CASES.values() if not options.only or case.name in options.only]
    answers = {}
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        for case, answer in zip(
            chosen, pool.map(lambda case: run_apart(case, options.cache, mode, limit_s), chosen), strict=True
        ):
            answers[case.name] = answer
            print(row(case.name, answer), flush=True)
            if options.json:
                options.json.write_text(json.dumps(report_of(answers), indent=1) + "\n", encoding="utf-8")
    passed = sum(bool(answer["passed"]) for answer in answers.values())
    print(f"{passed} of {len(answers)} passed")
    return 0 if passed == len(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
