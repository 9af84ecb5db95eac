"""The figures of ``figures``, measured on this card in one run, as ratios.

    python -m tests.gpu.bench --cache DIR --json FILE [--only NAME ...]

Programs are built in parallel first. Each is compared with float64 before it is timed; one that is wrong has no ratio.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.gpu import run_suite
from tests.gpu.figures import FIGURES, WIDE, Figure
from tests.gpu.pairs import ROUNDS, Clock


def built(figure: Figure, cache: Path) -> str:
    """Build it; why it could not be, or nothing."""
    try:
        run_suite.build(figure.case, cache)
    except Exception as error:  # noqa: BLE001 - one that cannot be built must not stop the others
        return f"{type(error).__name__}: {error}"[:600]
    return ""


def tensors(figure: Figure) -> dict[str, Any]:
    """Fresh operands, scaled so that products stay near one."""
    import torch

    given = {}
    for name, (dtype, shape) in figure.case.tensors.items():
        scale = shape[-1] ** -0.25 if figure.case.collective and len(shape) > 1 else 1.0
        tensor = (torch.randn(shape, device="cuda") * scale).to(getattr(torch, run_suite.TORCH_TYPES[dtype]))
        given[name] = tensor
    return given


def relative_error(figure: Figure, output: Any, given: dict[str, Any]) -> float:
    """Against float64, as a Frobenius norm over the reference's."""
    import torch

    exact = {name: tensor.double() for name, tensor in given.items()}
    reference = figure.case.reference(torch.nn.functional, **exact).double()
    return float((output.double() - reference).norm() / reference.norm())


def copy_bandwidth(clock: Clock) -> float:
    """Bytes a second of a copy of 256 MB on the card, read and written ones counted."""
    import torch

    source, target = (torch.empty(WIDE, dtype=torch.uint8, device="cuda") for _ in range(2))
    pair = clock.pair(lambda: target.copy_(source), lambda: target.copy_(source))
    return 2 * WIDE / pair.ours_ms * 1e3


def measure(figure: Figure, cache: Path, clock: Clock, rounds: int = ROUNDS) -> dict[str, Any]:
    """One figure's row."""
    import torch

    case = figure.case
    torch.manual_seed(len(case.name))
    given = tensors(figure)
    plan = json.loads((cache / f"{case.name}.json").read_text(encoding="utf-8"))["plan"]
    runner = run_suite.PlanRunner(plan, given, cache, run_suite.ending(case))
    runner.run(once=True)
    runner.run(once=False)
    torch.cuda.synchronize()
    error = relative_error(figure, runner.output, given)
    row: dict[str, Any] = {"goal": figure.goal, "against": figure.against, "error": error}
    if not (math.isfinite(error) and error <= case.tolerance):
        return {**row, "failure": f"wrong: error {error:.2e}, allowed {case.tolerance:.0e}"}
    if figure.against == "torch":
        native = _native(figure, given)
        pair = clock.pair(
            lambda: runner.run(once=False), lambda: case.reference(torch.nn.functional, **native), rounds
        )
        return {**row, **asdict(pair)}
    moved = sum(tensor.numel() * tensor.element_size() for tensor in (*given.values(), runner.output))
    copied = torch.empty(2, WIDE, dtype=torch.uint8, device="cuda")
    pair = clock.pair(lambda: runner.run(once=False), lambda: copied[0].copy_(copied[1]), rounds)
    # The copy moves 2 · WIDE bytes: scale its time to the bytes that this program must move.
    share = moved / (2 * WIDE)
    return {**row, "ours_ms": pair.ours_ms, "baseline_ms": pair.baseline_ms * share, "ratio": pair.ratio * share}


def _native(figure: Figure, given: dict[str, Any]) -> dict[str, Any]:
    import torch

    if not figure.channels_last:
        return given
    wanted = {4: torch.channels_last, 5: torch.channels_last_3d}
    return {
        name: tensor.contiguous(memory_format=wanted[tensor.dim()]) if tensor.dim() in wanted else tensor
        for name, tensor in given.items()
    }


def line(name: str, row: dict[str, Any]) -> str:
    """One line of the table."""
    if "failure" in row:
        return f"{name:28} FAILED {row['failure'][:90]}"
    met = "met" if row["ratio"] >= row["goal"] else "not met"
    times = f"{row['ours_ms']:.4f} ms against {row['baseline_ms']:.4f} ms ({row['against']})"
    return f"{name:28} {row['ratio']:.3f} of {row['goal']:.2f} {met:8} {times}"


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0 where every figure was measured, whether its goal is met or not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="names of figures")
    options = parser.parse_args(arguments)
    options.cache.mkdir(parents=True, exist_ok=True)
    chosen = {name: figure for name, figure in FIGURES.items() if not options.only or name in options.only}
    with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        broken = dict(
            zip(chosen, pool.map(lambda figure: built(figure, options.cache), chosen.values()), strict=True)
        )
    import torch

    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    clock = Clock()
    bandwidth = copy_bandwidth(clock)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    report: dict[str, Any] = {
        "card": torch.cuda.get_device_name(), "torch": torch.__version__, "date": today,
        "copy_bytes_per_s": bandwidth, "figures": {},
    }  # fmt: skip
    print(f"{report['card']}, a copy moves {bandwidth / 1e9:.0f} GB/s", flush=True)
    for name, figure in chosen.items():
        row = {"failure": broken[name]} if broken[name] else _guarded(figure, options.cache, clock)
        report["figures"][name] = row
        print(line(name, row), flush=True)
        if options.json:
            options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if any("failure" in row for row in report["figures"].values()) else 0


def _guarded(figure: Figure, cache: Path, clock: Clock) -> dict[str, Any]:
    try:
        return measure(figure, cache, clock)
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs in the table
        return {"failure": f"{type(error).__name__}: {error}"[:600]}


if __name__ == "__main__":
    sys.exit(main())
