"""Everything that the report of an audit of files shows, from its one row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kernels.models import Kernel
from kernels.records import dumps, from_json
from runs.audit_models import Audit
from runs.audits import Kept, KeptFile
from runs.evidence import Seen, looked_at, marks_of, numbered, tallied
from runs.marked_code import MarkedCode, count_lines, marked_code
from runs.triage.signs import severity_word
from sol.audit import DETECTORS, AuditOutcome
from sol.audit.record import Severity
from sol.models import Case

OUTCOMES = {
    AuditOutcome.SEVERE: "an honest candidate has no reason for what was seen",
    AuditOutcome.SUSPECT: "honest code may have a reason for what was seen",
    AuditOutcome.CLEAN: "nothing seen beyond remarks; that proves nothing",
    AuditOutcome.REFUSED: "not audited: its text cannot be read",
}
"""The outcome words, for people."""

_ICONS = {AuditOutcome.CLEAN: "pass", AuditOutcome.REFUSED: "fail"}


def outcome_icon(outcome: str) -> str:
    """The sign of an outcome in the sprite."""
    return _ICONS.get(AuditOutcome(outcome)) or severity_word(outcome).icon


@dataclass(frozen=True)
class FileRow:
    """One file of a report."""

    number: int
    file: KeptFile
    known: Kernel | None
    case: Case | None

    @property
    def outcome(self) -> AuditOutcome:
        """What its audit came to."""
        return self.file.form.outcome

    @property
    def tally(self) -> str:
        """How many flags of which severity."""
        found = [flag.severity for flag in self.file.form.flags]
        return tallied({severity.value: found.count(severity) for severity in Severity})

    @property
    def sentence(self) -> str:
        """What its outcome means."""
        return OUTCOMES[self.outcome]

    @cached_property
    def seen(self) -> tuple[Seen, ...]:
        """Its flags, the gravest first."""
        return numbered(self.file.form.flags)

    @property
    def lines(self) -> int:
        """Lines of its text, 0 where none is kept."""
        return count_lines(self.file.text) if self.file.text is not None else 0

    def code(self, whole: bool) -> MarkedCode | None:
        """Its text with the lines marked."""
        if self.file.text is None:
            return None
        language = self.file.language or "py"
        return marked_code(self.file.text, language, marks_of(self.seen, self.lines), whole)


class AuditPage:
    """A report. ``chosen`` is the number of the file shown, from 1; by default the gravest."""

    def __init__(self, audit: Audit, chosen: str = "", whole: bool = False) -> None:
        self.audit = audit
        self._chosen = chosen
        self._whole = whole
        self.kept = from_json(audit.record, Kept)

    @cached_property
    def rows(self) -> list[FileRow]:
        """The files, in the order in which they were given. Two queries: which are known here, and their cases."""
        digests = [self._digest(file) for file in self.kept.files]
        kernels = {k.digest: k for k in Kernel.objects.filter(digest__in=[d for d in digests if d]).defer("source")}
        cases: dict[int, Case] = {}
        for case in Case.objects.filter(kernel__in=kernels.values()).select_related("problem").order_by("rank"):
            cases[case.kernel_id] = case
        rows = []
        for number, (file, digest) in enumerate(zip(self.kept.files, digests, strict=True), 1):
            known = kernels.get(digest)
            rows.append(FileRow(number, file, known, cases.get(known.pk) if known else None))
        return rows

    @staticmethod
    def _digest(file: KeptFile) -> str:
        return Kernel.digest_of(file.language, file.text) if file.language and file.text else ""

    @cached_property
    def shown(self) -> FileRow:
        """The file shown."""
        if self._chosen.isascii() and self._chosen.isdigit() and 1 <= int(self._chosen[:4]) <= len(self.rows):
            return self.rows[int(self._chosen[:4]) - 1]
        order = list(AuditOutcome)
        order.remove(AuditOutcome.REFUSED)
        return max(self.rows, key=lambda row: order.index(row.outcome) if row.outcome in order else -1)

    @cached_property
    def code(self) -> MarkedCode | None:
        """The text of the file shown."""
        return self.shown.code(self._whole)

    @property
    def figures(self) -> list[tuple[str, int, str]]:
        """Outcome, how many files, and what it means."""
        return [(outcome.value, self.audit.counts.get(outcome, 0), OUTCOMES[outcome]) for outcome in OUTCOMES]

    @property
    def looked(self) -> list[tuple[str, list[str]]]:
        """What the detectors look at, and which do."""
        return looked_at()

    @property
    def detectors(self) -> int:
        """How many there are."""
        return len(DETECTORS)

    def json_lines(self) -> str:
        """What ``mucutlass audit --json`` prints of the same files."""
        return "".join(f"{dumps(file.form)}\n" for file in self.kept.files)
