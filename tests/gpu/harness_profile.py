"""Profile a GEMM and an elementwise kernel on this card, and check that the figures fit together.

    python -m tests.gpu.harness_profile --cache DIR --out DIR [--json FILE]

Builds what is not in the cache (the GEMM takes half a minute), then takes three profiles of about 10 s each. For each,
``--out`` gets the profiler's own table (``NAME.csv``), the record (``NAME.json``), the words (``NAME.txt``) and the
report (``NAME.ncu-rep``). Exit status 1 where something does not fit, and where this machine gives no counters.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernels import childprocess
from kernels.childprocess import ChildLimits
from kernels.codegen.emission import Plan
from kernels.harness import isolation
from kernels.harness.evaluation import PlanCandidate
from kernels.profiling import ncu, profile
from kernels.profiling.digest import digest
from kernels.profiling.record import FIXED, FULL, Profile, ProfileOutcome, ProfileRequest
from kernels.records import from_json, to_json
from tests.gpu import run_suite
from tests.gpu.case import Case, one_stage
from tests.gpu.programs import LINEAR

SIDE = 8192
COPY = one_stage(
    "relu_8192", "map(relu(x))", {"x": ("f32", (SIDE, SIDE))}, f"f32[{SIDE}, {SIDE}]",
    lambda nn, x: nn.relu(x),
)  # fmt: skip
MOVED_BYTES = 4 * SIDE * SIDE
"""Read once and written once: five times the largest L2 that these cards have."""
PROFILES = (("gemm", LINEAR, FIXED), ("copy", COPY, FIXED), ("copy_full", COPY, FULL))


def request_for(case: Case, cache: Path, metric_set: str, report: Path) -> ProfileRequest:
    """What the harness would ask for this program."""
    manifest = json.loads((cache / f"{case.name}.json").read_text("utf-8"))
    plan = from_json(manifest["plan"], Plan)
    symbols = {step.symbol for step in plan.steps if step.kind == "launch"}
    artifacts = {symbol: str((cache / f"{symbol}{run_suite.ending(case)}").absolute()) for symbol in symbols}
    return ProfileRequest(
        problem_path="", size="default", signature=run_suite.signature_of(case),
        candidate=PlanCandidate(plan, artifacts), device="cuda", metric_set=metric_set, report=str(report),
    )  # fmt: skip


def keep_raw(report: Path, folder: Path, name: str) -> None:
    """The profiler's table as it prints it, to make a fixture of."""
    tool = ncu.find()
    if tool is not None and report.exists():
        result = childprocess.run(
            ncu.show(tool, report), limits=ChildLimits(seconds=60, output_bytes=2**26),
            environment=childprocess.clean_environment(ncu.environment(folder)),
        )  # fmt: skip
        (folder / f"{name}.csv").write_text(result.stdout + result.stderr, "utf-8")


def keep_plain(folder: Path, name: str) -> None:
    """What the profiler says about the simplest thing there is, to tell our mistakes from the machine's."""
    tool = ncu.find()
    if tool is not None:
        simple = [sys.executable, "-c", "import torch; torch.zeros(1000, device='cuda').add_(1)"]
        result = childprocess.run(
            [tool.path, "--launch-count", "2", "--metrics", "gpu__time_duration.sum", *simple],
            limits=ChildLimits(seconds=60), environment=childprocess.python_environment(ncu.environment(folder)),
        )  # fmt: skip
        (folder / f"{name}.log").write_text(result.stdout + result.stderr, "utf-8")


def longest(found: Profile) -> Any:
    """The launch that takes the most time."""
    return max(found.kernels, key=lambda kernel: kernel.duration_s or 0.0)


