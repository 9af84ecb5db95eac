"""The page of candidates side by side: its groups of facts, its counters and its difference of texts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth.models import User

from runs.access import get_attempts_for
from runs.comparing import facts, made
from runs.comparing.asked import Asked
from runs.comparing.cells import Group, Shown, shown
from runs.comparing.counters import counters
from runs.comparing.sides import Side, cautions, sides
from runs.comparing.source_diff import SourceDiff, source_diff


@dataclass(frozen=True)
class CandidatesSeen:
    """Candidates beside each other, A the baseline."""

    asked: Asked
    sides: tuple[Side, ...]

    @property
    def base(self) -> Side:
        """What the others are set against."""
        return self.sides[0]

    @cached_property
    def cautions(self) -> list[str]:
        """Why some figures cannot be compared."""
        return cautions(self.sides)

    @cached_property
    def groups(self) -> list[Group]:
        """All facts but the profile's."""
        parts = (
            facts.identity, facts.ending, facts.timing, made.building, made.validation, made.stages, made.knobs,
        )  # fmt: skip
        return [group for part in parts if (group := part(self.sides)).lines]

    @cached_property
    def counters(self) -> list[Group]:
        """The profiles' quantities; empty where fewer than two have any."""
        return counters(self.sides)

    @property
    def shown(self) -> list[Shown]:
        """The facts of the page: what differs, or all with ``all`` in the address."""
        return shown(self.groups, self.asked.everything)

    @property
    def shown_counters(self) -> list[Shown]:
        """As ``shown``, of the profiles."""
        return shown(self.counters, self.asked.everything)

    @property
    def equal(self) -> int:
        """Facts that are the same on every side."""
        return sum(group.equal for group in (*self.groups, *self.counters))

    @cached_property
    def difference(self) -> SourceDiff:
        """The two texts that the address names."""
        return source_diff(self.sides, self.asked)

    @property
    def remove(self) -> dict[int, str]:
        """Addresses without each of them; empty where too few would be left."""
        return {side.attempt.pk: self.asked.without(side.attempt.pk) for side in self.sides}


def candidates_seen(user: User, wanted: Asked) -> CandidatesSeen:
    """Load them. Raises ChosenNotThere for one that is not there."""
    found = get_attempts_for(user, wanted.keys)
    wanted.check_there(set(found))
    return CandidatesSeen(wanted, sides([found[key] for key in wanted.keys]))
