"""Runs whose candidates come from outside: order, waiting, ends, and what happens when two come at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agent.steps import Candidate, FinishReason
from kernels.languages import Language
from runs import control, outside, recovery
from runs.errors import AlreadyTried, AttemptsSpent, NotOutside, ParentUnknown, TrajectoryBusy, TrajectoryOver
from runs.models import Attempt, Event, Job, Run, Submission
from runs.states import LIVING_JOBS, RunState, TrajectoryState
from tests.api.worlds import candidate, external_run, text, trajectory_of
from tests.runs.worlds import Script, drain, make_run


def kinds() -> list[str]:
    return list(Event.objects.order_by("sequence").values_list("kind", flat=True))


def test_after_the_translated_program_it_waits_without_a_job(run: Run) -> None:
    assert kinds() == ["started", "submitted", "measured", "asked"]
    assert not Job.objects.filter(state__in=LIVING_JOBS).exclude(queue="later").exists()
    assert [waits.pk for waits in outside.waiting()] == [trajectory_of(run).pk]


def test_the_scheduler_leaves_what_waits_alone(run: Run) -> None:
    before = Job.objects.count()
    recovery.tick()
    assert Job.objects.count() == before
    assert trajectory_of(run).state == TrajectoryState.RUNNING


def test_a_post_answers_the_open_ask_and_is_measured(run: Run, alice: User) -> None:
    posted = outside.post(trajectory_of(run).pk, alice, candidate(1, parent=1))
    assert posted.answered is not None
    assert kinds()[-1] == "answered"
    drain()
    attempt = Attempt.objects.get(number=2)
    assert attempt.kernel == posted.kernel
    assert attempt.parent is not None
    assert attempt.parent.number == 1
    assert (attempt.change, attempt.outcome) == ("tile(32, 64, 64)", "passed")
    answered = Event.objects.get(kind="answered").record
    assert answered["candidates"][0]["predicted"] == 1.5
    assert kinds()[-1] == "asked"


def test_posts_while_one_is_under_way_wait_in_order_and_none_is_lost(run: Run, alice: User) -> None:
    key = trajectory_of(run).pk
    posts = [outside.post(key, alice, candidate(number)) for number in (3, 1, 2)]
    assert [post.answered is not None for post in posts] == [True, False, False]
    drain()
    attempts = Attempt.objects.filter(number__gt=1).order_by("number")
    assert [attempt.kernel.source for attempt in attempts] == [text(3), text(1), text(2)]
    run.refresh_from_db()
    assert run.state == RunState.DONE
    assert trajectory_of(run).finish_reason == FinishReason.ATTEMPTS_SPENT


def test_a_post_before_the_first_ask_is_the_first_answer(script: Script, alice: User) -> None:
    run = external_run(alice)
    assert outside.post(trajectory_of(run).pk, alice, candidate()).answered is None
    drain()
    assert Attempt.objects.get(number=2).kernel.source == text(1)


def test_a_lost_wakeup_is_made_up_for(run: Run, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(outside, "_deliver", lambda trajectory: None)
        outside.post(trajectory_of(run).pk, alice, candidate())
    assert kinds()[-1] == "asked"
    recovery.revive_stalled()
    drain()
    assert Attempt.objects.count() == 2


def test_an_ask_job_that_comes_late_answers_nothing_twice(run: Run, alice: User) -> None:
    trajectory = trajectory_of(run)
    outside.post(trajectory.pk, alice, candidate())
    outside.deliver(trajectory)
    assert kinds().count("answered") == 1


@pytest.mark.parametrize("language", [Language.MU, Language.PY])
def test_the_same_text_again_is_refused_by_name(run: Run, alice: User, language: Language) -> None:
    key = trajectory_of(run).pk
    first = outside.post(key, alice, candidate())
    again = Candidate(text(1), None, "", "", language=language)
    with pytest.raises(AlreadyTried, match=f"candidate {first.pk}"):
        outside.post(key, alice, again)
    drain()
    with pytest.raises(AlreadyTried, match="attempt 2"):
        outside.post(key, alice, again)
    assert Submission.objects.count() == 1


def test_a_parent_must_be_there(run: Run, alice: User) -> None:
    with pytest.raises(ParentUnknown, match="no attempt 2; 1 to 1, or none"):
        outside.post(trajectory_of(run).pk, alice, candidate(parent=2))


def test_the_budget_holds_for_what_waits_too(run: Run, alice: User) -> None:
    key = trajectory_of(run).pk
    for number in (1, 2, 3):
        outside.post(key, alice, candidate(number))
    with pytest.raises(AttemptsSpent, match="all 4 attempts"):
        outside.post(key, alice, candidate(4))
    assert Submission.objects.count() == 3


def test_other_runs_take_no_posts(script: Script, alice: User) -> None:
    run = make_run()
    with pytest.raises(NotOutside, match="written by 'search'"):
        outside.post(trajectory_of(run).pk, alice, candidate())


def test_nothing_is_taken_after_the_end_or_a_cancellation(run: Run, alice: User) -> None:
    key = trajectory_of(run).pk
    control.cancel(run, alice)
    with pytest.raises(TrajectoryOver, match="cancelled"):
        outside.post(key, alice, candidate())
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED


def test_idleness_ends_it_with_its_reason(run: Run, settings: Any) -> None:
    settings.EXTERNAL_IDLE_S = 7200
    outside.end_idle()
    assert trajectory_of(run).state == TrajectoryState.RUNNING
    Event.objects.filter(kind="asked").update(created=timezone.now() - timedelta(hours=3))
    outside.end_idle()
    ended = trajectory_of(run)
    assert (ended.state, ended.finish_reason) == (TrajectoryState.DONE, FinishReason.IDLE)
    assert ended.words == "no candidate was posted for 2 h"
    assert kinds()[-1] == "finished"
    run.refresh_from_db()
    assert run.state == RunState.DONE


def test_an_agent_ends_it_only_while_nothing_is_under_way(run: Run, alice: User) -> None:
    key = trajectory_of(run).pk
    outside.post(key, alice, candidate())
    with pytest.raises(TrajectoryBusy):
        outside.end(key, FinishReason.AGENT_DONE, "enough")
    drain()
    outside.end(key, FinishReason.AGENT_DONE, "enough")
    assert trajectory_of(run).finish_reason == FinishReason.AGENT_DONE
    with pytest.raises(TrajectoryOver, match="enough"):
        outside.post(key, alice, candidate(2))
