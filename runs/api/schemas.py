"""The forms of the API: what is posted and what is answered. Times are seconds, sizes bytes, speedups ratios.

Every field of an answer is always there; null is "not measured" or "not known", never zero.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from kernels.languages import EDITOR_BYTES, Language
from kernels.targets import Policy, Target


def _plain(text: str) -> str:
    """Text that a database can hold."""
    if "\0" in text:
        raise ValueError("holds NUL bytes; text would be right")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("holds halves of surrogate pairs; text that UTF-8 can hold would be right") from None
    return text


Plain = Annotated[str, AfterValidator(_plain)]
Title = Annotated[str, StringConstraints(max_length=200), AfterValidator(_plain)]
Words = Annotated[str, StringConstraints(max_length=4000), AfterValidator(_plain)]


class Wanted(Schema):
    """A posted form: what it does not know is refused, so that a misspelt field is not ignored."""

    model_config = ConfigDict(extra="forbid")


class Me(Schema):
    """Who asks, with their role; ``token`` is null for a session."""

    user: str
    role: str
    token: str | None
    scope: str


class ProblemItem(Schema):
    """One problem of the list. ``id`` is what its ``slug`` is among pages; the next page starts after it."""

    id: int
    slug: str
    name: str
    collection: str
    level: int | None
    number: int | None
    sizes: list[str]
    summary: str


class ProblemPage(Schema):
    """Problems by id. ``next`` is the ``after`` of the next page; null on the last."""

    items: list[ProblemItem]
    next: int | None


class Tensor(Schema):
    """A tensor's element type and shape, in elements."""

    name: str
    dtype: str
    shape: list[int]


class SizeForm(Schema):
    """One of a problem's sizes. ``status``: inspected, failed (with ``error`` and ``detail``) or waiting."""

    size: str
    status: str
    error: str | None
    detail: str | None
    kind: str | None
    flops: int | None
    bytes: int | None
    inputs: list[Tensor] | None
    parameters: list[Tensor] | None
    outputs: list[Tensor] | None


class ProblemForm(ProblemItem):
    """A problem whole: its reference in Python and its sizes."""

    source: str
    inspected: list[SizeForm]


class ProgramForm(Schema):
    """A text to start from; ``target`` and ``size`` are what it was made for."""

    problem: str
    target: Target
    size: str
    language: Language
    text: str


class RunWanted(Wanted):
    """A run. Whoever is its ``proposer`` writes its candidates: "external", an agent that posts them; "search"; or a
    model as "model:NAME". ``epsilon`` is a fraction; null turns a stop rule or a limit off, and has ``controller``,
    ``steering`` and ``order`` suit the proposer. ``baselines`` are timed beside torch eager, which always is.
    """

    problems: Annotated[list[Plain], Field(min_length=1, max_length=300)]
    title: Title = ""
    target: Target = Target.HOST
    policy: Policy = Policy.STRICT
    proposer: Plain = "external"
    controller: Plain | None = None
    representation: Language = Language.MU
    attempts: Annotated[int, Field(ge=1, le=1000)] = 40
    pool: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    epsilon: Annotated[float | None, Field(ge=0, le=10, allow_inf_nan=False)] = None
    patience: Annotated[int | None, Field(ge=2, le=1000)] = None
    token_limit: Annotated[int | None, Field(ge=1, le=10**12)] = None
    cost_limit: Annotated[float | None, Field(gt=0, le=1e9, allow_inf_nan=False)] = None
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    steering: bool | None = None
    memory: bool = True
    shape: Plain | None = None
    order: Plain | None = None
    tolerance: Plain = "strict"
    baselines: list[Plain] = []
    seed_program: Annotated[Plain, StringConstraints(max_length=EDITOR_BYTES)] = ""
    seed_language: Language = Language.MU


class TrajectoryItem(Schema):
    """A run's work on one problem. ``best`` is an attempt's number; ``words`` say how it ended."""

    id: int
    problem: str
    size: str
    state: str
    finish_reason: str | None
    words: str
    attempts_done: int
    best: int | None
    best_s: float | None
    eager_s: float | None
    speedup: float | None
    sol_s: float | None
    floor_s: float | None
    gap: float | None


class RunItem(Schema):
    """One run of the list. ``problems`` and ``attempts_done`` count all of it; ``attempts`` is the budget a problem."""

    id: int
    title: str
    owner: str
    state: str
    reason: str
    target: str
    policy: str
    controller: str
    proposer: str
    representation: str
    tolerance: str
    seed: int
    steering: bool
    grid: int | None
    attempts: int
    problems: int
    attempts_done: int
    created: datetime
    finished: datetime | None


class RunPage(Schema):
    """Runs, newest first. ``next`` is the ``before`` of the next page; null on the last."""

    items: list[RunItem]
    next: int | None


class RunForm(RunItem):
    """A run with its trajectories; ``yours`` says whether the caller may post to it and cancel it."""

    yours: bool
    trajectories: list[TrajectoryItem]


