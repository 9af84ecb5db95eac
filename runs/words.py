"""States and outcomes in the words and signs of the pages. A state says where work stands, an outcome how it ended."""

from __future__ import annotations

from dataclasses import dataclass

from agent.proposers.external import External
from agent.steps import FinishReason
from kernels.harness.correctness import IncorrectReason
from kernels.harness.evaluation import Outcome
from runs.models import Attempt, Run, Trajectory
from runs.states import AttemptState, RunState, TrajectoryState
from sol.gap.standing import Held, TimeStanding


@dataclass(frozen=True, slots=True)
class Word:
    """What is written, the sign beside it (a symbol of the sprite), and its tone ("sol" or none)."""

    text: str
    icon: str
    tone: str = ""


_RUN = {
    RunState.QUEUED: Word("queued", "wait"),
    RunState.RUNNING: Word("running", "run"),
    RunState.PAUSED: Word("paused", "wait"),
    RunState.DONE: Word("done", "done"),
    RunState.FAILED: Word("failed", "fail"),
    RunState.CANCELLED: Word("cancelled", "stop"),
}
_FINISHED = {
    FinishReason.NEAR_SOL: Word("near SOL", "near", "sol"),
    FinishReason.NO_PROGRESS: Word("no progress", "done"),
    FinishReason.ATTEMPTS_SPENT: Word("attempts spent", "done"),
    FinishReason.SPACE_EXHAUSTED: Word("nothing left to try", "done"),
    FinishReason.PROPOSER_FAILED: Word("proposer failed", "fail"),
    FinishReason.BUDGET_SPENT: Word("budget spent", "stop"),
    FinishReason.IDLE: Word("nothing posted", "stop"),
    FinishReason.AGENT_DONE: Word("ended by its agent", "done"),
}
_UNDER_WAY = {
    AttemptState.QUEUED: Word("queued", "wait"),
    AttemptState.BUILDING: Word("building", "run"),
    AttemptState.BUILT: Word("built, waiting", "wait"),
    AttemptState.EVALUATING: Word("evaluating", "run"),
    AttemptState.CANCELLED: Word("cancelled", "stop"),
    AttemptState.LOST: Word("lost", "fail"),
}
_HELD = {Held.HACKED: "hack", Held.BUG: "fail"}
TARGETS = {"host": "host", "sm_80": "sm_80", "sm_90a": "sm_90a"}
CONTROLLERS = {
    "tree": "tree search",
    "flat": "flat",
    "mi": "measure–implement",
    "mantis": "MANTIS in a prompt",
    "mantis-orchestrated": "MANTIS orchestrated",
}
PROPOSERS = {"search": "search", "external": "agent outside"}
OUTCOMES = {
    Outcome.BUILD_ERROR: "build error",
    Outcome.BUILD_TIMEOUT: "build timeout",
    Outcome.LAUNCH_ERROR: "launch error",
    Outcome.OUT_OF_MEMORY: "out of memory",
    Outcome.NOT_MEASURED: "not measured",
    Outcome.PROBLEM_ERROR: "problem error",
}


def proposer_name(name: str) -> str:
    """A proposer as people call it; a model by its own name."""
    return PROPOSERS.get(name, name.partition(":")[2] or name)


def of_run(run: Run) -> Word:
    """A run's state; a cancelled run still has to stop what is under way."""
    if run.cancel_requested is not None and run.state in (RunState.QUEUED, RunState.RUNNING, RunState.PAUSED):
        return Word("cancelling", "run")
    return _RUN[RunState(run.state)]


def of_trajectory(trajectory: Trajectory, under_way: str | None) -> Word:
    """Where one problem stands; ``under_way`` is the state of its attempt that has not ended, if any."""
    if trajectory.state == TrajectoryState.RUNNING:
        if under_way:
            return _UNDER_WAY[AttemptState(under_way)]
        if trajectory.sol_s is None:
            return Word("preparing", "run")
        outside = trajectory.run.proposer == External.name
        return Word("waits for a post", "wait") if outside else Word("choosing", "run")
    if trajectory.state == TrajectoryState.DONE and trajectory.finish_reason:
        return _FINISHED[FinishReason(trajectory.finish_reason)]
    return _RUN[RunState(trajectory.state)]


def of_outcome(outcome: str, reason: IncorrectReason | None = None) -> Word:
    """An outcome in words; ``reason`` is why it is incorrect, where that is at hand."""
    kind = Outcome(outcome)
    if reason is not None:
        return Word(f"incorrect: {reason.words}", "fail")
    sign = {Outcome.PASSED: "pass", Outcome.NOT_MEASURED: "none"}.get(kind, "fail")
    return Word(OUTCOMES.get(kind, kind.value), sign)


def of_held(attempt: Attempt) -> Word | None:
    """What stands in an outcome's place where the time does not count; None where it does."""
    if not attempt.held or attempt.time_s is None:
        return None
    if attempt.held == Held.FLOOR and attempt.standing is TimeStanding.SUSPECT:
        return Word("suspect", "flag")
    return Word(Held(attempt.held).word, _HELD.get(Held(attempt.held), "flag"))


def of_attempt(attempt: Attempt, *, brief: bool = False) -> Word:
    """An attempt's outcome, or its state where it has not ended; one below the floor is under review.

    A ``brief`` word leaves out why it is incorrect.
    """
    if attempt.state == AttemptState.DONE and attempt.outcome:
        if held := of_held(attempt):
            return held
        if attempt.new_best:
            return Word("new best", "pass")
        return of_outcome(attempt.outcome, None if brief else attempt.incorrect_reason)
    return _UNDER_WAY.get(AttemptState(attempt.state), Word(attempt.state, "done"))


def of_ended(attempt: Attempt) -> Word:
    """An attempt's outcome with its reason, whether or not it was a new best; its state where it has not ended."""
    if attempt.state == AttemptState.DONE and attempt.outcome:
        return of_held(attempt) or of_outcome(attempt.outcome, attempt.incorrect_reason)
    return of_attempt(attempt)


def why_no_time(attempt: Attempt) -> str:
    """Why an attempt has no time, for the dash that stands there."""
    if attempt.state == AttemptState.DONE and attempt.outcome:
        if attempt.time_s is not None and attempt.held:
            return attempt.told
        return f"not measured: {of_outcome(attempt.outcome).text}"
    return f"not measured: {_UNDER_WAY.get(AttemptState(attempt.state), Word('not ended', '')).text}"
