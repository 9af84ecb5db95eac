"""Runs, their trajectories, attempts, events, and the jobs and workers that drive them.

The rows are the truth. A queue message carries a job's id and nothing else; losing or doubling one changes nothing.
"""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from kernels.harness.baselines import BaselineKind, parse_baselines
from kernels.harness.correctness import IncorrectReason
from kernels.harness.evaluation import Outcome
from kernels.languages import Language
from kernels.models import Build, Evaluation, Kernel, Problem, choices
from kernels.targets import Policy, Target
from runs.api_models import ApiToken as ApiToken
from runs.api_models import PostedOnce as PostedOnce
from runs.api_models import Submission as Submission
from runs.audit_models import Audit as Audit
from runs.audit_models import Look as Look
from runs.control_models import Grid as Grid
from runs.control_models import Preset as Preset
from runs.control_models import RunChange as RunChange
from runs.feedback_models import Followed as Followed
from runs.feedback_models import Raised as Raised
from runs.import_models import Import as Import
from runs.kernel_models import Contender as Contender
from runs.ledger_models import Deed as Deed
from runs.lesson_models import Lesson as Lesson
from runs.lesson_models import LessonEdit as LessonEdit
from runs.lesson_models import LessonUse as LessonUse
from runs.llm_models import LlmCall as LlmCall
from runs.llm_models import ModelTurn as ModelTurn
from runs.people_models import Invitation as Invitation
from runs.people_models import Person as Person
from runs.people_models import Team as Team
from runs.states import AttemptState, JobKind, JobState, Order, RunState, TrajectoryState
from runs.talk_models import Mention as Mention
from runs.talk_models import Remark as Remark
from runs.talk_models import Reviewed as Reviewed
from sol.gap.standing import Held, TimeStanding, standing_of, told


class Run(models.Model):
    """One launch: some problems, one target, one policy, one controller and proposer, one budget.

    ``baselines`` are short names with commas between them. ``attempts`` is each problem's most; ``pool``, where it is
    set, all problems' together, of which ``pool_used`` were submitted. ``representation`` is the language that its
    proposer writes, ``shape`` orchestrated MANTIS's iterations, hypotheses and attempts with an x between them.
    ``token_limit`` and ``cost_limit`` (in the currency of its model's prices) hold for all of its problems together.
    ``paused`` is since when, while its state is that. ``order`` says which problems come first.
    ``launch_key`` is of the form that launched it, so that the same form sent twice launches one.
    """

    title = models.CharField(max_length=200)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="runs")
    target = models.CharField(max_length=10, choices=choices(Target))
    policy = models.CharField(max_length=10, choices=choices(Policy))
    controller = models.CharField(max_length=40)
    proposer = models.CharField(max_length=200)
    attempts = models.PositiveIntegerField()
    epsilon = models.FloatField(null=True, blank=True)
    patience = models.PositiveIntegerField(null=True, blank=True)
    pool = models.PositiveIntegerField(null=True, blank=True)
    pool_used = models.PositiveIntegerField(default=0)
    steering = models.BooleanField(default=True)
    representation = models.CharField(max_length=10, choices=choices(Language), default=Language.MU)
    memory = models.BooleanField(default=True)
    shape = models.CharField(max_length=20, default="5x2x4")
    token_limit = models.PositiveBigIntegerField(null=True, blank=True)
    cost_limit = models.FloatField(null=True, blank=True)
    seed = models.PositiveIntegerField(default=0)
    tolerance = models.CharField(max_length=40)
    baselines = models.CharField(max_length=60, blank=True, default=BaselineKind.EAGER.value)
    state = models.CharField(max_length=12, choices=RunState.choices, default=RunState.QUEUED, db_index=True)
    reason = models.TextField(blank=True)
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    cancel_requested = models.DateTimeField(null=True, blank=True)
    paused = models.DateTimeField(null=True, blank=True)
    paused_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    order = models.CharField(max_length=10, choices=Order.choices, default=Order.HEADROOM)
    cloned_from = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    grid = models.ForeignKey(Grid, on_delete=models.SET_NULL, null=True, blank=True, related_name="runs")
    launch_key = models.CharField(max_length=64, blank=True, default="")
    created = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True, blank=True)
    finished = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["owner", "launch_key"], condition=~models.Q(launch_key=""), name="one_run_a_form"
            )
        ]

    def __str__(self) -> str:
        return f"r-{self.pk}"

    @property
    def written(self) -> str:
        """What its proposer writes, as people call it."""
        return Language(self.representation).label

    @property
    def imported(self) -> Import | None:
        """The archive that it came in; None for a run of this installation."""
        return getattr(self, "origin", None)

    @property
    def brought_by(self) -> str:
        """What devices and profiles of its archive bear as ``elsewhere``; empty for a run of this installation."""
        return self.imported.digest if self.imported is not None else ""

    @property
    def baseline_kinds(self) -> tuple[BaselineKind, ...]:
        """What its candidates are timed beside."""
        return parse_baselines([self.baselines])


