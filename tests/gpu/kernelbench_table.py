"""From the report of ``kernelbench_compare`` to Markdown. Text alone: what a report lacks is a dash here."""

from __future__ import annotations

import statistics
from typing import Any

GOAL_RATIO, GOAL_WALL = 0.05, 0.5


def markdown(report: dict[str, Any], *others: dict[str, Any]) -> str:
    """The whole page; ``others`` have what the first report lacks: a card is not always had for long enough."""
    parts = [_head(report), _problems(report)]
    for one in (report, *others):
        if one["cheats"]:
            parts.append(_cheats(one))
    return "\n".join(parts)


def _head(report: dict[str, Any]) -> str:
    stand_in = report["device"] == "host"
    warning = (
        "\n**A trial of the tool without a card: torch.cuda was stood in for; no time in here means anything.**\n"
    )
    return f"""# Beside KernelBench's own evaluation

{report["date"]} · {report["machine"] or "machine not known"} · {report["correct_trials"]} correctness trials and \
{report["perf_trials"]} timed calls on both sides
{warning if stand_in else ""}
Each program was exported as `ModelNew` with its shared objects embedded, so that no evaluation compiles it. *Ours* is
one `evaluate` of a worker that has evaluated before, torch eager as its baseline. *KernelBench's* is one process that
imports, runs `eval_kernel_against_ref` and times the reference in eager mode: what its `run_and_check` does, without
torch.compile except where a row says so. Before each call of the file both empty L2 by writing, so that the call pays
for what L2 then writes back; the plan stands beside it as we time by default, behind a flush that reads. KernelBench's
evaluation ends at the first wrong trial: of a file that is wrong only beside a reference in TF32, times and wall are
those of the evaluation without TF32. Clocks are the multiprocessors': ours the lowest and highest read between the
calls, KernelBench's the median while it timed the file. Repeat it with `python -m tests.gpu.kernelbench_compare`.
"""


def _problems(report: dict[str, Any]) -> str:
    names = (
        "problem", "ours", "KernelBench", "plan behind reads, ms", "file, ms", "KernelBench, ms", "KernelBench / file",
        "our clock, MHz", "KernelBench's, MHz", "our wall, s", "KernelBench's, s", "ours / KernelBench's",
    )  # fmt: skip
    rows = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    ratios, walls, notes = [], [], []
    for name, row in report["problems"].items():
        if "failure" in row:
            rows.append(f"| {name} | not made: {_cell(row['failure'])} | – | – | – | – | – | – | – | – | – | – |")
            continue
        theirs, plan, module = row["kernelbench"], row["plan"], row["module"]
        # An evaluation that ends at the first wrong trial times nothing: what counts is the one that goes to its end.
        whole = row.get("without_tf32") or theirs
        median = _median(whole.get("candidate_ms"))
        ratio = _over(median, module["median_ms"]) if whole.get("correct") else None
        wall = _over(module["wall_s"], whole["wall_s"])
        ratios += [ratio] if ratio is not None else []
        walls += [wall] if wall is not None and not row["compiled"] else []
        name = f"{name}, with torch.compile" if row["compiled"] else name
        times = " | ".join(map(_number, (plan["median_ms"], module["median_ms"], median, ratio)))
        verdicts = f"{plan['outcome']}, {module['outcome']} | {_verdict(theirs)}"
        clocks = f"{_span(module.get('sm_clock_mhz'))} | {_span(_twice(whole.get('sm_clock_mhz')))}"
        took = " | ".join(map(_number, (module["wall_s"], whole["wall_s"], wall)))
        rows.append(f"| {name} | {verdicts} | {times} | {clocks} | {took} |")
        notes += _without_tf32(name, row)
    return "\n".join([*rows, "", *_goals(ratios, walls), *notes, ""])


def _twice(clock: float | None) -> list[float] | None:
    return None if clock is None else [clock, clock]


def _span(clock: list[float] | None) -> str:
    """Lowest to highest, or one where they are the same."""
    if clock is None:
        return "–"
    low, high = clock
    return f"{low:.0f}" if low == high else f"{low:.0f}–{high:.0f}"


def _without_tf32(name: str, row: dict[str, Any]) -> list[str]:
    """What KernelBench says of a file that it called incorrect, once its reference computes without TF32."""
    again = row.get("without_tf32")
    if again is None:
        return []
    seen = row["kernelbench"]["metadata"].get("max_difference", "not said")
    there = again.get("metadata", {}).get("max_difference", "within its tolerance")
    return [
        f"{name} is {_verdict(row['kernelbench'])} to KernelBench: the largest differences from its reference are "
        f"{_cell(seen)}. With TF32 off in cuDNN, which torch has on by default, the same file is {_verdict(again)} "
        f"({_cell(there)})."
    ]


def _goals(ratios: list[float], walls: list[float]) -> list[str]:
    lines = []
    if ratios:
        near = sum(abs(ratio - 1) <= GOAL_RATIO for ratio in ratios)
        lines.append(
            f"{near} of {len(ratios)} files are as fast by KernelBench's clock as by ours within "
            f"{GOAL_RATIO:.0%}; the median ratio is {statistics.median(ratios):.3f}."
        )
    if walls:
        quick = sum(wall <= GOAL_WALL for wall in walls)
        lines.append(
            f"In {quick} of {len(walls)} rows without torch.compile our evaluation takes at most half of "
            f"KernelBench's wall time; the median share is {statistics.median(walls):.2f}."
        )
    return lines


def _cheats(report: dict[str, Any]) -> str:
    rows = [
        "## What each catches",
        "",
        f"{report['date']} · {report['machine'] or 'machine not known'}",
        "",
        "| candidate | what it does | ours | KernelBench's evaluation | its static checker |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, row in report["cheats"].items():
        ours = row["ours"]
        words = ours["outcome"].replace("_", " ")
        if ours["failed_checks"]:
            words += f" ({', '.join(ours['failed_checks'])})"
        elif ours["median_ms"] is not None:
            words += f", {_number(ours['median_ms'])} ms"
        theirs = row["kernelbench"]
        rows.append(f"| {name} | {_cell(row['words'])} | {words} | {_cheat_verdict(theirs)} | {_static(theirs)} |")
    return "\n".join([*rows, "", _STATIC, ""])


_NO_KERNEL = "Missing __global__ kernel definition"
_STATIC = (
    "The static checker's complaint that a file has no CUDA kernel is left out: these samples are plain torch. "
    "A warning does not stop its `run_and_check`, an error does."
)


def _static(theirs: dict[str, Any]) -> str:
    found = theirs.get("static")
    if found is None:
        return "–"
    words = [f"error: {text}" for text in found["errors"] if text != _NO_KERNEL]
    words += [f"warning: {text}" for text in found["warnings"]]
    return _cell("; ".join(words)) or "nothing"


def _verdict(theirs: dict[str, Any]) -> str:
    if theirs.get("error"):
        return f"error: {_cell(theirs['error'])}"
    if not theirs["compiled"]:
        return "not compiled"
    return "correct" if theirs["correct"] else "incorrect"


def _cheat_verdict(theirs: dict[str, Any]) -> str:
    words = _verdict(theirs)
    if not theirs.get("correct"):
        return words
    flagged = " with its excessive-speed-up flag" if "excessive_speedup" in theirs["metadata"] else ""
    return f"{words}{flagged}, {_number(_median(theirs.get('candidate_ms')))} ms"


def _median(times: list[float] | None) -> float | None:
    return statistics.median(times) if times else None


def _over(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())[:120]
