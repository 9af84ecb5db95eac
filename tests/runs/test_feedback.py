"""Feedback in a run: findings in the log, rows of what was raised and followed, and what a profile adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent.feedback import Advice, Finding, Severity
from agent.steps import Answered, Ask, Asked, Candidate, History, Measured, Profiled, TrajectorySettings
from kernels.dsl import format_program, parse
from kernels.dsl.edit import set_knob
from kernels.harness.evaluation import Evaluation, Outcome, StageShare
from kernels.problems.inspection import Signature
from kernels.targets import Target
from kernels.toolchain.report import BuildOutcome
from runs import engine, feedback, recovery
from runs.execution import run_job
from runs.models import Attempt, Event, Followed, Job, Raised, Run, Trajectory
from runs.states import JobKind, RunState, TrajectoryState
from tests.runs.worlds import BOUNDS, PROGRAM, Script, compiled, drain, failed, make_run, next_job, passed, started

IDLE = PROGRAM.replace("weight.T)", "weight.T).micro(4, 16)")


def with_stage(time_s: float) -> Evaluation:
    return replace(passed(time_s), stages=(StageShare("y", time_s, False),))


def log(number: int) -> list[Measured | Profiled]:
    events = engine.history_of(Trajectory.objects.get())
    return [event for event in events if isinstance(event, Measured | Profiled) and event.number == number]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run begins with a program whose register tile is too small."""
    monkeypatch.setattr(
        "runs.handlers.prepare.prepare",
        lambda trajectory, device, lease: (replace(started(trajectory.run), seed_program=IDLE), BOUNDS),
    )


def test_findings_stand_in_the_log_and_in_rows(script: Script, narrow: None) -> None:
    script.results = [with_stage(5e-5)]
    make_run(attempts=1)
    drain()
    (result,) = log(1)
    names = [finding.tool for finding in result.feedback]
    assert "host-registers" in names
    rows = Raised.objects.order_by("pk")
    assert [row.tool for row in rows] == names
    assert {row.target for row in rows} == {Target.HOST}
    assert {row.severity for row in rows} <= {"critical", "warning", "note"}


@pytest.mark.parametrize(
    ("outcome", "tool"),
    [(Outcome.INCORRECT, "wrong"), (Outcome.CRASH, "crashed"), (Outcome.TIMEOUT, "over-limit")],
)
def test_a_failed_candidate_gets_the_harness_s_words(script: Script, outcome: Outcome, tool: str) -> None:
    script.results = [failed(outcome, "as the harness says it")]
    make_run(attempts=1)
    drain()
    (result,) = log(1)
    assert [finding.tool for finding in result.feedback] == [tool]
    assert result.feedback[0].advice


def test_one_that_was_not_built_gets_the_compiler_s(script: Script) -> None:
    script.build = lambda *_: compiled(BuildOutcome.FAILED)
    make_run(attempts=1)
    drain()
    (result,) = log(1)
    assert [finding.tool for finding in result.feedback] == ["not-compiled"]