class Trajectory(models.Model):
    """A run's work on one problem. Times are seconds; ``bounds`` is the Bounds' JSON it was started with.

    ``seed_program`` is a person's first program, in ``seed_language``; empty where the search starts from the
    translated one. ``stop_requested`` is when a person stopped this problem alone.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="trajectories")
    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="trajectories")
    size = models.CharField(max_length=40)
    seed_program = models.TextField(blank=True, default="")
    seed_language = models.CharField(max_length=10, choices=choices(Language), default=Language.MU)
    state = models.CharField(max_length=12, choices=TrajectoryState.choices, default=TrajectoryState.QUEUED)
    finish_reason = models.CharField(max_length=30, blank=True)
    words = models.TextField(blank=True)
    error = models.CharField(max_length=80, blank=True)
    sol_s = models.FloatField(null=True)
    floor_s = models.FloatField(null=True)
    bound_class = models.CharField(max_length=10, blank=True)
    bounds = models.JSONField(null=True)
    device = models.CharField(max_length=200, blank=True)
    eager_s = models.FloatField(null=True)
    best = models.ForeignKey("Attempt", on_delete=models.SET_NULL, null=True, related_name="+")
    best_s = models.FloatField(null=True)
    attempts_done = models.PositiveIntegerField(default=0)
    stop_requested = models.DateTimeField(null=True, blank=True)
    stopped_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "problem"], name="one_trajectory_a_problem")
        ]

    def __str__(self) -> str:
        return f"{self.run} on {self.problem.slug}"

    @property
    def gap(self) -> float | None:
        """Best time over the steering bound; None until a candidate passed."""
        if self.best_s is None or self.sol_s is None:
            return None
        return self.best_s / self.sol_s

    @property
    def speedup(self) -> float | None:
        """Torch eager's time over the best time; None until a candidate passed."""
        if self.best_s is None or self.eager_s is None:
            return None
        return self.eager_s / self.best_s


