"""The flags of one attempt: its kernel's case on the problem, what became of it, and what was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth.models import User

from kernels.errors import UserError
from kernels.harness.evaluation import Evaluation
from kernels.records import from_json
from runs.audit_models import Look
from runs.auditing import TextUnread, flags_of
from runs.evidence import Mark, Seen, marks_of, numbered
from runs.holding import weigh
from runs.looks import look_at
from runs.marked_code import count_lines
from runs.models import Attempt
from sol.audit import DETECTORS, Flag, Severity, Subject
from sol.audit.apart import audit_apart
from sol.audit.verdict import Verdict
from sol.case_models import DECISIONS
from sol.cases import raise_flags
from sol.models import Case, Entry
from sol.models import Flag as FlagRow


class AttemptNotRead(UserError):
    """A stored text that the detectors did not get through, for a limit or by a mistake of theirs."""

    template = "{words}"


class FlagsPane:
    """What audits say of an attempt. Four queries at most."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt

    @cached_property
    def case(self) -> Case | None:
        """The case of its kernel on its problem."""
        rows = Case.objects.filter(kernel_id=self.attempt.kernel_id, problem_id=self.attempt.trajectory.problem_id)
        return rows.select_related("settled_by", "assigned").first()

    @cached_property
    def look(self) -> Look | None:
        """The last time that the detectors looked at it."""
        return look_at(self.attempt)

    @cached_property
    def seen(self) -> tuple[Seen, ...]:
        """The case's flags with their evidence, the gravest first."""
        if self.case is None:
            return ()
        return numbered(row.record for row in FlagRow.objects.filter(case=self.case))

    @property
    def count(self) -> int:
        """Flags that are more than remarks."""
        return sum(one.severity is not Severity.INFO for one in self.seen)

    @cached_property
    def marks(self) -> dict[int, Mark]:
        """The marks of the source's lines."""
        return marks_of(self.seen, count_lines(self.attempt.kernel.source))

    @property
    def verdict(self) -> Verdict | None:
        """What it was settled as; None while it is open."""
        return Verdict(self.case.verdict) if self.case is not None and self.case.verdict else None

    @cached_property
    def decision(self) -> Entry | None:
        """The last thing that was decided of the case, with who and why; None while nothing was."""
        if self.case is None:
            return None
        entries = Entry.objects.filter(case=self.case, kind__in=DECISIONS).select_related("user")
        return entries.order_by("-pk").first()

    @property
    def looked(self) -> bool:
        """Whether any audit looked at it: a note says so, or its evaluation gave flags."""
        return self.look is not None or bool(self.seen)

    @property
    def detectors(self) -> int:
        """How many looked."""
        return self.look.detectors if self.look is not None else len(DETECTORS)

    @property
    def beside(self) -> str:
        """What was looked at beside its text, in words."""
        measured = self.look.measured if self.look is not None else self.attempt.evaluation_id is not None
        if not measured:
            return "its text alone: it was not measured then"
        return "its text, its evaluation with the checks and shares of time, and its time beside its bounds"


@dataclass(frozen=True, slots=True)
class _Apart:
    """All detectors in a child process with limits, as the web process needs them."""

    attempt: Attempt

    def __call__(self, subject: Subject) -> tuple[Flag, ...]:
        (form,) = audit_apart([(str(self.attempt.kernel), subject)])
        if form.unreadable:
            raise TextUnread(words=form.error)
        if form.error is not None:
            raise AttemptNotRead(words=form.error.partition(": ")[2])
        return form.flags


def audit_now(attempt: Attempt, user: User) -> Case | None:
    """Put a stored attempt before all detectors and keep what they find; its case, None where they find nothing.

    Nothing is run: its text, its evaluation and its bounds are looked at as they are stored. Raises NotAudited.
    """
    evaluation = from_json(attempt.evaluation.record, Evaluation) if attempt.evaluation else None
    flags = flags_of(attempt, evaluation, detect=_Apart(attempt), user=user)
    case = raise_flags(attempt.kernel, attempt.trajectory.problem, flags, attempt.evaluation)
    if case is not None:
        weigh(case)
    return case
