"""Everything that a candidate's page shows, put together from its rows and records."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from agent.steps import Started
from kernels import toolchain
from kernels.codegen.emission import Emission, Unit
from kernels.harness.baselines import BaselineKind
from kernels.harness.correctness import CHECK_REASONS
from kernels.harness.evaluation import EAGER, Check, Evaluation, Outcome, Timing
from kernels.languages import Language
from kernels.models import Build
from kernels.records import from_json
from kernels.targets import Target
from kernels.toolchain.listings import Built, built_unit
from kernels.toolchain.report import BuildReport
from runs import words
from runs.advice_pane import AdvicePane
from runs.charts.bound_line import bound_line
from runs.charts.histogram import histogram
from runs.code_panes import Diff, Line, UnitPane, diff, mu_lines, unit_pane
from runs.flags_pane import FlagsPane
from runs.gap_pane import GapPane, bounds_of, evidence_of, gap_pane
from runs.limits import Limits, limits
from runs.lineage import Step, lineage, relatives
from runs.listings import ListingPane, listing_kind
from runs.located import Located, located
from runs.models import Attempt, Event, Job
from runs.profile_pane import ProfilePane
from runs.readings import DEFAULT_EPSILON
from runs.states import FINAL, LIVING_JOBS, JobKind
from runs.talking import Talk
from runs.timing_panel import TimingPanel
from runs.transcript import Transcript
from runs.validation_panel import ValidationPanel
from sol.gap.assessment import Assessment, assess

_SHORT = {BaselineKind.TF32.full_name: "eager TF32"}
"""Names of baselines where there is little room."""


def emission_of(build: Build | None) -> Emission | None:
    """The generated code of a build."""
    return from_json(build.emission, Emission) if build is not None else None


def report_of(build: Build | None) -> BuildReport | None:
    """The report of a build."""
    return from_json(build.report, BuildReport) if build is not None else None


class CandidatePage:
    """One attempt with all that is known of it. Records are read from JSON once."""

    def __init__(
        self,
        attempt: Attempt,
        stage: str = "",
        whole: bool = False,
        view: str = "",
        launch: str = "",
        *,
        reader: User | None = None,
    ) -> None:
        self.attempt = attempt
        self.trajectory = attempt.trajectory
        self.run = attempt.trajectory.run
        self.problem = attempt.trajectory.problem
        self.whole = whole
        self.emission = emission_of(attempt.build)
        self.report = report_of(attempt.build)
        self.cross_emission = emission_of(attempt.cross_build)
        self.cross_report = report_of(attempt.cross_build)
        self.evaluation = from_json(attempt.evaluation.record, Evaluation) if attempt.evaluation else None
        self.bounds = bounds_of(self.trajectory)
        self._reader = reader
        self._chosen = stage
        self._view = view
        self._launch = launch

    @property
    def word(self) -> words.Word:
        """Its outcome, or where it stands."""
        return words.of_ended(self.attempt)

    @property
    def ended(self) -> bool:
        """Whether it has come to its end."""
        return self.attempt.state in FINAL

    @property
    def is_best(self) -> bool:
        """Whether it is its problem's best of this run."""
        return self.trajectory.best_id == self.attempt.pk and self.attempt.counted_s is not None

    @property
    def epsilon(self) -> float:
        """The run's epsilon."""
        return self.run.epsilon if self.run.epsilon is not None else DEFAULT_EPSILON

    @property
    def eager_s(self) -> float | None:
        """Torch eager in the same call, else the trajectory's."""
        return self.attempt.eager_s or self.trajectory.eager_s

    @property
    def speedup(self) -> float | None:
        """Eager in the same call over this kernel; None where its time does not count."""
        return self.attempt.speedup

    @property
    def why_no_time(self) -> str:
        """Why there is no time."""
        return words.why_no_time(self.attempt)

    @cached_property
    def lines(self) -> dict[str, dict[str, Any] | None]:
        """The bound line, wide and narrow."""
        t = self.trajectory
        times = (t.floor_s, t.sol_s, self.attempt.time_s, self.eager_s, self.epsilon)
        others = {
            _SHORT.get(row.name, row.name): row.timing.median_s
            for row in (self.timing_panel.measured if self.timing_panel else ())
            if row.timing is not None and row.name != EAGER
        }
        return {
            "wide": bound_line(*times, others=others),
            "narrow": bound_line(*times, others=others, width=358),
        }

    @property
    def language(self) -> Language:
        """What its source is written in."""
        return Language(self.attempt.kernel.language)

    # --- code -----------------------------------------------------------------------------------

    @property
    def units(self) -> tuple[tuple[str, int, Unit], ...]:
        """All units: those of the run's target, then those for sm_90a, by the name under which one is chosen."""
        found = [(f"{i}", i, unit) for i, unit in enumerate(self.emission.units)] if self.emission else []
        if self.cross_emission:
            found += [(f"x{i}", i, unit) for i, unit in enumerate(self.cross_emission.units)]
        return tuple(found)

    @property
    def chosen(self) -> str:
        """The unit shown."""
        known = [key for key, _, _ in self.units]
        return self._chosen if self._chosen in known else (known[0] if known else "")

    @cached_property
    def pane(self) -> UnitPane | None:
        """The generated code shown."""
        if not self.chosen:
            return None
        emission = self.cross_emission if self.chosen.startswith("x") else self.emission
        return unit_pane(emission, int(self.chosen.lstrip("x")), self.whole) if emission is not None else None

    @cached_property
    def built(self) -> Built | None:
        """The unit shown, where it was built for a card and so has PTX and SASS."""
        cross = self.chosen.startswith("x")
        emission, report = (self.cross_emission, self.cross_report) if cross else (self.emission, self.report)
        if emission is None or report is None or not self.chosen:
            return None
        return built_unit(emission, report.units, int(self.chosen.lstrip("x")))

    @cached_property
    def listing(self) -> ListingPane | None:
        """Its PTX or SASS, where that was asked for in the place of its C++."""
        kind = listing_kind(self._view)
        if kind is None or self.built is None:
            return None
        return ListingPane(self.attempt, self.chosen, kind, self.built)

    @property
    def pane_target(self) -> str:
        """For which target the code shown was generated."""
        return Target.SM90A if self.chosen.startswith("x") else self.run.target

    @cached_property
    def mu(self) -> tuple[Line, ...]:
        """The program's lines."""
        beside = self.pane if self.listing is None else None
        links = beside.unit.lines if beside is not None else ()
        changed = self.difference.changed if self.difference else frozenset()
        return mu_lines(self.attempt.kernel.source, links, "L", changed, self.language)

    @cached_property
    def _origin(self) -> tuple[str, str] | None:
        """The text it is compared with, and its name; None for the translated program itself."""
        if self.attempt.parent is not None:
            return self.attempt.parent.kernel.source, f"#{self.attempt.parent.number}"
        first = Event.objects.filter(trajectory=self.trajectory, kind="started").values_list("record", flat=True)
        record = first.first()
        if record is None:
            return None
        started = from_json(record, Started)
        return started.seed_program, "the given program" if started.seed_given else "the translated program"

    @property
    def origin(self) -> str:
        """The name of what it is compared with."""
        return self._origin[1] if self._origin else ""

    @cached_property
    def difference(self) -> Diff | None:
        """What changed from its parent, or from the translated program."""
        if self._origin is None:
            return None
        return diff(self._origin[0], self.attempt.kernel.source, language=self.language)

    @cached_property
    def refusals(self) -> list[Located]:
        """Where and why it was refused."""
        if self.attempt.outcome != Outcome.REFUSED:
            return []
        return located(self.attempt.detail, self.attempt.kernel.source)

    @property
    def failed_checks(self) -> tuple[Check, ...]:
        """Checks that do not hold, those that gave the reason first."""
        if self.evaluation is None:
            return ()
        reason = self.evaluation.reason
        failed = [check for check in self.evaluation.checks if check.failed]
        return tuple(sorted(failed, key=lambda check: CHECK_REASONS.get(check.name) is not reason))

    @property
    def said(self) -> str:
        """What is said of its end; where checks say it themselves, nothing is said twice."""
        reason = self.attempt.incorrect_reason
        told = reason is not None and self.attempt.detail.startswith(f"{reason.words}: check ")
        return "" if told else self.attempt.detail

    @property
    def tries(self) -> int:
        """How often a job is tried before it is given up."""
        return int(settings.JOB_TRIES)

    # --- measured -------------------------------------------------------------------------------

    @property
    def timing(self) -> Timing | None:
        """Its own timing."""
        return self.evaluation.candidate if self.evaluation else None

    @cached_property
    def timing_panel(self) -> TimingPanel | None:
        """Times, conditions and the card's record."""
        return (
            TimingPanel(self.evaluation, self.attempt.told if self.attempt.held else "")
            if self.evaluation
            else None
        )

    @cached_property
    def validation(self) -> ValidationPanel | None:
        """Checks and rounds."""
        return ValidationPanel(self.evaluation, self.run.tolerance) if self.evaluation else None

    @property
    def over_tf32(self) -> float | None:
        """Eager with TF32 over this kernel, both from one call; None where that was not measured."""
        if self.evaluation is None or self.attempt.held:
            return None
        return self.evaluation.speedup(BaselineKind.TF32.full_name)

    @cached_property
    def distribution(self) -> dict[str, Any] | None:
        """The histogram of its samples."""
        t = self.timing
        return histogram(t.samples, t.median_s, t.q1_s, t.q3_s) if t else None

    @cached_property
    def limits(self) -> Limits:
        """What limits it."""
        return limits(self.bounds, self.evaluation, self.attempt.time_s)

    @cached_property
    def assessment(self) -> Assessment | None:
        """Its time beside its bounds, its score and what its gap is made of."""
        return assess(evidence_of(self.trajectory, self.evaluation, self.emission, self.profile.record))

    @cached_property
    def gap_pane(self) -> GapPane | None:
        """What its gap is made of; None where it has no time that counts."""
        return gap_pane(self.assessment.breakdown if self.assessment else None)

    @cached_property
    def profile(self) -> ProfilePane:
        """Its profile, or why there is none."""
        return ProfilePane(self.attempt, self.timing, self._launch)

    @cached_property
    def advice(self) -> AdvicePane:
        """What the feedback tools say of it, and what to try."""
        return AdvicePane(self.attempt, self.bounds, self.profile.record)

    @cached_property
    def flags(self) -> FlagsPane:
        """What audits say of it."""
        return FlagsPane(self.attempt)

    @cached_property
    def talk(self) -> Talk:
        """What people say of it, as its reader sees it."""
        assert self._reader is not None  # whoever shows it knows to whom
        return Talk(self.attempt, self._reader, {key: unit.source for key, _, unit in self.units})

    @cached_property
    def talked_lines(self) -> dict[int, int]:
        """Lines of the unit that is shown with remarks."""
        return self.talk.lines(self.chosen) if self.chosen else {}

    @cached_property
    def transcript(self) -> Transcript:
        """What a model was asked for it, and what it said."""
        return Transcript(self.trajectory, self.attempt.number)

    # --- kin ------------------------------------------------------------------------------------

    @cached_property
    def _every(self) -> list[Attempt]:
        return relatives(self.attempt)

    @property
    def count(self) -> int:
        """Attempts on this problem in this run."""
        return len(self._every)

    @cached_property
    def lineage(self) -> list[Step]:
        """Its ancestors, siblings and children."""
        return lineage(self.attempt, self._every)

    @property
    def previous(self) -> int | None:
        """The number of the attempt before."""
        return max((one.number for one in self._every if one.number < self.attempt.number), default=None)

    @property
    def next(self) -> int | None:
        """The number of the attempt after."""
        return min((one.number for one in self._every if one.number > self.attempt.number), default=None)

    # --- sm_90a ---------------------------------------------------------------------------------

    @cached_property
    def cross_job(self) -> Job | None:
        """The compilation for sm_90a that waits or is under way."""
        jobs = Job.objects.filter(attempt=self.attempt, kind=JobKind.CROSS_BUILD, state__in=LIVING_JOBS)
        return jobs.first()

    @cached_property
    def has_nvcc(self) -> bool:
        """Whether this machine can compile for sm_90a."""
        return bool(toolchain.available(Target.SM90A))