class BudgetWanted(Wanted):
    """Other limits for a run; what is not named stays. ``epsilon`` is a fraction; null: rule off, or no limit."""

    attempts: Annotated[int | None, Field(ge=1, le=1000)] = None
    pool: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    epsilon: Annotated[float | None, Field(ge=0, le=10, allow_inf_nan=False)] = None
    patience: Annotated[int | None, Field(ge=2, le=1000)] = None
    token_limit: Annotated[int | None, Field(ge=1, le=10**12)] = None
    cost_limit: Annotated[float | None, Field(gt=0, le=1e9, allow_inf_nan=False)] = None


class BudgetForm(Schema):
    """A run's limits and what is used: ``used_attempts`` by the problem with the most, ``used_pool`` by all together.

    ``used_cost`` and ``currency`` are null where no model with prices was asked.
    """

    run: int
    state: str
    attempts: int
    pool: int | None
    epsilon: float | None
    patience: int | None
    token_limit: int | None
    cost_limit: float | None
    used_attempts: int
    used_pool: int
    used_tokens: int
    used_cost: float | None
    currency: str | None


class ChangeItem(Schema):
    """One thing that somebody did to a run. ``record`` has an action's numbers: limits before and after, how many
    problems and attempts go on. ``user`` is null for somebody who has left."""

    action: str
    user: str | None
    problem: str | None
    words: str
    record: dict[str, Any]
    created: datetime


class ChangePage(Schema):
    """What was done to a run since its launch, the newest first."""

    items: list[ChangeItem]


class TrajectoryForm(TrajectoryItem):
    """A trajectory whole. ``seed_program`` is what attempt 1 tries; null until it is prepared.

    ``waits_for_post`` says that nothing goes on until somebody posts. ``waiting`` are posted candidates whose turn has
    not come, ``attempts_left`` how many more would be taken.
    """

    run: int
    device: str
    seed_program: str | None
    seed_language: str
    waits_for_post: bool
    waiting: list[int]
    attempts_left: int


class EndWanted(Wanted):
    """Why an agent ends its trajectory, in words."""

    words: Annotated[str, StringConstraints(min_length=1, max_length=500), AfterValidator(_plain)]


class CandidateWanted(Wanted):
    """A candidate. ``change`` names what is different from ``parent`` (an attempt's number; null: the translated
    program), ``hypothesis`` why it should help, ``predicted`` the speedup over the parent that is expected."""

    text: str
    language: Language = Language.MU
    parent: Annotated[int | None, Field(ge=1)] = None
    change: Words = ""
    hypothesis: Words = ""
    predicted: Annotated[float | None, Field(gt=0, le=1e6, allow_inf_nan=False)] = None


class AdviceForm(Schema):
    """One thing to try. ``knob`` of ``stage`` with ``args`` in place of ``now``, or a ``change`` of structure; neither:
    the words alone."""

    words: str
    stage: str = ""
    knob: str = ""
    args: list[int | str] = []
    now: list[int | str] = []
    change: str = ""


class FindingForm(Schema):
    """What one feedback tool found: ``advice``, the best first; ``gain``, the expected speedup, null if unknown."""

    tool: str
    severity: str
    cause: str
    advice: list[AdviceForm] = []
    gain: float | None = None
    arithmetic: str = ""
    evidence: list[str] = []
    stage: str = ""


class Round(Schema):
    """What one attempt came to. ``reason`` is why it is incorrect. ``flagged``: its time does not count; ``held`` is
    then floor, flagged, hacked or bug, ``why_held`` what to do about it in words, and there is no speedup and no gap.
    ``findings`` are what the feedback tools found, with their advice."""

    number: int
    state: str
    outcome: str | None
    reason: str | None
    detail: str
    parent: int | None
    language: str
    change: str
    hypothesis: str
    predicted: float | None
    time_s: float | None
    eager_s: float | None
    speedup: float | None
    gap: float | None
    new_best: bool
    flagged: bool
    held: str | None
    why_held: str | None
    findings: list[FindingForm]
    created: datetime
    finished: datetime | None


class AttemptForm(Round):
    """One attempt with its text."""

    text: str


class HistoryPage(Schema):
    """Attempts by number. ``next`` is the ``after`` of the next page; null on the last."""

    items: list[Round]
    next: int | None


class CandidateForm(Schema):
    """A posted candidate. ``state``: waiting (for its turn), under_way, ended, or dropped where its trajectory ended
    first. ``attempt`` is null while it waits."""

    id: int
    trajectory: int
    state: str
    attempt: AttemptForm | None


class EvaluationForm(Schema):
    """The record of an evaluation as the harness made it (docs/evaluation.md)."""

    attempt: int
    machine: str
    record: dict[str, Any]


class UnitForm(Schema):
    """One unit's generated code: a shared object of some stages."""

    symbol: str
    stages: list[str]
    hand_written: bool
    source: str


class CodeForm(Schema):
    """What a candidate was compiled from, for ``target``."""

    attempt: int
    target: str
    units: list[UnitForm]