def test_a_tool_that_fails_costs_no_attempt(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(evidence: object) -> None:
        raise RuntimeError("a mistake")

    monkeypatch.setattr("runs.feedback.findings", broken)
    make_run(attempts=2)
    drain()
    assert Run.objects.get().state == RunState.DONE
    assert list(Attempt.objects.values_list("outcome", flat=True)) == ["passed", "passed"]
    assert log(1)[0].feedback == ()


class Following:
    """A proposer whose only candidate has the register tile that attempt 1 was advised to take."""

    def __init__(self, tool: str = "") -> None:
        self.tool = tool

    def answer(self, settings: TrajectorySettings, history: History, ask: Ask) -> Answered:
        advised = self.advised(history)
        program = format_program(set_knob(parse(IDLE), "y", "micro", advised))
        return Answered(ask.number, (Candidate(program, 1, "a wider tile", "it fits", tool=self.tool),))

    @staticmethod
    def advised(history: History) -> tuple[int | str, ...]:
        first = next(event for event in history if isinstance(event, Measured))
        finding = next(each for each in first.feedback if each.tool == "host-registers")
        return finding.advice[0].args


@pytest.mark.parametrize(
    ("second", "gain", "improved"),
    [
        (with_stage(2.5e-5), 2.0, True),
        (with_stage(1e-4), 0.5, False),
        (failed(Outcome.CRASH, "SIGSEGV"), None, False),
    ],
)
def test_who_followed_a_finding_is_told_by_the_change(
    script: Script, narrow: None, monkeypatch: pytest.MonkeyPatch,
    second: Evaluation, gain: float | None, improved: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr("runs.answering.proposer", lambda name: Following())
    script.results = [with_stage(5e-5), second]
    make_run(attempts=2)
    drain()
    row = Followed.objects.select_related("raised__attempt", "attempt").get()
    assert (row.raised.tool, row.raised.attempt.number, row.attempt.number) == ("host-registers", 1, 2)
    assert row.gain == (None if gain is None else pytest.approx(gain))
    assert row.improved is improved
    assert not row.named


def test_an_author_s_word_counts_as_well(script: Script, narrow: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.answering.proposer", lambda name: Following("host-registers"))
    script.results = [with_stage(5e-5), with_stage(4e-5)]
    make_run(attempts=2)
    drain()
    assert Followed.objects.get().named


def finding(tool: str) -> Finding:
    return Finding(tool, Severity.WARNING, "A cause.", (Advice("Do it."),), 1.5, "3 / 2")


def test_a_profile_s_findings_take_the_place_of_those_before(script: Script, narrow: None) -> None:
    script.results = [with_stage(5e-5)]
    make_run(attempts=1)
    drain()
    attempt = Attempt.objects.select_related("trajectory__run").get()
    before = set(Raised.objects.values_list("tool", flat=True))
    engine.record_profiled(attempt, (finding("host-registers"), finding("occupancy")))
    assert "host-registers" in before
    assert {row.tool: row.expected for row in Raised.objects.all()} == {"host-registers": 1.5, "occupancy": 1.5}
    last = log(1)[-1]
    assert isinstance(last, Profiled)
    assert [each.tool for each in last.feedback] == ["host-registers", "occupancy"]


def test_a_note_between_question_and_answer_stops_nothing(script: Script) -> None:
    """A profile ends whenever it ends: also while the proposer is being asked."""
    make_run(attempts=2)
    trajectory = Trajectory.objects.select_related("run").get()
    while not engine.history_of(trajectory) or not isinstance(engine.history_of(trajectory)[-1], Asked):
        assert drain_one()
    engine.record_profiled(Attempt.objects.get(number=1), (finding("occupancy"),))
    Job.objects.filter(state="queued").delete()
    recovery.revive_stalled()
    assert list(Job.objects.filter(state="queued").values_list("kind", flat=True)) == [JobKind.ASK]
    drain()
    trajectory.refresh_from_db()
    assert trajectory.state == TrajectoryState.DONE
    assert trajectory.attempts_done == 2


def drain_one() -> bool:
    job = next_job()
    return job is not None and run_job(job.pk, "test worker")


def test_a_new_best_on_a_card_is_profiled_at_once_under_steering(script: Script) -> None:
    make_run(attempts=1)
    drain()
    Job.objects.all().delete()
    Event.objects.filter(kind__in=("measured", "finished")).delete()
    for steering in (False, True):
        Run.objects.update(target=Target.SM90A, steering=steering)
        Trajectory.objects.update(best=None, best_s=None)
        Attempt.objects.update(new_best=False)
        attempt = Attempt.objects.select_related("trajectory__run", "kernel").get()
        engine.record_measured(attempt, Measured(1, Outcome.PASSED, "", 1e-5, 2e-5))
        assert Job.objects.filter(kind=JobKind.PROFILE).exists() is steering
    engine.finish(Trajectory.objects.select_related("run").get(), "attempts_spent", "done")
    assert Job.objects.filter(kind=JobKind.PROFILE).count() == 1


def test_the_signature_is_read_without_the_graph(script: Script, django_assert_num_queries: Any) -> None:
    make_run(attempts=1)
    trajectory = Trajectory.objects.select_related("run").get()
    with django_assert_num_queries(1):
        assert isinstance(feedback._signature(trajectory), Signature)
