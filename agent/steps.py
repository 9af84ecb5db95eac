"""The words between a controller and whoever drives it: settings, events, steps.

A run is an event log. A controller is a pure function of it: ``next_step(settings, history) -> Step``. It holds no
state, reads no clock and draws no random number that does not follow from the settings' seed and the history, so
that replaying any prefix gives the same next step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias

from kernels.harness.evaluation import Outcome
from kernels.languages import Language
from kernels.problems.inspection import Signature
from kernels.targets import Policy, Target


@dataclass(frozen=True, slots=True)
class TrajectorySettings:
    """What a person chose at launch. ``epsilon`` is a fraction (0.25: within 25 % of SOL); None: rule off."""

    controller: str
    proposer: str
    attempts: int
    epsilon: float | None
    patience: int | None
    steering: bool
    seed: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program to try. ``parent`` is the attempt it was made from (None: the translated program).

    ``language`` is what its text is written in; proposers write μCUTLASS, a person may give something else.
    ``change`` names the change in the language's own words (``tile(128, 256, 64)``), ``hypothesis`` why it should
    help, in one sentence.
    """

    text: str
    parent: int | None
    change: str
    hypothesis: str
    language: Language = Language.MU


@dataclass(frozen=True, slots=True)
class Started:
    """First event: the problem as the agent sees it. Times in seconds; ``cores`` for the host target.

    ``l2_bytes`` is what one core of the host has of second-level cache, None where it is not known. ``seed_given``
    says that a person wrote ``seed_program``, in ``seed_language``; else it is the translated one.
    """

    problem: str
    signature: Signature
    target: Target
    policy: Policy
    seed_program: str
    sol_s: float
    floor_s: float
    bound_class: Literal["compute", "memory"]
    cores: int
    l2_bytes: int | None = None
    seed_given: bool = False
    seed_language: Language = Language.MU
    kind: Literal["started"] = "started"


@dataclass(frozen=True, slots=True)
class Asked:
    """The controller asked the proposer for candidates."""

    ask: Ask
    kind: Literal["asked"] = "asked"


@dataclass(frozen=True, slots=True)
class Answered:
    """The proposer answered ask ``number``. No candidate and an ``error`` where it had none."""

    number: int
    candidates: tuple[Candidate, ...]
    error: str | None = None
    kind: Literal["answered"] = "answered"


@dataclass(frozen=True, slots=True)
class Submitted:
    """A candidate became attempt ``number`` (1-based, gapless within a trajectory)."""

    number: int
    candidate: Candidate
    kind: Literal["submitted"] = "submitted"


@dataclass(frozen=True, slots=True)
class Measured:
    """Attempt ``number`` ended. ``time_s`` is the median and None unless it passed; ``baseline_s`` is torch eager
    from the same call. ``flagged`` is true where an open severe flag keeps it from counting."""

    number: int
    outcome: Outcome
    detail: str
    time_s: float | None
    baseline_s: float | None
    flagged: bool = False
    stage_seconds: dict[str, float] = field(default_factory=dict)
    kind: Literal["measured"] = "measured"


@dataclass(frozen=True, slots=True)
class Finished:
    """The controller ended the trajectory."""

    reason: FinishReason
    words: str
    kind: Literal["finished"] = "finished"


Event: TypeAlias = Started | Asked | Answered | Submitted | Measured | Finished
History: TypeAlias = tuple[Event, ...]


class FinishReason(StrEnum):
    """Why a trajectory ended."""

    NEAR_SOL = "near_sol"
    NO_PROGRESS = "no_progress"
    ATTEMPTS_SPENT = "attempts_spent"
    SPACE_EXHAUSTED = "space_exhausted"
    PROPOSER_FAILED = "proposer_failed"


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the proposer for ``count`` candidates made from attempt ``parent`` (None: from the translated program).

    ``payload`` is what the proposer needs beyond the history, in JSON; a model's prompt goes there.
    """

    number: int
    purpose: Literal["seed", "expand"]
    parent: int | None
    count: int
    payload: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Build and measure ``candidate`` as attempt ``number``."""

    number: int
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Finish:
    """Stop this trajectory."""

    reason: FinishReason
    words: str


Step: TypeAlias = Ask | Evaluate | Finish


class Controller(Protocol):
    """What to do next, from the history alone."""

    name: str

    def next_step(self, settings: TrajectorySettings, history: History) -> Step:
        """The next step; called only when nothing is under way (no open ask, no attempt without its result)."""
        ...


class Proposer(Protocol):
    """Who writes candidates."""

    name: str

    def answer(self, settings: TrajectorySettings, history: History, ask: Ask) -> Answered:
        """Candidates for ``ask``; never raises for what a model or a search may run into: that is ``error``."""
        ...