class Attempt(models.Model):
    """One candidate of a trajectory. ``time_s`` is its median and None unless it passed.

    ``reason`` is why it is incorrect; blank in every other outcome. ``held`` is why its time does not count; blank
    where it does, and where there is none.
    """

    trajectory = models.ForeignKey(Trajectory, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="children")
    kernel = models.ForeignKey(Kernel, on_delete=models.PROTECT, related_name="attempts")
    change = models.TextField(blank=True)
    hypothesis = models.TextField(blank=True)
    state = models.CharField(max_length=12, choices=AttemptState.choices, default=AttemptState.QUEUED)
    outcome = models.CharField(max_length=20, choices=choices(Outcome), blank=True, db_index=True)
    reason = models.CharField(max_length=20, choices=choices(IncorrectReason), blank=True)
    detail = models.TextField(blank=True)
    time_s = models.FloatField(null=True)
    eager_s = models.FloatField(null=True)
    held = models.CharField(max_length=10, choices=choices(Held), blank=True, default="")
    new_best = models.BooleanField(default=False)
    change_of_best = models.FloatField(null=True)
    build = models.ForeignKey(Build, on_delete=models.SET_NULL, null=True, related_name="attempts")
    cross_build = models.ForeignKey(Build, on_delete=models.SET_NULL, null=True, related_name="+")
    evaluation = models.ForeignKey(Evaluation, on_delete=models.SET_NULL, null=True, related_name="attempts")
    tries = models.PositiveSmallIntegerField(default=0)
    created = models.DateTimeField(auto_now_add=True)
    finished = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["trajectory", "number"], name="one_attempt_a_number"),
            models.CheckConstraint(
                condition=models.Q(reason="") | models.Q(outcome=Outcome.INCORRECT.value),
                name="reason_of_incorrect_alone",
            ),
        ]
        indexes: ClassVar = [
            # How records fell: a record of all runs is one of its own first.
            models.Index(fields=["trajectory"], condition=models.Q(new_best=True), name="attempt_records"),
        ]

    def __str__(self) -> str:
        return f"{self.trajectory} #{self.number}"

    @property
    def incorrect_reason(self) -> IncorrectReason | None:
        """Why it is incorrect; None where it is not, or where that was not recorded."""
        return IncorrectReason(self.reason) if self.reason else None

    @property
    def standing(self) -> TimeStanding:
        """Where its time stands beside its problem's bounds."""
        return standing_of(self.time_s, self.trajectory.floor_s, self.trajectory.sol_s)

    @property
    def told(self) -> str:
        """What is to be said of its time: why it is held, or where it stands; empty where nothing is."""
        return told(self.held, self.time_s, self.trajectory.floor_s, self.trajectory.sol_s) if self.time_s else ""

    @property
    def counted_s(self) -> float | None:
        """Its time where it counts: neither held for review nor settled as gamed."""
        return None if self.held else self.time_s

    @property
    def gap(self) -> float | None:
        """Its time over the steering bound; None unless it passed and its time counts."""
        if self.counted_s is None or self.trajectory.sol_s is None:
            return None
        return self.counted_s / self.trajectory.sol_s

    @property
    def speedup(self) -> float | None:
        """Torch eager of the same call over it; None where either is missing or its time does not count."""
        if self.counted_s is None or not self.eager_s:
            return None
        return self.eager_s / self.counted_s


class Event(models.Model):
    """One entry of a trajectory's log; ``record`` is an agent event's JSON. Never changed, never deleted alone."""

    trajectory = models.ForeignKey(Trajectory, on_delete=models.CASCADE, related_name="events")
    sequence = models.PositiveIntegerField()
    kind = models.CharField(max_length=20)
    record = models.JSONField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["sequence"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["trajectory", "sequence"], name="one_event_a_sequence")
        ]

    def __str__(self) -> str:
        return f"{self.trajectory} event {self.sequence}: {self.kind}"


class Job(models.Model):
    """One piece of work. ``token`` is whoever claimed it; a result counts only while the token still stands."""

    kind = models.CharField(max_length=12, choices=JobKind.choices)
    queue = models.CharField(max_length=40)
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, null=True, related_name="jobs")
    trajectory = models.ForeignKey(Trajectory, on_delete=models.CASCADE, null=True, related_name="jobs")
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, null=True, related_name="jobs")
    payload = models.JSONField(default=dict)
    token = models.CharField(max_length=32, blank=True)
    worker = models.CharField(max_length=100, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)
    lease_until = models.DateTimeField(null=True)
    created = models.DateTimeField(auto_now_add=True)
    sent = models.DateTimeField(null=True)
    claimed = models.DateTimeField(null=True)
    finished = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["state", "queue"]),
            models.Index(fields=["run", "state"]),
            # How a run's time divides, also on some of its problems, without a look at its jobs.
            models.Index(
                fields=["run", "state", "kind", "claimed", "finished", "trajectory"], name="jobs_time_split"
            ),
            models.Index(fields=["finished"], name="jobs_by_end"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} job {self.pk}"


class Worker(models.Model):
    """A worker process by name, and when it last said that it lives. ``job`` is what it does now.

    ``readings`` is what its heartbeat read of the machine last (``runs.telemetry``). ``drained`` is since when it
    takes nothing more.
    """

    name = models.CharField(max_length=100, unique=True)
    queue = models.CharField(max_length=40, db_index=True)
    process_id = models.PositiveIntegerField()
    facts = models.JSONField(default=dict)
    job = models.ForeignKey(Job, on_delete=models.SET_NULL, null=True, related_name="+")
    readings = models.JSONField(default=dict)
    drained = models.DateTimeField(null=True)
    started = models.DateTimeField()
    heartbeat = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.name
