"""What an attempt costs beside its proposer, its build and its evaluation: one run through the whole running stack.

    python -m tests.bench.engine [--attempts 12] [--problem own/17] [--json FILE]

``serve`` runs in a state folder of its own with its workers, queue and database. Of the time from one attempt's end to
the next one's, what the proposer took, the build's seconds and the evaluation's wall time are subtracted; what is left
is the engine: jobs, messages, rows, controller, starting and settling. The seconds are this machine's.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.stack.stack import LAUNCH, Stack

_WAIT_S = 900.0
_READ = """
run = Run.objects.get(pk={run})
rows = []
for attempt in Attempt.objects.filter(trajectory__run=run).select_related("build", "evaluation").order_by("number"):
    own = Job.objects.filter(attempt=attempt, state="done")
    asks = Job.objects.filter(trajectory=attempt.trajectory, kind="ask", state="done")
    rows.append({{
        "number": attempt.number, "outcome": attempt.outcome, "finished": attempt.finished.timestamp(),
        "build_s": attempt.build.seconds if attempt.build else 0.0,
        "evaluation_s": attempt.evaluation.record["wall_s"] if attempt.evaluation else 0.0,
        "asks": [[job.claimed.timestamp(), job.finished.timestamp()] for job in asks],
        "jobs": {{job.kind: (job.finished - job.claimed).total_seconds() for job in own}},
    }})
answer = rows
"""


def overheads(rows: list[dict[str, Any]]) -> list[float]:
    """Seconds of the engine for each attempt but the first, from the rows of one trajectory in order."""
    found = []
    for before, row in itertools.pairwise(rows):
        begin, end = before["finished"], row["finished"]
        asked = sum(max(0.0, min(end, b) - max(begin, a)) for a, b in row["asks"])
        found.append(end - begin - row["build_s"] - row["evaluation_s"] - asked)
    return found


def measure(state: Path, problem: str, attempts: int) -> dict[str, Any]:
    """One run of ``attempts`` on one problem."""
    stack = Stack(state)
    stack.start()
    try:
        run = stack.ask(LAUNCH.format(slugs=[problem], attempts=attempts))
        stack.wait_for(f"select state in ('done', 'failed') from runs_run where id = {run}", _WAIT_S, every=1.0)
        rows = stack.ask(_READ.format(run=run))
    finally:
        stack.stop()
    spent = overheads(rows)
    inside = {kind: statistics.median(row["jobs"][kind] for row in rows if kind in row["jobs"])
              for kind in ("build", "evaluate")}  # fmt: skip
    return {
        "problem": problem, "attempts": len(rows), "passed": sum(row["outcome"] == "passed" for row in rows),
        "overhead_s": [round(value, 4) for value in spent],
        "median_s": statistics.median(spent) if spent else None, "job_s": inside, "rows": rows,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=12)
    parser.add_argument("--problem", default="own/17")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="engine-") as folder:
        report = measure(Path(folder) / "var", options.problem, options.attempts)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    median = "not measured" if report["median_s"] is None else f"{report['median_s'] * 1e3:.0f} ms"
    print(f"{report['attempts']} attempts, {report['passed']} passed; engine an attempt, median {median}")
    print(", ".join(f"{value * 1e3:.0f}" for value in report["overhead_s"]), "ms")
    return 0 if report["median_s"] is not None else 1


if __name__ == "__main__":
    sys.exit(main())
