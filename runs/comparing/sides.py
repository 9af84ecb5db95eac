"""Candidates as they stand side by side: each with its records, read once, and how far its figures can be compared.

Three queries however many they are: the attempts, their profiles, what was found against them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kernels.codegen.emission import Emission
from kernels.harness.evaluation import EAGER, Evaluation, Timing
from kernels.languages import Language
from kernels.models import Profile as ProfileRow
from kernels.profiling.record import KernelProfile, Profile
from kernels.records import from_json
from kernels.toolchain.report import BuildReport
from runs import words
from runs.candidate import emission_of, report_of
from runs.comparing.asked import LETTERS
from runs.comparing.cautions import circumstances, sentences
from runs.models import Attempt, Run
from runs.profiles import shown_profiles
from runs.readings import DEFAULT_EPSILON
from sol.gap.standing import Held
from sol.models import Case


@dataclass(frozen=True)
class Side:
    """One candidate. ``letter`` names it on the page, A is the baseline."""

    letter: str
    attempt: Attempt
    profile_row: ProfileRow | None
    case: Case | None

    @property
    def run(self) -> Run:
        """Its run."""
        return self.attempt.trajectory.run

    @property
    def slug(self) -> str:
        """Its problem's name in addresses."""
        return self.attempt.trajectory.problem.slug

    @property
    def name(self) -> str:
        """Letter, problem and number, as charts and tables name it."""
        return f"{self.letter} {self.slug} #{self.attempt.number}"

    @property
    def word(self) -> words.Word:
        """Its outcome, or where it stands."""
        return words.of_ended(self.attempt)

    @property
    def language(self) -> Language:
        """What its source is written in."""
        return Language(self.attempt.kernel.language)

    @property
    def device(self) -> str:
        """Where it was measured, else where its problem was prepared; empty where neither is known."""
        row = self.attempt.evaluation
        return (row.machine if row is not None else "") or self.attempt.trajectory.device

    @property
    def why_no_time(self) -> str:
        """Why there is no time that counts."""
        return words.why_no_time(self.attempt)

    @property
    def held_note(self) -> str:
        """What keeps its time out, in few words; empty where it counts, or where there is none."""
        return f"does not count: {Held(self.attempt.held).word}" if self.attempt.held else ""

    @property
    def epsilon(self) -> float:
        """The run's epsilon, or the usual one where its stop rule is off."""
        return self.run.epsilon if self.run.epsilon is not None else DEFAULT_EPSILON

    @cached_property
    def emission(self) -> Emission | None:
        """The generated code of its run's target."""
        return emission_of(self.attempt.build)

    @cached_property
    def report(self) -> BuildReport | None:
        """Its build's report."""
        return report_of(self.attempt.build)

    @cached_property
    def cross_report(self) -> BuildReport | None:
        """The report of its build for sm_90a beside a host run."""
        return report_of(self.attempt.cross_build)

    @cached_property
    def evaluation(self) -> Evaluation | None:
        """What was measured."""
        row = self.attempt.evaluation
        return from_json(row.record, Evaluation) if row is not None else None

    @property
    def timing(self) -> Timing | None:
        """Its own times."""
        return self.evaluation.candidate if self.evaluation else None

    @property
    def eager_s(self) -> float | None:
        """Torch eager in the same call, else the trajectory's."""
        same_call = self.evaluation.baseline(EAGER) if self.evaluation else None
        return same_call.median_s if same_call else (self.attempt.eager_s or self.attempt.trajectory.eager_s)

    @cached_property
    def profile(self) -> Profile | None:
        """Its profile, where it has figures."""
        if self.profile_row is None:
            return None
        found = from_json(self.profile_row.record, Profile)
        return found if found.kernels else None

    @property
    def longest(self) -> KernelProfile | None:
        """The launch of its profile that took longest."""
        kernels = self.profile.kernels if self.profile else ()
        return max(kernels, key=lambda one: one.duration_s or 0.0, default=None)

    @property
    def why_no_profile(self) -> str:
        """Why there are no counters."""
        if self.profile_row is not None:
            return str(self.profile_row.record.get("detail", "")) or "the profiler gave no figures"
        if self.run.target == "host":
            return "a CPU has no profile: counters are a card's"
        return "not profiled yet"

    def apart_from(self, base: Side) -> str:
        """Why its measured figures cannot be set against the baseline's; empty where they can."""
        pairs = (
            ("problem", self.slug, base.slug),
            ("size", self.attempt.trajectory.size, base.attempt.trajectory.size),
            ("device", self.device, base.device),
            ("policy", self.run.policy, base.run.policy),
        )
        found = [name for name, mine, theirs in pairs if mine != theirs]
        return f"not comparable: another {' and '.join(found)}" if found else ""


def sides(attempts: Sequence[Attempt]) -> tuple[Side, ...]:
    """The attempts in their order, the baseline first. Two queries."""
    profiles = shown_profiles(attempts)
    cases = {
        (case.kernel_id, case.problem_id): case
        for case in Case.objects.filter(
            kernel_id__in=[one.kernel_id for one in attempts],
            problem_id__in=[one.trajectory.problem_id for one in attempts],
        ).defer("sketch")
    }
    return tuple(
        Side(letter, one, profiles.get(one.pk), cases.get((one.kernel_id, one.trajectory.problem_id)))
        for letter, one in zip(LETTERS, attempts, strict=False)
    )


def cautions(found: Sequence[Side]) -> list[str]:
    """What keeps the candidates' figures from being compared, in sentences."""
    return sentences((
        ("problems", [one.slug for one in found], "times and speedups are of different work"),
        ("sizes", [one.attempt.trajectory.size for one in found], "times are of different amounts of work"),
        *circumstances([one.run for one in found], [one.device for one in found]),
    ))  # fmt: skip
