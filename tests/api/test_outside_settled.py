"""A result that is written again, by a person's verdict or a retry, leaves a run waiting for posts as it was."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from agent.steps import FinishReason
from runs import changing, engine, outside, recovery
from runs.errors import TrajectoryBusy
from runs.models import Attempt, Event, Job, Run
from runs.states import LIVING_JOBS, AttemptState, JobKind, JobState, RunState, TrajectoryState
from sol import cases
from sol.audit import Evidence, Flag, Place, Severity, Trick
from sol.audit.verdict import Verdict
from tests.api.worlds import candidate, external_run, trajectory_of
from tests.runs.changing_worlds import steps
from tests.runs.worlds import Script, drain, next_job

SEVERE = Flag(
    "caches", Trick.CACHE_BY_POINTER, Severity.SEVERE, 0.9, Evidence("a dict is returned from", (Place(4, 6),))
)


def settle_a_flag(by: User) -> None:
    """A flag of the first attempt is raised while the run waits, and settled."""
    one = Attempt.objects.get(number=1)
    case = cases.raise_flags(one.kernel, one.trajectory.problem, [SEVERE])
    assert case is not None
    cases.settle([case], Verdict.CLEAN, by, "the dict is never read")


def kinds() -> list[str]:
    return list(Event.objects.order_by("sequence").values_list("kind", flat=True))


def test_a_run_that_waits_goes_on_waiting_when_a_flag_is_settled(run: Run, alice: User) -> None:
    settle_a_flag(alice)
    assert kinds()[-3:] == ["asked", "measured", "measured"]
    assert [waits.pk for waits in outside.waiting()] == [trajectory_of(run).pk]
    recovery.tick()
    assert next_job() is None
    posted = outside.post(trajectory_of(run).pk, alice, candidate(1, parent=1))
    assert posted.answered is not None
    drain()
    assert Attempt.objects.get(number=2).state == AttemptState.DONE
    assert kinds()[-1] == "asked"
    outside.end(trajectory_of(run).pk, FinishReason.AGENT_DONE, "enough")
    run.refresh_from_db()
    assert run.state == RunState.DONE


def test_an_advance_that_finds_an_open_ask_takes_no_step(run: Run) -> None:
    before = kinds()
    engine.advance(trajectory_of(run))
    assert list(Job.objects.filter(state="queued").exclude(queue="later").values_list("kind", flat=True)) == ["ask"]
    drain()
    assert (kinds(), next_job()) == (before, None)


def test_a_failed_problem_that_was_settled_meanwhile_waits_again_after_a_retry(run: Run, alice: User) -> None:
    settle_a_flag(alice)
    engine.fail(trajectory_of(run), "job-lost", "its worker died")
    assert changing.retry(run, alice) == (1, 0)
    job = next_job()
    assert job is not None
    assert job.kind == JobKind.ASK
    drain()
    assert trajectory_of(run).state == TrajectoryState.RUNNING
    outside.post(trajectory_of(run).pk, alice, candidate(1))
    drain()
    assert Attempt.objects.get(number=2).state == AttemptState.DONE


@pytest.fixture
def lost(script: Script, alice: User, settings: Any) -> Run:
    """A run that waits for a post and whose first attempt was lost."""
    settings.JOB_TRIES = 1
    script.results = [RuntimeError("the card fell off")]
    made = external_run(alice)
    drain()
    assert Attempt.objects.get().state == AttemptState.LOST
    assert changing.retry(made, alice) == (0, 1)
    return made


def test_a_lost_attempt_of_a_run_that_waits_is_measured_at_once(lost: Run, alice: User) -> None:
    with pytest.raises(TrajectoryBusy):
        outside.end(trajectory_of(lost).pk, FinishReason.AGENT_DONE, "enough")
    drain()
    assert Attempt.objects.get().state == AttemptState.DONE
    assert [waits.pk for waits in outside.waiting()] == [trajectory_of(lost).pk]
    outside.post(trajectory_of(lost).pk, alice, candidate(1))
    drain()
    assert Attempt.objects.get(number=2).state == AttemptState.DONE


def test_a_failed_problem_with_a_lost_attempt_measures_it_and_waits(lost: Run, alice: User) -> None:
    Job.objects.filter(state__in=LIVING_JOBS).update(state=JobState.LOST)
    engine.fail(trajectory_of(lost), "job-lost", "its worker died")
    changing.retry(lost, alice)
    drain()
    assert Attempt.objects.get().state == AttemptState.DONE
    assert [waits.pk for waits in outside.waiting()] == [trajectory_of(lost).pk]


def test_a_lost_attempt_that_nobody_builds_is_found_by_the_scheduler(lost: Run) -> None:
    Job.objects.filter(state__in=LIVING_JOBS).update(state=JobState.LOST)
    recovery.tick()
    drain()
    assert Attempt.objects.get().state == AttemptState.DONE


def test_a_post_while_a_lost_attempt_is_built_doubles_nothing(script: Script, lost: Run, alice: User) -> None:
    steps(1)
    outside.post(trajectory_of(lost).pk, alice, candidate(1))
    drain()
    assert Job.objects.filter(kind=JobKind.BUILD, attempt__number=1).count() == 2, "when it was lost, and now"
    assert list(Attempt.objects.order_by("number").values_list("state", flat=True)) == ["done", "done"]
    assert kinds().count("measured") == 3
    assert kinds()[-1] == "asked"
