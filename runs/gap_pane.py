"""A candidate's gap from its rows: which records tell of it, and the table with its waterfall for the page."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernels.codegen.emission import Emission
from kernels.harness.evaluation import Evaluation
from kernels.profiling.record import Profile
from kernels.records import from_json
from runs import figures
from runs.machines import machine_of
from runs.models import Trajectory
from sol.bounds.record import Bounds
from sol.gap.evidence import Evidence
from sol.gap.record import REMAINDER_TITLE, Gap
from sol.gap.words import remainder_words


def bounds_of(trajectory: Trajectory) -> Bounds | None:
    """The bounds it was started with."""
    return from_json(trajectory.bounds, Bounds) if trajectory.bounds else None


def evidence_of(
    trajectory: Trajectory,
    evaluation: Evaluation | None,
    emission: Emission | None = None,
    profile: Profile | None = None,
) -> Evidence | None:
    """What is known of a candidate's gap; None where it has no time or no bound. One query."""
    return Evidence.of(bounds_of(trajectory), evaluation, machine_of(trajectory), emission, profile)


@dataclass(frozen=True, slots=True)
class GapRow:
    """One line of the table. The bar goes from ``start`` by ``length``, 0 to 1 of a logarithmic axis from the bound to
    the measured time; ``value`` is None where the factor is not known, ``words`` say why or what it rests on."""

    title: str
    value: float | None
    words: str
    start: float
    length: float
    back: bool = False
    rest: bool = False


@dataclass(frozen=True, slots=True)
class GapPane:
    """The table, and the sentence that says the whole of it."""

    gap: Gap
    rows: tuple[GapRow, ...]
    label: str


def gap_pane(gap: Gap | None) -> GapPane | None:
    """The waterfall of a gap: each factor's bar begins where the one before it ends."""
    if gap is None:
        return None
    steps = [(factor.title, factor.value, factor.words) for factor in gap.factors]
    steps.append((REMAINDER_TITLE, gap.remainder, remainder_words(gap)))
    ends, at = [], 0.0
    for _, value, _ in steps:
        ends.append((at, at + math.log(value or 1.0)))
        at = ends[-1][1]
    low, high = min(min(pair) for pair in ends), max(max(pair) for pair in ends)
    span = high - low or 1.0
    rows = tuple(
        GapRow(
            title=title, value=value, words=words, start=(min(begin, end) - low) / span,
            length=abs(end - begin) / span, back=end < begin, rest=title == REMAINDER_TITLE,
        )
        for (title, value, words), (begin, end) in zip(steps, ends, strict=True)
    )  # fmt: skip
    told = " × ".join(f"{row.title.lower()} {figures.ratio(row.value)}" for row in rows if row.value is not None)
    return GapPane(gap, rows, f"{figures.ratio(gap.gap)} of SOL = {told}")
