"""Everything that is shown of one case, put together once a page in a fixed number of queries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth.models import User
from django.db.models import F, Q, QuerySet

from runs.candidate import CandidatePage
from runs.evidence import Seen, marks_of, numbered
from runs.marked_code import MarkedCode, count_lines, marked_code
from runs.models import Attempt
from runs.people_models import Person
from runs.roles import Right, Role, may
from runs.triage.alike import Peers, peers
from runs.triage.effect import Effects, Figures, Pair
from runs.triage.history import Said, Undoable, history, last_of, undoable_of
from runs.triage.inbox import Inbox
from runs.triage.signs import VerdictSign, signs
from sol.audit.record import Severity
from sol.audit.tricks import Trick
from sol.models import Case

TOUCHED = 10
"""Attempts that are listed; of all others their number."""

COMPARED, COMPARED_LINES = 100_000, 1_200
"""Letters and lines up to which the difference stands on the page; the candidate's page has longer ones."""

SCOPES = ("alike", "trick")
"""What a verdict may settle beside the case alone: lookalikes, or all of its trick on its problem."""

TOGETHER = 200
"""Cases that are settled at once, at most."""


@dataclass(frozen=True, slots=True)
class Group:
    """Cases that can be settled together with the one shown. ``cases`` holds that one too."""

    scope: str
    words: str
    cases: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many cases it settles."""
        return len(self.cases)

    @property
    def keys(self) -> str:
        """Its cases as a form sends them back."""
        return ",".join(str(pk) for pk in self.cases)


class CasePage:
    """One case as ``user`` sees it, within an inbox."""

    def __init__(self, case: Case, inbox: Inbox, user: User, whole: bool = False) -> None:
        self.case, self.inbox, self.user, self.whole = case, inbox, user, whole
        self.may_review = may(user, Right.REVIEW)

    # --- what it is -----------------------------------------------------------------------------

    @property
    def trick(self) -> Trick:
        """The trick of its gravest flag."""
        return Trick(self.case.trick)

    @property
    def title(self) -> str:
        """What the kernel does, as a heading."""
        words = self.trick.words
        return f"{words[0].upper()}{words[1:]}"

    @cached_property
    def seen(self) -> tuple[Seen, ...]:
        """All flags with their numbers."""
        return numbered(row.record for row in self.case.raised.all())

    @property
    def detectors(self) -> int:
        """How many detectors raised a flag."""
        return len({one.flag.detector for one in self.seen})

    @cached_property
    def code(self) -> MarkedCode:
        """The kernel's text with its marks."""
        kernel = self.case.kernel
        return marked_code(
            kernel.source, kernel.language, marks_of(self.seen, count_lines(kernel.source)), self.whole
        )

    @property
    def kept_out(self) -> bool:
        """Whether its time stays out as long as nobody says that it is honest: a severe flag, or below the floor."""
        below = self.attempt is not None and self.attempt.standing.held
        return self.case.severity == Severity.SEVERE or below

    # --- where it was tried ---------------------------------------------------------------------

    @property
    def _tried(self) -> QuerySet[Attempt]:
        return Attempt.objects.filter(kernel=self.case.kernel_id, trajectory__problem=self.case.problem_id)

    @cached_property
    def attempt(self) -> Attempt | None:
        """The attempt with the shortest time, else the newest one; None where no attempt is left."""
        found = self._tried.select_related(
            "trajectory__run",
            "trajectory__problem",
            "kernel",
            "parent__kernel",
            "build",
            "cross_build",
            "evaluation",
        )
        return found.order_by(F("time_s").asc(nulls_last=True), "-pk").first()

    @property
    def claimed_s(self) -> float | None:
        """Its time in seconds."""
        return self.attempt.time_s if self.attempt is not None else None

    @cached_property
    def candidate(self) -> CandidatePage | None:
        """That attempt's own page: its bound line and its difference from the nearest ancestor."""
        return CandidatePage(self.attempt) if self.attempt is not None else None

    @property
    def comparable(self) -> bool:
        """Whether the text and its ancestor's are short enough to be compared while somebody waits."""
        if self.candidate is None:
            return False
        parent = self.candidate.attempt.parent
        texts = [self.case.kernel.source, *([parent.kernel.source] if parent is not None else [])]
        return all(len(text) <= COMPARED and text.count("\n") < COMPARED_LINES for text in texts)

    @cached_property
    def tried(self) -> list[Attempt]:
        """The newest attempts of the kernel on the problem."""
        rows = self._tried.select_related("trajectory__run", "trajectory__problem").defer(
            "trajectory__bounds", "trajectory__seed_program", "trajectory__problem__source"
        )  # fmt: skip
        return list(rows.order_by("-pk")[: TOUCHED + 1])

    @property
    def shown_attempts(self) -> list[Attempt]:
        """Those that are listed."""
        return self.tried[:TOUCHED]

    @cached_property
    def more_attempts(self) -> int:
        """How many attempts are not listed."""
        return self._tried.count() - TOUCHED if len(self.tried) > TOUCHED else 0

    # --- what a verdict does --------------------------------------------------------------------

    @cached_property
    def peers(self) -> Peers:
        """Cases like it."""
        return peers(self.case)

    @cached_property
    def groups(self) -> list[Group]:
        """What can be settled together: the lookalikes, and all of its trick on its problem that the filters leave."""
        alike = (self.case.pk, *self.peers.grouped)[:TOGETHER]
        gathered = self.inbox.gathered
        whole = (self.case.pk, *(pk for pk in gathered if pk != self.case.pk))[:TOGETHER]
        found = []
        if len(alike) > 1:
            found.append(Group(SCOPES[0], "texts alike", alike))
        if len(gathered) > 1 and set(whole) != set(alike):
            found.append(Group(SCOPES[1], f"of this trick on {self.case.problem.slug}", whole))
        return found

    @property
    def group(self) -> Group | None:
        """What a whole-group verdict settles unless another group is chosen."""
        return self.groups[0] if self.groups else None

    def chosen(self, scope: str, keys: str = "") -> tuple[int, ...]:
        """The cases of a scope: a group's as it is now and as it was on the page that ``keys`` comes from, else this
        one alone."""
        groups = self.groups if scope in SCOPES else []
        shown = {str(self.case.pk), *keys.split(",")}
        now = next((group.cases for group in groups if group.scope == scope), (self.case.pk,))
        return tuple(pk for pk in now if str(pk) in shown)

    @cached_property
    def _figures(self) -> Figures:
        return Figures({self._pair, *self._group_pairs})

    @property
    def _pair(self) -> Pair:
        return self.case.kernel_id, self.case.problem_id

    @cached_property
    def _group_pairs(self) -> frozenset[Pair]:
        if self.group is None:
            return frozenset()
        known = self.peers.grouped
        found = {known[pk] for pk in self.group.cases if pk in known}
        others = [pk for pk in self.group.cases if pk not in known and pk != self.case.pk]
        if others:
            found.update(Case.objects.filter(pk__in=others).values_list("kernel_id", "problem_id"))
        return frozenset({self._pair, *found})

    @cached_property
    def effects(self) -> Effects:
        """The runs' figures if this case alone is settled."""
        return self._figures.effects({self._pair})

    @cached_property
    def group_effects(self) -> Effects | None:
        """The runs' figures if the whole group is settled; None without a group."""
        return self._figures.effects(self._group_pairs) if self.group is not None else None

    @cached_property
    def carried(self) -> int:
        """Open cases of the same text on other problems: a hack or a leak is carried to them."""
        return Case.objects.filter(kernel=self.case.kernel_id, verdict="").exclude(pk=self.case.pk).count()

    @property
    def verdicts(self) -> tuple[VerdictSign, ...]:
        """The six verdicts with their signs."""
        return signs()

    @property
    def verdict(self) -> VerdictSign | None:
        """What it was settled as."""
        return next((one for one in signs() if one.verdict == self.case.verdict), None)

    # --- what was said --------------------------------------------------------------------------

    @cached_property
    def history(self) -> list[Said]:
        """All that happened to it."""
        return history(self.case.entries.select_related("user"))

    @cached_property
    def undoable(self) -> Undoable | None:
        """Its own verdict where that can be taken back."""
        return undoable_of(self.case) if self.may_review else None

    @cached_property
    def last(self) -> Undoable | None:
        """The reader's own last verdict, on whatever case."""
        return last_of(self.user) if self.may_review else None

    @cached_property
    def reviewers(self) -> list[User]:
        """Whom it can be given to."""
        return list(reviewers())


def reviewers() -> QuerySet[User]:
    """Accounts that may settle cases, by name."""
    able = [role.value for role in Role if role.rank >= Right.REVIEW.least.rank]
    by_role = Person.objects.filter(role__in=able).values("user")
    found = User.objects.filter(Q(is_staff=True) | Q(is_superuser=True) | Q(pk__in=by_role), is_active=True)
    return found.order_by("username")
