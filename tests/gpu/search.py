"""A search of so many attempts on a card for each 4096³ product, with the product's own controller and proposer.

    python -m tests.gpu.search --cache DIR --json FILE [--attempts 20]
    python -m tests.gpu.search --cache DIR --json FILE --again FILE    # measure the fastest of an earlier report again

The searches run side by side, since building takes most of the time; measuring is one at a time. A candidate counts
once it agrees with float64; its time is taken beside torch's. What is reported of the fastest is measured when every
compiler has ended: beside busy cores torch's calls wait for their launches, and ratios come out too good.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.controllers import controller
from agent.proposers import proposer
from agent.steps import (
    Ask,
    Asked,
    Evaluate,
    Event,
    Finish,
    Measured,
    Started,
    Submitted,
    TrajectorySettings,
)  # fmt: skip
from kernels.harness.evaluation import Outcome
from kernels.problems.inspection import Signature
from kernels.targets import Policy, Target
from tests.gpu.bench import measure
from tests.gpu.figures import FIGURES, PRODUCTS, Figure
from tests.gpu.pairs import ROUNDS, Clock
from tests.gpu.run_suite import build, signature_of

AGAIN, AGAIN_ROUNDS = 3, 200
"""How many of the fastest attempts are measured once more, and in how many rounds."""
_PEAK = {"f16": 989e12, "bf16": 989e12, "f32": 494e12}
"""Dense tensor-core FLOP/s of an H100 SXM (its datasheet); it only tells the controller how far there is to go."""


class Searching:
    """One figure's search: its history, and what was measured. ``card`` is held by whoever measures."""

    def __init__(self, figure: Figure, cache: Path, clock: Clock, card: threading.Lock, attempts: int) -> None:
        self.figure = figure
        self.cache = cache
        self.clock = clock
        self.card = card
        self.settings = TrajectorySettings("tree", "search", attempts, None, None, True, 1)
        self.rows: list[dict[str, Any]] = []

    def run(self, until: float) -> None:
        """Search until the attempts are spent or the monotonic clock says ``until``."""
        history: list[Event] = [self._started()]
        while time.monotonic() < until:
            step = controller(self.settings.controller).next_step(self.settings, tuple(history))
            if isinstance(step, Finish):
                break
            if isinstance(step, Ask):
                history.append(Asked(step))
                answer = proposer(self.settings.proposer).answer(self.settings, tuple(history), step)
                history.append(answer)
            else:
                history += [Submitted(step.number, step.candidate), self._measured(step)]

    def report(self) -> dict[str, Any]:
        """What was tried, and the fastest few measured again for longer: one lucky round must not choose."""
        again = [self._row(int(row["attempt"]), str(row["program"]), AGAIN_ROUNDS) for row in self.fastest()]
        best = max((row for row in again if "ratio" in row), key=lambda row: float(row["ratio"]), default=None)
        return {"attempts": self.rows, "again": again, "best": best}

    def build_again(self, rows: list[dict[str, Any]]) -> None:
        """Take the attempts of an earlier report for this search's own; the fastest are built."""
        self.rows = rows
        for row in self.fastest():
            build(self._figure(int(row["attempt"]), str(row["program"])).case, self.cache)

    def fastest(self) -> list[dict[str, Any]]:
        """The few attempts that are measured once more."""
        return sorted((row for row in self.rows if "ratio" in row), key=lambda row: float(row["ours_ms"]))[:AGAIN]

    def _figure(self, number: int, program: str) -> Figure:
        name = f"{self.figure.case.name}_{number}"
        return replace(self.figure, case=replace(self.figure.case, name=name, text=program))

    def _started(self) -> Started:
        case = self.figure.case
        m, n = case.tensors["a"][1][0], case.tensors["b"][1][0]
        sol_s = 2.0 * m * n * case.tensors["a"][1][1] / _PEAK[self.figure.dtype]
        signature: Signature = signature_of(case)
        return Started(
            case.name, signature, Target.SM90A, Policy(case.policy), case.text, sol_s, sol_s, "compute", 1
        )  # fmt: skip

    def _measured(self, step: Evaluate) -> Measured:
        row = self._row(step.number, step.candidate.text)
        self.rows.append({**row, "change": step.candidate.change})
        if "ratio" not in row:
            return Measured(step.number, Outcome.BUILD_ERROR, row["failure"], None, None)
        return Measured(step.number, Outcome.PASSED, "", row["ours_ms"] / 1e3, row["baseline_ms"] / 1e3)

    def _row(self, number: int, program: str, rounds: int = ROUNDS) -> dict[str, Any]:
        figure = self._figure(number, program)
        try:
            build(figure.case, self.cache)
            with self.card:
                row = measure(figure, self.cache, self.clock, rounds)
        except Exception as error:  # noqa: BLE001 - a candidate may fail in any way, and the search goes on
            row = {"failure": f"{type(error).__name__}: {error}"[:300]}
        return {"attempt": number, "program": program, **row}


def earlier(report: Path, names: Iterable[str]) -> list[list[dict[str, Any]]]:
    """The attempts of each search of an earlier report."""
    searches = json.loads(report.read_text(encoding="utf-8"))["searches"]
    return [searches[name]["attempts"] for name in names]


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0 where every search found a right kernel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--attempts", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=3600.0, help="no attempt begins later than this")
    parser.add_argument("--again", type=Path, help="an earlier report, whose fastest attempts are measured again")
    parser.add_argument("--only", nargs="*", default=[], help="names of figures")
    options = parser.parse_args(arguments)
    options.cache.mkdir(parents=True, exist_ok=True)
    import torch

    torch.backends.cuda.matmul.allow_tf32 = True
    clock, card, until = Clock(), threading.Lock(), time.monotonic() + options.seconds
    chosen = options.only or [figure.case.name for figure in PRODUCTS]
    searches = {
        name: Searching(FIGURES[name], options.cache, clock, card, options.attempts) for name in chosen
    }  # fmt: skip
    with ThreadPoolExecutor(len(searches)) as pool:
        if options.again:
            list(pool.map(Searching.build_again, searches.values(), earlier(options.again, searches)))
        else:
            list(pool.map(lambda search: search.run(until), searches.values()))
    found = {name: search.report() for name, search in searches.items()}
    report = {"card": torch.cuda.get_device_name(), "torch": torch.__version__, "searches": found}
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for name, search in found.items():
        best = search["best"] or {}
        shown = f"{best['ratio']:.3f}" if "ratio" in best else "none right"
        print(f"{name:24} {len(search['attempts'])} attempts, best {shown}", flush=True)
        print("   " + best.get("program", "").replace("\n", " ")[:200])
    return 0 if all(search["best"] for search in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