def checks(name: str, found: Profile) -> list[tuple[str, bool, Any]]:
    """What must hold of one profile: the name of the check, whether it holds, what was seen."""
    if found.outcome is not ProfileOutcome.MEASURED:
        return [("measured", False, f"{found.reason}: {found.detail}")]
    kernel = longest(found)
    missing = sorted(set(kernel.missing))
    told = [
        ("a duration", bool(kernel.duration_s), kernel.duration_s),
        ("own by symbol", kernel.own and kernel.origin == "symbol", [kernel.own, kernel.origin, kernel.name[:80]]),
        ("few metrics missing", len(missing) <= 8, missing),
        ("a limit of occupancy", bool(kernel.occupancy.limiters), list(kernel.occupancy.limiters)),
        ("stalls add up", 0.8 <= sum(s.share or 0.0 for s in kernel.stalls) <= 1.2,
         sum(s.share or 0.0 for s in kernel.stalls)),
        ("words", bool(digest(found)), [line.words for line in digest(found)]),
        ("a report kept", bool(found.report_bytes), found.report_bytes),
    ]  # fmt: skip
    if name == "gemm":
        told += [
            ("tensor pipe works", (kernel.pipes.tensor_pct or 0.0) > 20.0, kernel.pipes.tensor_pct),
            ("compute above memory", _above(kernel.speed.compute_pct, kernel.speed.memory_pct),
             [kernel.speed.compute_pct, kernel.speed.memory_pct]),
            ("work at load is not in it", len(found.kernels) == 2, [one.name[:60] for one in found.kernels]),
        ]  # fmt: skip
    else:
        read, written = kernel.memory.dram_read_bytes, kernel.memory.dram_write_bytes
        told += [
            ("reads what it must", 0.9 <= (read or 0.0) / MOVED_BYTES <= 1.2, read),
            # What is still in L2 at the end is written later.
            ("writes what it must", 0.6 <= (written or 0.0) / MOVED_BYTES <= 1.2, written),
            ("no tensor pipe", kernel.pipes.tensor_pct == 0.0, kernel.pipes.tensor_pct),
            ("memory above compute", _above(kernel.speed.memory_pct, kernel.speed.compute_pct),
             [kernel.speed.memory_pct, kernel.speed.compute_pct]),
            ("nothing spilled", kernel.memory.local_load_bytes == 0.0, kernel.memory.local_load_bytes),
        ]  # fmt: skip
    return told


def _above(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and one > other


def run(name: str, case: Case, metric_set: str, cache: Path, out: Path) -> dict[str, Any]:
    """One profile with its checks; where the sandbox is in the way, that is said and it is tried without."""
    report = out / f"{name}.ncu-rep"
    asked = request_for(case, cache, metric_set, report)
    found = profile(asked)
    if found.outcome is not ProfileOutcome.MEASURED:
        print(f"{name}: in the sandbox: {found.reason}: {found.detail}", flush=True)
        found = profile(replace(asked, isolation=isolation.PROCESS))
        if found.outcome is not ProfileOutcome.MEASURED:
            keep_plain(out, name)
    keep_raw(report, out, name)
    (out / f"{name}.json").write_text(json.dumps(to_json(found), indent=1), "utf-8")
    (out / f"{name}.txt").write_text("\n".join(line.words for line in digest(found)) + "\n", "utf-8")
    told = checks(name, found)
    for check, passed, seen in told:
        print(f"{name}: {check}: {'passed' if passed else 'FAILED'} {seen}", flush=True)
    return {
        "case": name,
        "passed": all(passed for _, passed, _ in told),
        "seconds": round(found.wall_s, 1),
        "checks": {check: {"passed": passed, "seen": seen} for check, passed, seen in told},
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--build-only", action="store_true")
    options = parser.parse_args()
    for folder in (options.cache, options.out):
        folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda case: run_suite.build(case, options.cache), (LINEAR, COPY)))
    print(f"built in {time.monotonic() - began:.0f} s", flush=True)
    if options.build_only:
        return 0
    out = options.out.absolute()
    results = [run(name, case, kind, options.cache, out) for name, case, kind in PROFILES]
    if options.json:
        options.json.write_text(json.dumps({"tool": str(ncu.find()), "cases": results}, indent=1), "utf-8")
    print(f"{sum(one['passed'] for one in results)} of {len(results)} passed in {time.monotonic() - began:.0f} s")
    return 0 if all(one["passed"] for one in results) else 1


if __name__ == "__main__":
    sys.exit(main())
