"""What candidates are, how they ended, and how fast they are, line by line; the baseline's cell is the first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.urls import reverse

from kernels.harness.baselines import BaselineKind
from kernels.harness.evaluation import Timing
from kernels.targets import Target
from runs import figures, words
from runs.comparing import cells
from runs.comparing.cells import Cell, Group, Line
from runs.comparing.sides import Side
from sol.audit.verdict import Verdict


def identity(found: Sequence[Side]) -> Group:
    """What each of them is and where it comes from."""
    return Group(
        "What it is",
        (
            _linked("Problem", [(f"{s.slug} {s.attempt.trajectory.problem.name}", reverse("problem", args=[s.slug]))
                                for s in found]),
            cells.texts("Size", [s.attempt.trajectory.size for s in found]),
            _linked("Run", [(f"{s.run} {s.run.title}", reverse("run", args=[s.run.pk])) for s in found]),
            cells.texts("Proposer", [words.proposer_name(s.run.proposer) for s in found]),
            cells.texts("Language", [s.language.label for s in found]),
            cells.texts("Text", [str(s.attempt.kernel) for s in found], hint="its digest"),
            cells.texts("Change", [s.attempt.change for s in found], why="no change was named"),
            cells.texts("Target", [s.run.target for s in found]),
            cells.texts("Device", [s.device for s in found], why="not measured anywhere yet"),
            cells.texts("Precision policy", [s.run.policy for s in found]),
            cells.texts("Tolerance", [s.run.tolerance for s in found]),
        ),
    )  # fmt: skip


def ending(found: Sequence[Side]) -> Group:
    """Outcome, whether the time counts, and what was found against it."""
    return Group(
        "How it ended",
        (
            cells.texts("Outcome", [_outcome(s) for s in found]),
            cells.texts("Its time counts", [_counts(s) for s in found], why="there is no time"),
            _flags(found),
            cells.texts("New best of its run", ["yes" if s.attempt.new_best else "no" for s in found]),
        ),
    )


def timing(found: Sequence[Side]) -> Group:
    """Times, speedups over each baseline of the same call, and the distance to the speed of light."""
    apart = ["", *(s.apart_from(found[0]) for s in found[1:])]
    against = [note or s.held_note for note, s in zip(apart, found, strict=True)]
    why = [s.why_no_time for s in found]
    ms = partial(cells.numbers, text=figures.milliseconds, sense=cells.TIME, why=why, apart=against)
    gap = [s.attempt.gap for s in found]
    bounds = [s.attempt.trajectory for s in found]
    same_bound = partial(cells.numbers, text=figures.milliseconds, sense=cells.SIZE, why="not bounded", apart=apart)
    return Group(
        "Time",
        (
            ms("Median", [s.attempt.time_s for s in found], hint="ms", beside=[_quartiles(s.timing) for s in found]),
            ms("Fastest call", [s.timing.minimum_s if s.timing else None for s in found], hint="ms"),
            ms("Slowest call", [max(s.timing.samples, default=None) if s.timing else None for s in found], hint="ms"),
            cells.numbers("Timed calls", [s.timing.count if s.timing else None for s in found],
                          lambda value: f"{value:,.0f}", cells.COUNT, why=why),
            cells.numbers("Spread", [s.timing.spread if s.timing else None for s in found], figures.percent,
                          cells.AMOUNT, hint="quartile to quartile ÷ median", why=why, points=True),
            *_speedups(found, against),
            cells.numbers("Gap to SOL", gap, figures.ratio, cells.GAP, hint="time ÷ steering bound", why=why,
                          apart=against),
            cells.numbers("SOL fraction", [1 / value if value else None for value in gap], figures.percent,
                          cells.NEARNESS, hint="steering bound ÷ time", why=why, apart=against, points=True),
            same_bound("SOL", [t.sol_s for t in bounds], hint="ms, steering bound"),
            same_bound("Floor", [t.floor_s for t in bounds], hint="ms"),
            same_bound("Torch eager", [s.eager_s for s in found], hint="ms, of the same call", why="not measured"),
            cells.numbers("Energy a call", [s.timing.energy_j if s.timing else None for s in found],
                          lambda value: f"{figures.significant(value * 1e3)}", cells.AMOUNT, hint="mJ",
                          why=[_why_no_energy(s) for s in found], apart=against),
            cells.numbers("In library stages", [s.evaluation.library_share if s.evaluation else None for s in found],
                          figures.percent, cells.AMOUNT, hint="share of stage time", points=True,
                          why="stages were not timed, or call what nobody knows"),
        ),
    )  # fmt: skip


def _linked(name: str, values: Sequence[tuple[str, str]]) -> Line:
    return Line(name, tuple(Cell(text, address=address) for text, address in values))


def _outcome(side: Side) -> str:
    one = side.attempt
    if not one.outcome:
        return words.of_attempt(one).text
    return words.of_outcome(one.outcome, one.incorrect_reason).text


def _counts(side: Side) -> str | None:
    if side.attempt.time_s is None:
        return None
    return f"no: {side.attempt.told}" if side.attempt.held else "yes"


def _flags(found: Sequence[Side]) -> Line:
    made = []
    for side in found:
        case = side.case
        if case is None:
            made.append(Cell("none"))
            continue
        verdict = Verdict(case.verdict).words if case.verdict else "open"
        text = f"{verdict}: {figures.counted(case.flags, f'{case.severity} flag')}"
        made.append(Cell(text, address=reverse("triage-case", args=[case.pk])))
    return Line("Flags", tuple(made), "verdict and severity")


def _quartiles(timing: Timing | None) -> str:
    if timing is None:
        return ""
    return f"{figures.milliseconds(timing.q1_s)} – {figures.milliseconds(timing.q3_s)}"


def _speedups(found: Sequence[Side], against: Sequence[str]) -> list[Line]:
    """Over each baseline that any of them was timed beside; one whose time is held has none."""
    names = dict.fromkeys(t.subject for s in found if s.evaluation for t in s.evaluation.baselines)
    eager = BaselineKind.EAGER.full_name
    lines = []
    for name in dict.fromkeys((eager, *names)):
        values: list[float | None] = []
        for side in found:
            held = bool(side.attempt.held)
            measured = side.evaluation.speedup(name) if side.evaluation and not held else None
            values.append(side.attempt.speedup if measured is None and name == eager else measured)
        why = [
            s.why_no_time if s.attempt.counted_s is None else f"{name} was not measured beside it" for s in found
        ]
        lines.append(cells.numbers(f"Over {name}", values, figures.ratio, cells.SPEED, hint="both of one call",
                                   why=why, apart=against))  # fmt: skip
    return lines


def _why_no_energy(side: Side) -> str:
    if side.timing is None:
        return side.why_no_time
    kind = "this machine gave no energy" if Target(side.run.target) is Target.HOST else "energy was not asked for"
    return side.timing.missing.get("energy", kind)
