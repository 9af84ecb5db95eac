"""The states of runs, trajectories, attempts and jobs. A state says where work stands; it is never a verdict."""

from __future__ import annotations

from django.db import models


class RunState(models.TextChoices):
    """Where a run stands."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class TrajectoryState(models.TextChoices):
    """Where a run's work on one problem stands."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class AttemptState(models.TextChoices):
    """Where one candidate stands."""

    QUEUED = "queued"
    BUILDING = "building"
    BUILT = "built"
    EVALUATING = "evaluating"
    DONE = "done"
    CANCELLED = "cancelled"
    LOST = "lost"


class JobKind(models.TextChoices):
    """What a job does."""

    PEAKS = "peaks"
    INSPECT = "inspect"
    PREPARE = "prepare"
    ADVANCE = "advance"
    ASK = "ask"
    BUILD = "build"
    EVALUATE = "evaluate"
    CROSS_BUILD = "cross_build"
    DISASSEMBLE = "disassemble"
    PROFILE = "profile"


class JobState(models.TextChoices):
    """Where a job stands. QUEUED, PAUSED (its run is) and CLAIMED are the living states."""

    QUEUED = "queued"
    PAUSED = "paused"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


FINAL = ("done", "failed", "cancelled", "lost")
ASIDE = (JobKind.CROSS_BUILD, JobKind.DISASSEMBLE, JobKind.PROFILE)
"""Jobs about an attempt that leave it where it stands, however they end."""
LIVING_JOBS = (JobState.QUEUED, JobState.PAUSED, JobState.CLAIMED)
RESTING_JOBS = (JobState.QUEUED, JobState.PAUSED)
"""Jobs that nobody works on."""


class Order(models.TextChoices):
    """In which order a run's problems are prepared and advanced."""

    HEADROOM = "headroom"
    LISTED = "listed"
