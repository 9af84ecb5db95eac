"""``make bench``: every problem of ours on this machine, its translated program beside torch eager in one call each.

Ratios of one run are what counts; absolute times are this machine's and this minute's. Arguments choose problems by
a part of their file name. The numbers also go to build/bench.json.

The overhead of an evaluation is its wall time, with servers that are warm, less what passed in the problem's own code
(loading, weights, inputs, the reference in both precisions), in calls of the candidate and in calls of each baseline,
and less what was waited for builds and timings of others.
Building is no part of an evaluation. What is left is the harness: processes, sandboxes, copies, comparisons, locks.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from kernels.codegen import emit
from kernels.dsl import check, parse
from kernels.harness import evaluate, isolation, warm
from kernels.harness.evaluation import EAGER, EvaluationRequest, PlanCandidate
from kernels.harness.problem_tolerance import tolerance_for
from kernels.problems.files import find_problems, own_directory
from kernels.problems.inspect import inspect
from kernels.targets import Policy, Target
from kernels.toolchain import Cache, build
from kernels.translate import translate
from mucutlass_web.cli.commands import cache
from mucutlass_web.cli.peaks import device_named
from sol.bounds import Device, bound, count


def measure(path: Path, store: Cache, device: Device) -> dict[str, Any]:
    """One problem: what became of it, its times in milliseconds, its ratios."""
    inspection = inspect(path, "cpu")
    program = translate(path.stem, inspection, Target.HOST).program
    emission = emit(check(parse(program), inspection.signature, Target.HOST, Policy.STRICT))
    began = time.perf_counter()
    report = build(emission, cache=store)
    built = time.perf_counter() - began
    artifacts = {unit.symbol: str(store.path(unit.artifact)) for unit in report.units if unit.artifact}
    began = time.perf_counter()
    evaluation = evaluate(
        EvaluationRequest(
            problem_path=str(path),
            size="cpu",
            signature=inspection.signature,
            candidate=PlanCandidate(emission.plan, artifacts),
            device="host",
            tolerance=tolerance_for("strict", inspection, Policy.STRICT, Target.HOST),
        )
    )
    took = time.perf_counter() - began
    bounds = bound(count(inspection), inspection, device, Policy.STRICT)
    ours, eager = evaluation.candidate, evaluation.baseline(EAGER)
    return {
        "problem": path.stem,
        "outcome": evaluation.outcome.value,
        "ms": ours.median_s * 1e3 if ours else None,
        "eager_ms": eager.median_s * 1e3 if eager else None,
        "speedup": evaluation.speedup(EAGER),
        "gap": ours.median_s / bounds.steering_s if ours else None,
        "build_s": built,
        "evaluate_s": took,
        "spent_s": evaluation.spent_s,
        "overhead_s": evaluation.overhead_s,
        "warm": evaluation.isolation.warm if evaluation.isolation else None,
        "library_share": evaluation.library_share,
    }


def main(wanted: list[str]) -> None:
    """Measure the problems whose names hold one of ``wanted``, or all."""
    store, device, rows = cache(), device_named("host"), []
    rate, copy = device.matrix_flops["f32"] / 1e9, device.copy_bytes_s / 1e9
    print(f"{device.name}; f32 {rate:.0f} GFLOP/s, copy {copy:.1f} GB/s")
    # They import torch while the first program is built.
    warm.servers(isolation.probe(), "host")
    print("| problem | outcome | ms | eager ms | × eager | gap | build s | evaluate s | of it overhead s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for found in find_problems(own_directory()):
        if wanted and not any(part in found.name for part in wanted):
            continue
        row = measure(found.path, store, device)
        rows.append(row)
        keys = ("ms", "eager_ms", "speedup", "gap", "build_s", "evaluate_s", "overhead_s")
        numbers = [row[key] for key in keys]
        cells = ["–" if number is None else f"{number:.3g}" for number in numbers]
        print(f"| {row['problem']} | {row['outcome']} | {' | '.join(cells)} |", flush=True)
    speedups = [row["speedup"] for row in rows if row["speedup"]]
    if speedups:
        mean = math.exp(sum(math.log(value) for value in speedups) / len(speedups))
        print(f"geomean over torch eager: {mean:.2f}× of {len(speedups)} problems that passed, {len(rows)} in all")
    overheads = sorted(row["overhead_s"] for row in rows if row["warm"] and row["overhead_s"] is not None)
    if overheads:
        middle, most = statistics.median(overheads), overheads[-1]
        print(f"overhead of an evaluation: median {middle:.2f} s, most {most:.2f} s, of {len(overheads)} warm ones")
    target = Path("build/bench.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({"device": device.name, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
