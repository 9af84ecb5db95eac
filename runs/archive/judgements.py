"""What an archive says about honesty: its cases, taken over as the origin's word and never as a verdict of this place.

An archive is text that anybody may have written. So it settles nothing here, lifts no hold that stands here, and
raises nothing against a text that was measured here without a flag; its flags on texts that are new here open a case
that a reviewer settles anew.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from kernels.languages import Language
from kernels.models import Kernel
from runs.archive.rows import insert
from runs.holding import held_of, recount, weigh
from runs.models import Attempt, Run, Trajectory
from sol.audit.likeness import sketch
from sol.audit.record import Severity
from sol.audit.verdict import Verdict
from sol.case_models import EntryKind
from sol.models import Case, Entry, Flag

_MOST_FLAGS = 200
_MOST_ENTRIES = 500

About = tuple[int, int]
"""A kernel and a problem, by primary keys."""


@dataclass
class Told:
    """One case of the archive: what was raised, and what became of it at its origin."""

    values: dict[str, Any]
    settled_by: str
    flags: list[Flag] = field(default_factory=list)
    entries: list[tuple[dict[str, Any], str]] = field(default_factory=list)

    @property
    def words(self) -> str:
        """Its verdict there."""
        verdict = self.values["verdict"]
        return f"settled as {Verdict(verdict).words}" if verdict else "open"


def known_cases(run: Run) -> dict[About, Case]:
    """Cases that are here about what the run's attempts tried. Called before its own are added."""
    tried = Attempt.objects.filter(trajectory__run=run).values("kernel")
    return {(case.kernel_id, case.problem_id): case for case in Case.objects.filter(kernel__in=tried)}


def take_over(run: Run, told: dict[About, Told], known: dict[About, Case], where: str) -> list[str]:
    """Open cases for what is new here and note the rest; the notes for the run's page."""
    measured_here = _measured_here(run, told)
    notes, fresh = [], []
    for about, one in told.items():
        if about in known:
            _write(known[about], [_line(one, where)])
        elif about in measured_here:
            kernel = Kernel.objects.only("digest").get(pk=about[0])
            notes.append(f"{kernel}: {len(one.flags)} flagged at its origin ({one.words}); measured here without")
        elif one.flags:
            fresh.append(_open(about, one, where))
    _hold(run, told, known)
    for case in fresh:
        weigh(case)
    return notes


def _measured_here(run: Run, told: dict[About, Told]) -> set[About]:
    kernels = {kernel for kernel, _ in told}
    here = Attempt.objects.filter(kernel__in=kernels, trajectory__run__origin__isnull=True, time_s__isnull=False)
    return set(here.exclude(trajectory__run=run).values_list("kernel_id", "trajectory__problem_id"))


def _open(about: About, told: Told, where: str) -> Case:
    flags = told.flags[:_MOST_FLAGS]
    gravest = max(flags, key=lambda flag: (Severity(flag.severity).rank, flag.confidence))
    kernel = Kernel.objects.get(pk=about[0])
    case = Case(
        kernel=kernel, problem_id=about[1], severity=gravest.severity, rank=Severity(gravest.severity).rank,
        trick=gravest.trick, confidence=gravest.confidence, flags=len(flags), opened=told.values["opened"],
        sketch=list(sketch(kernel.source, Language(kernel.language))),
    )  # fmt: skip
    insert(Case, [case])
    for flag in flags:
        flag.case = case
    insert(Flag, flags)
    _write(case, [f"brought by an archive of {where}: {len(flags)} flagged there", *_history(told, where)])
    return case


def _history(told: Told, where: str) -> list[str]:
    lines = []
    for values, name in told.entries[:_MOST_ENTRIES]:
        kind, verdict = values["kind"], values["verdict"]
        if kind == EntryKind.RAISED:
            continue
        done = (
            f"settled as {Verdict(verdict).words}"
            if verdict and kind != EntryKind.COMMENT
            else EntryKind(kind).label
        )
        said = f": {values['words']}" if values["words"] else ""
        lines.append(f"{done} by {name or 'the product'} on {values['created']:%Y-%m-%d} at {where}{said}")
    return lines


def _line(told: Told, where: str) -> str:
    who = f" by {told.settled_by}" if told.settled_by else ""
    return f"{told.words}{who} at {where}; that changes nothing here"


def _write(case: Case, lines: list[str]) -> None:
    """Lines of history without a local person behind them."""
    Entry.objects.bulk_create(Entry(case=case, kind=EntryKind.COMMENT, words=words) for words in lines)


def _hold(run: Run, told: dict[About, Told], known: dict[About, Case]) -> None:
    """An attempt's time counts as its origin says, unless what is known here speaks against it."""
    changed: dict[int, list[Attempt]] = defaultdict(list)
    attempts = Attempt.objects.filter(trajectory__run=run, time_s__isnull=False).select_related("trajectory")
    wanted = ("kernel_id", "held", "time_s", "trajectory__problem_id", "trajectory__floor_s", "trajectory_id")
    for attempt in attempts.only(*wanted).iterator(chunk_size=1000):
        about = (attempt.kernel_id, attempt.trajectory.problem_id)
        held = _held(attempt, known.get(about), told.get(about))
        if held != attempt.held:
            attempt.held = held
            changed[attempt.trajectory_id].append(attempt)
    for key, rows in changed.items():
        Attempt.objects.bulk_update(rows, ["held"], batch_size=500)
        recount(Trajectory.objects.get(pk=key))


def _held(attempt: Attempt, known: Case | None, told: Told | None) -> str:
    if known is not None and (known.held is not None or known.lifts):
        return known.held.value if known.held is not None else ""
    below = held_of(attempt.time_s, attempt.trajectory.floor_s, None)
    return below if below and not attempt.held and not _lifted(told) else attempt.held


def _lifted(told: Told | None) -> bool:
    return told is not None and told.values["verdict"] in (Verdict.CLEAN, Verdict.PROBLEM_FLAW)
