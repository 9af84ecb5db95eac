"""A run's audit report: how many were flagged for what, what became of them, and the figures with and without.

A fixed number of queries whatever the run's size. ``claimed`` figures are those if every held time counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Count, F, QuerySet

from runs.audit_models import Look
from runs.board import Board, Row, board
from runs.charts.fast_p import AT
from runs.models import Attempt, Run
from sol.audit import Severity, Trick
from sol.audit.verdict import Verdict
from sol.case_models import DECISIONS, EntryKind
from sol.gap.standing import Held
from sol.models import Case, Entry

SHOWN = 50
"""Cases and decisions that a page lists; all of them on demand, and in files."""

_STANDING = tuple(f"kernel__cases__{name}" for name in ("pk", "trick", "severity", "verdict", "rank", "harm"))
_COLUMNS = (
    "trajectory__problem__slug", "number", "kernel__digest", "kernel__language", "outcome", "time_s", "eager_s",
    "trajectory__sol_s", "held",
)  # fmt: skip
_OF_THE_PROBLEM = F("trajectory__problem_id")


@dataclass(frozen=True)
class TrickRow:
    """One trick at one severity: how many cases stand how. ``by_verdict`` has the open ones under the empty word."""

    trick: Trick
    severity: Severity
    by_verdict: dict[str, int]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.by_verdict.values())

    @property
    def cells(self) -> list[int]:
        """Open, then each verdict in the order of their keys."""
        return [self.by_verdict.get(word, 0) for word in ("", *Verdict)]


@dataclass(frozen=True)
class Share:
    """Fast_p at one ratio, both ways."""

    r: float
    honest: float
    claimed: float

    @property
    def more(self) -> float:
        """How much more the claimed share is."""
        return self.claimed - self.honest


@dataclass(frozen=True, slots=True)
class Standing:
    """How a case stands. Its fields are ``_STANDING``."""

    case: int
    trick: str
    severity: str
    verdict: str
    rank: int
    harm: float


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt of the run whose kernel has a case. Its fields are ``_COLUMNS``."""

    slug: str
    number: int
    digest: str
    language: str
    outcome: str
    time_s: float | None
    eager_s: float | None
    sol_s: float | None
    held: str

    @property
    def kernel(self) -> str:
        """As people name it."""
        return f"k-{self.digest[:6]}"


@dataclass(frozen=True)
class Decision:
    """One entry of a case's history that decided something, with the attempts of the run that it is about."""

    entry: Entry
    attempts: tuple[Tried, ...]

    @property
    def words(self) -> str:
        """What was decided."""
        verdict = Verdict(self.entry.verdict).words if self.entry.verdict else "open"
        if self.entry.kind == EntryKind.UNDONE:
            return f"undone, {verdict} again"
        return {EntryKind.CARRIED: f"{verdict}, carried over", EntryKind.REOPENED: "opened again"}.get(
            EntryKind(self.entry.kind), verdict
        )


