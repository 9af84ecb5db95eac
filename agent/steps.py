"""The words between a controller and whoever drives it: settings, events, steps.

A run is an event log. A controller is a pure function of it: ``next_step(settings, history) -> Step``. It holds no
state, reads no clock and draws no random number that does not follow from the settings' seed and the history, so
that replaying any prefix gives the same next step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias

from agent.feedback.record import Finding
from kernels.harness.evaluation import Outcome
from kernels.languages import Language
from kernels.problems.inspection import Signature
from kernels.targets import Policy, Target
from sol.gap.record import Gap


@dataclass(frozen=True, slots=True)
class Shape:
    """How orchestrated MANTIS divides its attempts: so many iterations, hypotheses in each, attempts for each."""

    iterations: int
    hypotheses: int
    attempts: int


@dataclass(frozen=True, slots=True)
class TrajectorySettings:
    """What a person chose at launch. ``epsilon`` is a fraction (0.25: within 25 % of SOL); None: rule off.

    ``steering`` off keeps the speed of light and the gap out of prompts and triage, ``memory`` off keeps lessons out.
    ``representation`` is the language that the proposer writes in. ``shape`` is read by orchestrated MANTIS alone.
    ``token_limit`` and ``cost_limit`` are the whole run's, over all of its problems, and kept by who drives it.
    """

    controller: str
    proposer: str
    attempts: int
    epsilon: float | None
    patience: int | None
    steering: bool
    seed: int
    representation: Language = Language.MU
    memory: bool = True
    shape: Shape = Shape(5, 2, 4)
    token_limit: int | None = None
    cost_limit: float | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program to try. ``parent`` is the attempt it was made from (None: the translated program).

    ``language`` is what its text is written in: the run's representation, or what a person gave.
    ``change`` names the change in the language's own words (``tile(128, 256, 64)``), ``hypothesis`` why it should
    help, in one sentence. ``predicted`` is the speedup over its parent that its author expects (1.5: one and a half
    times as fast), None where none was said; ``tool`` is the feedback tool whose advice it follows, or empty.
    """

    text: str
    parent: int | None
    change: str
    hypothesis: str
    language: Language = Language.MU
    predicted: float | None = None
    tool: str = ""


@dataclass(frozen=True, slots=True)
class LessonNote:
    """What earlier work taught: lesson ``id``, learned on ``problem``, for problems of that kind and bottleneck.

    ``change`` in the language's words without its stage, and the speedup it gave, where the lesson is a measured one.
    """

    id: int
    problem: str
    kind: str
    bottleneck: str
    text: str
    change: str = ""
    gain: float | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """First event: the problem as the agent sees it. Times in seconds; ``cores`` for the host target.

    ``l2_bytes`` is what one core of the host has of second-level cache, None where it is not known. ``seed_given``
    says that a person wrote ``seed_program``, in ``seed_language``; else it is the translated one.
    ``problem_source`` is the problem's Python, ``sol_report`` its bounds in words, ``lessons`` what memory holds that
    may help; all three are for prompts, and empty where there is nothing. ``operation`` is the kind of operation that
    dominates the problem, in the words of lessons.
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
    problem_source: str = ""
    sol_report: str = ""
    lessons: tuple[LessonNote, ...] = ()
    operation: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """The controller asked the proposer for candidates."""

    ask: Ask
    kind: Literal["asked"] = "asked"


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer took: requests, tokens, money and seconds of waiting for the server, failed tries included.

    Tokens are what the server reported (None where it reported none), ``cost`` is in the currency of the model's
    prices and None where a price or a token count is missing.
    """

    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Answered:
    """The proposer answered ask ``number``. No candidate and an ``error`` where it had none.

    ``data`` is what a phase gave that is no candidate (an analysis, hypotheses, a lesson), in the phase's own form
    (``agent/prompts/schemas.py``); None where there is none. ``usage`` is None where no model was called.
    """

    number: int
    candidates: tuple[Candidate, ...]
    error: str | None = None
    kind: Literal["answered"] = "answered"
    data: dict[str, Any] | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """A candidate became attempt ``number`` (1-based, gapless within a trajectory)."""

    number: int
    candidate: Candidate
    kind: Literal["submitted"] = "submitted"


@dataclass(frozen=True, slots=True)
class Measured:
    """Attempt ``number`` ended. ``time_s`` is the median and None unless it passed; ``baseline_s`` is torch eager
    from the same call. ``flagged`` is true where an open severe flag keeps it from counting. ``feedback`` is what the
    tools of ``agent.feedback`` found with what was known by then.

    ``gap`` says what its distance to the bound is made of, None where it has none that counts.
    """

    number: int
    outcome: Outcome
    detail: str
    time_s: float | None
    baseline_s: float | None
    flagged: bool = False
    stage_seconds: dict[str, float] = field(default_factory=dict)
    feedback: tuple[Finding, ...] = ()
    kind: Literal["measured"] = "measured"
    gap: Gap | None = None


@dataclass(frozen=True, slots=True)
class Profiled:
    """Attempt ``number`` was profiled after it ended: ``feedback`` takes the place of its result's. Its result
    stands, and nothing else about it changes."""

    number: int
    feedback: tuple[Finding, ...]
    kind: Literal["profiled"] = "profiled"


@dataclass(frozen=True, slots=True)
class Recalled:
    """Memory grew while the trajectory was under way: ``lessons`` take the place of those before."""

    lessons: tuple[LessonNote, ...]
    kind: Literal["recalled"] = "recalled"


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings that a person may change while a run is under way, or to let an ended one go on."""

    attempts: int
    epsilon: float | None
    patience: int | None
    token_limit: int | None = None
    cost_limit: float | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """A person changed the run's limits: from here on ``after`` holds, up to here it was ``before``."""

    before: Limits
    after: Limits
    kind: Literal["changed"] = "changed"


@dataclass(frozen=True, slots=True)
class Reopened:
    """A person let the trajectory go on after it had ended; what it ended for is judged anew."""

    why: str
    kind: Literal["reopened"] = "reopened"


@dataclass(frozen=True, slots=True)
class Finished:
    """The controller ended the trajectory."""

    reason: FinishReason
    words: str
    kind: Literal["finished"] = "finished"


Event: TypeAlias = (
    Started | Asked | Answered | Submitted | Measured | Profiled | Recalled | Changed | Reopened | Finished
)
History: TypeAlias = tuple[Event, ...]


class FinishReason(StrEnum):
    """Why a trajectory ended."""

    NEAR_SOL = "near_sol"
    NO_PROGRESS = "no_progress"
    ATTEMPTS_SPENT = "attempts_spent"
    SPACE_EXHAUSTED = "space_exhausted"
    PROPOSER_FAILED = "proposer_failed"
    BUDGET_SPENT = "budget_spent"
    IDLE = "idle"
    AGENT_DONE = "agent_done"


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the proposer for ``count`` candidates made from attempt ``parent`` (None: from the translated program).

    ``purpose`` is what is wanted: a first program where there is none (``seed``), candidates (``expand``) or a phase's
    own answer (``advise``; ``Answered.data``). ``phase`` is which prompt puts it to a model (``agent/prompts``); empty
    in old logs, which is ``attempt``. ``payload`` is what the phase needs beyond the history, in JSON. A prompt is
    never in it: whoever answers composes that from the history.
    """

    number: int
    purpose: Literal["seed", "expand", "advise"]
    parent: int | None
    count: int
    payload: dict[str, Any] = field(default_factory=dict)
    phase: str = ""


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
