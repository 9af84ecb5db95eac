"""A candidate's profile as its page shows it: the launch that is looked at, what waits, and why there is nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kernels.harness.evaluation import Timing
from kernels.models import Profile as Row
from kernels.profiling.digest import STALL_WORDS, Line, digest
from kernels.profiling.overhead import Overhead, overhead
from kernels.profiling.record import FULL, KernelProfile, Profile
from kernels.profiling.tables import (
    Row as Quantity,
)
from kernels.profiling.tables import (
    launch_rows,
    limit_rows,
    memory_rows,
    occupancy_rows,
    pipe_rows,
    schedule_rows,
    speed_rows,
)
from kernels.records import from_json
from kernels.targets import Target
from runs.fleet import device_queue, queue_states
from runs.models import Attempt, Job
from runs.profiles import can_be_profiled, profile_jobs, profiles_of, report_file, shown_of, why_no_counters
from runs.states import LIVING_JOBS, JobState

_STALLS_SHOWN = 8
_LAUNCHES_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Launch:
    """One line of the table of launches; ``share`` of all launches' time, None where a time is missing."""

    index: int
    kernel: KernelProfile
    share: float | None
    current: bool

    @property
    def short(self) -> str:
        """The beginning of its name; the whole of one of CUTLASS runs to thousands of characters."""
        return self.kernel.name.removeprefix("void ")[:160]


@dataclass(frozen=True, slots=True)
class StallRow:
    """One reason with its words; ``share`` of a warp's time between two issues."""

    reason: str
    words: str
    cycles: float
    share: float | None


class ProfilePane:
    """The profile of one attempt. ``chosen`` is the launch that a reader asked for, as the address has it."""

    def __init__(self, attempt: Attempt, timing: Timing | None, chosen: str = "") -> None:
        self.attempt = attempt
        self.target = Target(attempt.trajectory.run.target)
        self._timing = timing
        self._chosen = chosen

    @cached_property
    def _rows(self) -> list[Row]:
        return profiles_of(self.attempt) if self.target.is_cuda else []

    @cached_property
    def row(self) -> Row | None:
        """The row shown."""
        return shown_of(self._rows)

    @cached_property
    def record(self) -> Profile | None:
        """The profile shown, where it has figures."""
        if self.row is None:
            return None
        found = from_json(self.row.record, Profile)
        return found if found.kernels else None

    @property
    def failure(self) -> str:
        """Why the latest try has no figures; empty where it has, or where nobody tried."""
        latest = self._rows[0] if self._rows else None
        return str(latest.record.get("detail", "")) if latest is not None and latest.reason else self._job_error

    @cached_property
    def _latest_job(self) -> Job | None:
        return next(iter(profile_jobs(self.attempt)), None) if self.target.is_cuda else None

    @property
    def job(self) -> Job | None:
        """The job that is to profile it and has not ended."""
        latest = self._latest_job
        return latest if latest is not None and latest.state in LIVING_JOBS else None

    @property
    def _job_error(self) -> str:
        latest = self._latest_job
        if latest is None or latest.state in LIVING_JOBS:
            return ""
        if latest.state == JobState.LOST:
            lines = latest.error.strip().splitlines() or ["its worker stopped answering"]
            return f"lost after {latest.tries} tries: {lines[-1][:300]}"
        return latest.error

    @property
    def state(self) -> str:
        """What a page asks for while it waits, to learn whether anything changed."""
        return self.job.state if self.job is not None else "none"

    @property
    def possible(self) -> bool:
        """Whether there is something that could be profiled."""
        return can_be_profiled(self.attempt)

    @cached_property
    def unreadable(self) -> str:
        """What the workers of this target say that keeps them from reading counters."""
        return why_no_counters(self.target) if self.target.is_cuda else ""

    @cached_property
    def waits_for(self) -> str:
        """The queue that nobody serves, where a profile would wait for a worker; empty where one is online."""
        name = device_queue(self.target)
        return "" if queue_states((name,))[name].online else name

    @property
    def has_report(self) -> bool:
        """Whether its report can be downloaded."""
        return self.row is not None and report_file(self.row) is not None

    @property
    def full(self) -> bool:
        """Whether everything that the profiler has was asked for."""
        return self.row is not None and self.row.metric_set == FULL

    # --- launches -------------------------------------------------------------------------------

    @cached_property
    def index(self) -> int:
        """The launch that is looked at: the one asked for, else the longest."""
        kernels = self.record.kernels if self.record is not None else ()
        if self._chosen.isascii() and self._chosen.isdigit() and int(self._chosen) < len(kernels):
            return int(self._chosen)
        return max(range(len(kernels)), key=lambda at: kernels[at].duration_s or 0.0, default=0)

    @cached_property
    def kernel(self) -> KernelProfile | None:
        """That launch."""
        return self.record.kernels[self.index] if self.record is not None else None

    @cached_property
    def launches(self) -> list[Launch]:
        """All launches in their order."""
        if self.record is None:
            return []
        total = self.record.total_s
        return [
            Launch(index, one, one.duration_s / total if total and one.duration_s is not None else None,
                   index == self.index)
            for index, one in enumerate(self.record.kernels[:_LAUNCHES_SHOWN])
        ]  # fmt: skip

    @property
    def more_launches(self) -> int:
        """Launches of the record that the table leaves out."""
        return max(len(self.record.kernels) - _LAUNCHES_SHOWN, 0) if self.record is not None else 0

    # --- the launch that is looked at -----------------------------------------------------------

    @cached_property
    def lines(self) -> list[Line]:
        """What limits it, in words."""
        if self.record is None:
            return []
        return [
            one for one in digest(self.record, most_kernels=len(self.record.kernels)) if one.kernel == self.index
        ]

    @cached_property
    def stalls(self) -> list[StallRow]:
        """Why its warps did not issue, the largest part first; what is less than half a percent is left out."""
        if self.kernel is None:
            return []
        told = [stall for stall in self.kernel.stalls if stall.share is None or stall.share >= 0.005]
        return [
            StallRow(one.reason.replace("_", " "), STALL_WORDS[one.reason], one.cycles, one.share)
            for one in told[:_STALLS_SHOWN]
        ]

    @property
    def speed(self) -> tuple[Quantity, ...]:
        """Percent of what each unit can sustain."""
        return speed_rows(self.kernel) if self.kernel is not None else ()

    @property
    def occupancy(self) -> tuple[Quantity, ...]:
        """Occupancy."""
        return occupancy_rows(self.kernel) if self.kernel is not None else ()

    @property
    def limits(self) -> tuple[Quantity, ...]:
        """Blocks a multiprocessor by each resource."""
        return limit_rows(self.kernel) if self.kernel is not None else ()

    @property
    def launch(self) -> tuple[Quantity, ...]:
        """Grid, block, registers, shared memory, clocks."""
        return launch_rows(self.kernel) if self.kernel is not None else ()

    @property
    def memory(self) -> tuple[Quantity, ...]:
        """Traffic and its use."""
        return memory_rows(self.kernel) if self.kernel is not None else ()

    @property
    def pipes(self) -> tuple[Quantity, ...]:
        """Pipes other than the tensor cores'."""
        return pipe_rows(self.kernel) if self.kernel is not None else ()

    @property
    def schedule(self) -> tuple[Quantity, ...]:
        """What the schedulers did."""
        return schedule_rows(self.kernel) if self.kernel is not None else ()

    @property
    def overhead(self) -> Overhead | None:
        """What of the call's own time no kernel accounts for, by the evaluation's figures."""
        return overhead(self._timing)