class RunAudit:
    """One run's report. ``whole``: every case and decision, not only the first ``SHOWN``."""

    def __init__(self, run: Run, whole: bool = False) -> None:
        self.run = run
        self.whole = whole

    @cached_property
    def board(self) -> Board:
        """The run's problems with both kinds of figures. Two queries."""
        return board(self.run)

    # --- how many -------------------------------------------------------------------------------

    @property
    def _flagged(self) -> QuerySet[Attempt]:
        """Attempts whose kernel has a case on their problem."""
        return Attempt.objects.filter(trajectory__run=self.run, kernel__cases__problem_id=_OF_THE_PROBLEM)

    @cached_property
    def _rows(self) -> list[tuple[Standing, Tried]]:
        """Every attempt with a case, and how the case stands. One query."""
        columns = (*_STANDING, *_COLUMNS)
        found = self._flagged.order_by("trajectory_id", "number").values_list(*columns)
        split = len(_STANDING)
        return [(Standing(*row[:split]), Tried(*row[split:])) for row in found]

    @cached_property
    def _standings(self) -> dict[int, Standing]:
        """The run's cases as they stand."""
        return {standing.case: standing for standing, _ in self._rows}

    @cached_property
    def by_severity(self) -> dict[str, int]:
        """How many attempts have a case of each severity."""
        return dict(Counter(standing.severity for standing, _ in self._rows))

    @property
    def flagged(self) -> int:
        """Attempts with more than remarks."""
        return sum(n for severity, n in self.by_severity.items() if severity != Severity.INFO)

    @cached_property
    def looks(self) -> list[tuple[str, int, bool, int]]:
        """Version, how many detectors, whether at an evaluation too, how many attempts. One query."""
        found = Look.objects.filter(attempt__trajectory__run=self.run).values_list(
            "version", "detectors", "measured"
        )
        return list(found.annotate(n=Count("pk")).order_by("-n", "version").values_list(
            "version", "detectors", "measured", "n"
        ))  # fmt: skip

    @property
    def audited(self) -> int:
        """Attempts that the detectors looked at."""
        return sum(n for *_, n in self.looks)

    @property
    def unaudited(self) -> int:
        """Attempts that ended and that no audit looked at."""
        return max(0, self.board.ended - self.audited)

    @property
    def held(self) -> list[tuple[Held, int]]:
        """Why times do not count, and how many."""
        found = Counter(step.held for row in self.board.rows for step in row.held)
        return [(held, found[held.value]) for held in Held if found[held.value]]

    @cached_property
    def tricks(self) -> list[TrickRow]:
        """Counts of cases by trick, severity and verdict, the gravest first."""
        rows: dict[tuple[str, str], Counter[str]] = {}
        for one in self._standings.values():
            rows.setdefault((one.trick, one.severity), Counter())[one.verdict] += 1
        made = [TrickRow(Trick(trick), Severity(severity), counts) for (trick, severity), counts in rows.items()]
        return sorted(made, key=lambda row: (-row.severity.rank, -row.total, row.trick.number))

    @property
    def cases(self) -> int:
        """All cases, remarks too."""
        return sum(row.total for row in self.tricks)

    @property
    def totals(self) -> list[int]:
        """The sums of the counts' columns."""
        return [sum(column) for column in zip(*(row.cells for row in self.tricks), strict=True)]

    # --- figures --------------------------------------------------------------------------------

    @property
    def claimed_speedup(self) -> float | None:
        """The geomean over eager if every held time counted."""
        return self.board.claimed_speedup if self.board.held else self.board.speedup

    @property
    def claimed_gap(self) -> float | None:
        """The geomean over SOL if every held time counted."""
        return self.board.claimed_gap if self.board.held else self.board.gap

    @property
    def settled_count(self) -> int:
        """Cases with a verdict."""
        return sum(n for row in self.tricks for verdict, n in row.by_verdict.items() if verdict)

    @property
    def inflation(self) -> float | None:
        """How many times too high the speedup would be; None where there is none either way."""
        if self.claimed_speedup is None:
            return None
        return self.claimed_speedup / (self.board.speedup or 1.0)

    @property
    def gap_inflation(self) -> float | None:
        """How many times too near to SOL it would look."""
        honest, claimed = self.board.gap or self.board.eager_gap, self.claimed_gap
        return honest / claimed if honest is not None and claimed is not None else None

    @cached_property
    def inflated(self) -> list[Row]:
        """Problems by how much their held times would change, most first; those that change nothing after them."""
        return sorted(self.board.rows, key=lambda row: (-(inflation_of(row) or 1.0), row.trajectory.pk))

    @property
    def problems(self) -> list[Row]:
        """The problems that a page lists."""
        return self.inflated if self.whole else self.inflated[:SHOWN]

    @cached_property
    def fast_p(self) -> list[Share]:
        """Fast_p at round ratios up to the highest speedup; nothing of a run without problems."""
        honest = [row.speedup for row in self.board.rows]
        claimed = [row.claimed_speedup for row in self.board.rows]
        most = max((value for value in claimed if value is not None), default=0.0)
        if not self.board.rows:
            return []
        return [Share(r, _share(honest, r), _share(claimed, r)) for r in AT if r <= max(most, 1.0)]

    # --- who settled what -----------------------------------------------------------------------

    @property
    def _cases(self) -> QuerySet[Case]:
        """The cases of the run's kernels on its problems."""
        return Case.objects.filter(pk__in=self._flagged.values("kernel__cases__pk"))

    @cached_property
    def open_count(self) -> int:
        """Cases that wait for a person."""
        return sum(row.by_verdict.get("", 0) for row in self.tricks if row.severity is not Severity.INFO)

    @cached_property
    def _open(self) -> list[Case]:
        waiting = [one for one in self._standings.values() if not one.verdict and one.rank]
        waiting.sort(key=lambda one: (-one.rank, -one.harm, one.case))
        listed = [one.case for one in (waiting if self.whole else waiting[:SHOWN])]
        rows = Case.objects.filter(pk__in=listed) if not self.whole else self._cases.filter(verdict="", rank__gt=0)
        found = rows.select_related("kernel", "problem", "assigned").defer(
            "kernel__source", "problem__source", "sketch"
        )
        by_key = {case.pk: case for case in found}
        return [by_key[key] for key in listed if key in by_key]

    @cached_property
    def open_cases(self) -> list[tuple[Case, tuple[Tried, ...]]]:
        """Cases that wait for a person, the gravest first. One query."""
        return [(case, self.tried.get(case.pk, ())) for case in self._open]

    @property
    def every_case(self) -> QuerySet[Case]:
        """All cases of the run, remarks too, for files. One query."""
        return self._cases.select_related("settled_by").defer("sketch").order_by("pk")

    @cached_property
    def decision_count(self) -> int:
        """Entries that decided something. One query where there are more than are listed."""
        return len(self._entries) if self.whole or len(self._entries) < SHOWN else self._decisions.count()

    @property
    def _decisions(self) -> QuerySet[Entry]:
        return Entry.objects.filter(case__in=self._cases, kind__in=DECISIONS)

    @cached_property
    def _entries(self) -> list[Entry]:
        found = self._decisions.select_related("user", "case").defer("case__sketch").order_by("-pk")
        return list(found if self.whole else found[:SHOWN])

    @cached_property
    def decisions(self) -> list[Decision]:
        """What was decided, the newest first. One query."""
        return [Decision(entry, self.tried.get(entry.case_id, ())) for entry in self._entries]

    @cached_property
    def tried(self) -> dict[int, tuple[Tried, ...]]:
        """The attempts with a case, by case, in their order."""
        found: dict[int, list[Tried]] = {}
        for standing, tried in self._rows:
            found.setdefault(standing.case, []).append(tried)
        return {key: tuple(rows) for key, rows in found.items()}


def inflation_of(row: Row) -> float | None:
    """How many times too fast a problem would look; None where it has no time either way."""
    if row.claimed_gap is None or row.counted_gap is None or row.claimed is None:
        return None
    return row.counted_gap / row.claimed_gap


def _share(speedups: Iterable[float | None], r: float) -> float:
    values = list(speedups)
    return sum(value is not None and value >= r for value in values) / len(values)
