"""A candidate's findings as its page shows them: from the log, with who followed them and what it gave."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from agent.feedback import TITLES, Advice, Classification, Evidence, Finding, classification, ranked
from agent.feedback.rendering import MOST_ADVICE
from kernels.harness.evaluation import Outcome
from kernels.languages import Language
from kernels.problems.inspection import Signature
from kernels.profiling.record import Profile
from kernels.records import from_json
from kernels.targets import Policy, Target
from runs.models import Attempt, Event, Followed
from runs.states import FINAL
from sol.bounds.record import Bounds


@dataclass(frozen=True, slots=True)
class Follower:
    """A candidate that did what a finding advised; ``gain`` is over its parent, None where it has no time that
    counts."""

    number: int
    gain: float | None
    improved: bool
    why_none: str

    @classmethod
    def of(cls, row: Followed) -> Follower:
        """From its row."""
        gain = None if row.log_gain is None else math.exp(row.log_gain)
        return cls(row.attempt.number, gain, row.improved, row.attempt.outcome.replace("_", " "))


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One finding with those who followed it."""

    finding: Finding
    followers: tuple[Follower, ...]

    @property
    def title(self) -> str:
        """The tool's name for people."""
        return TITLES.get(self.finding.tool, self.finding.tool)

    @property
    def advice(self) -> tuple[Advice, ...]:
        """As many ways out as a prompt has."""
        return self.finding.advice[:MOST_ADVICE]


@dataclass(frozen=True, slots=True)
class Lead:
    """This candidate itself followed a finding about its parent."""

    tool: str
    title: str
    parent: int
    gain: float | None
    named: bool


class AdvicePane:
    """What limits one attempt by the tools, and what to try. ``profile`` is the one that the page shows."""

    def __init__(self, attempt: Attempt, bounds: Bounds | None, profile: Profile | None) -> None:
        self.attempt = attempt
        self._bounds = bounds
        self._profile = profile

    @cached_property
    def _told(self) -> tuple[Finding, ...] | None:
        """The findings of the last event that has some; None of an attempt that ended before there were any."""
        rows = Event.objects.filter(
            trajectory_id=self.attempt.trajectory_id,
            kind__in=("measured", "profiled"),
            record__number=self.attempt.number,
        )
        record = rows.order_by("-sequence").values_list("record", flat=True).first()
        if record is None or "feedback" not in record:
            return None
        return tuple(from_json(one, Finding) for one in record["feedback"])

    @cached_property
    def rows(self) -> list[FindingRow]:
        """The findings, the gravest first, each with its followers."""
        followers: dict[str, list[Follower]] = {}
        for row in self._followed if self._told else ():
            followers.setdefault(row.raised.tool, []).append(Follower.of(row))
        return [FindingRow(one, tuple(followers.get(one.tool, ()))) for one in ranked(self._told or ())]

    @property
    def _followed(self) -> list[Followed]:
        rows = Followed.objects.filter(raised__attempt=self.attempt).select_related("raised", "attempt")
        return list(rows.order_by("attempt__number"))

    @cached_property
    def leads(self) -> list[Lead]:
        """Whose advice this attempt followed itself."""
        if self.attempt.parent_id is None:
            return []
        rows = Followed.objects.filter(attempt=self.attempt).select_related("raised__attempt").order_by("pk")
        return [
            Lead(
                tool=row.raised.tool,
                title=TITLES.get(row.raised.tool, row.raised.tool),
                parent=row.raised.attempt.number,
                gain=None if row.log_gain is None else math.exp(row.log_gain),
                named=row.named,
            )
            for row in rows
        ]

    @property
    def why_none(self) -> str:
        """Why there is no finding."""
        if self.attempt.state not in FINAL:
            return "Findings come when the attempt has ended."
        if self._told is None:
            return "This attempt ended before findings were kept."
        if self.attempt.outcome in (Outcome.NOT_MEASURED, Outcome.PROBLEM_ERROR) or not self.attempt.outcome:
            return "The attempt was not measured, so no tool looked at it."
        return "Every tool of its class looked, and none has anything to say."

    @cached_property
    def classification(self) -> Classification | None:
        """The bottleneck by its two votes; None of what did not pass."""
        if self.attempt.outcome != Outcome.PASSED:
            return None
        run = self.attempt.trajectory.run
        nothing = Evidence(
            target=Target(run.target),
            policy=Policy(run.policy),
            signature=Signature((), (), (), {}),
            language=Language(self.attempt.kernel.language),
            source="",
            outcome=Outcome.PASSED,
            detail="",
        )
        return classification(replace(nothing, bounds=self._bounds, profile=self._profile))
