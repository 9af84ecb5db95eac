"""Lessons: kept when a trajectory ends, given to later ones, changed by people, never from what is flagged."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agent.steps import LessonNote, Measured, Recalled, Submitted
from kernels.harness.evaluation import Outcome
from kernels.records import from_json, to_json
from runs import budgets, control, engine, memory
from runs.errors import LessonTextUnfit
from runs.models import Event, Lesson, LessonEdit, LessonUse, Run, Trajectory
from runs.states import TrajectoryState
from tests.runs.worlds import Script, drain, make_run, passed


def ended_run(script: Script, attempts: int = 3) -> Run:
    """A run of one problem whose attempts get faster by half each."""
    script.results = [passed(8e-5 / 2**number) for number in range(attempts)]
    run = make_run(attempts=attempts)
    drain()
    return run


def notes() -> tuple[LessonNote, ...]:
    return memory.notes_for("gemm", "host", "compute")


def test_an_ended_trajectory_leaves_its_lessons_with_where_they_came_from(script: Script) -> None:
    run = ended_run(script)
    trajectory = run.trajectories.get()
    lessons = list(Lesson.objects.order_by("-gain"))
    assert lessons
    for lesson in lessons:
        assert (lesson.problem, lesson.trajectory) == (trajectory.problem, trajectory)
        assert (lesson.kind, lesson.target, lesson.bottleneck, lesson.source) == (
            "gemm",
            "host",
            "compute",
            "history",
        )
        assert lesson.attempt is not None
        assert lesson.attempt.number in lesson.about
        assert lesson.gain is not None
        assert lesson.gain >= 1.9
        assert lesson.text == lesson.original


def test_lessons_are_kept_once(script: Script) -> None:
    run = ended_run(script)
    before = Lesson.objects.count()
    engine.learn(run.trajectories.get())
    assert Lesson.objects.count() == before


def test_a_raised_budget_teaches_what_came_of_it(script: Script) -> None:
    run = ended_run(script)
    before = {lesson.pk: lesson.text for lesson in Lesson.objects.all()}
    known, retired = Lesson.objects.order_by("pk")[:2]
    memory.edit(known, run.owner, "in a person's words")
    memory.retire(retired, run.owner)
    script.results = [passed(2e-6)]
    assert budgets.change(run, run.owner, {"attempts": 4}) == 1
    drain()
    found = list(Lesson.objects.exclude(pk__in=before))
    assert [lesson.attempt and lesson.attempt.number for lesson in found] == [4]
    assert Lesson.objects.count() == len(before) + 1
    known.refresh_from_db()
    assert known.text == "in a person's words"


def test_a_cancelled_trajectory_teaches_too(script: Script, django_user_model: type[User]) -> None:
    script.results = [passed(8e-5), passed(4e-5), passed(2e-5), passed(1e-5)]
    run = make_run(attempts=9)
    drain_until_attempts(run, 3)
    control.cancel(run, run.owner)
    assert run.trajectories.get().state == TrajectoryState.CANCELLED
    assert Lesson.objects.exists()


def drain_until_attempts(run: Run, count: int) -> None:
    from runs.execution import run_job
    from tests.runs.worlds import next_job

    while run.trajectories.get().attempts_done < count:
        job = next_job()
        assert job is not None
        run_job(job.pk, "test worker")


def test_a_later_problem_of_the_same_kind_is_given_them_while_under_way(script: Script) -> None:
    ended_run(script)
    later = make_run(attempts=2)
    drain()
    trajectory = later.trajectories.get()
    recalled = [event for event in engine.history_of(trajectory) if isinstance(event, Recalled)]
    assert len(recalled) == 1
    assert recalled[0].lessons == notes_before(trajectory)
    given = LessonUse.objects.filter(trajectory=trajectory).values_list("lesson_id", flat=True)
    assert set(given) == {note.id for note in recalled[0].lessons}


def notes_before(trajectory: Trajectory) -> tuple[LessonNote, ...]:
    """What there was to know before this trajectory taught its own lessons."""
    trajectory.lessons.all().delete()
    return notes()


def test_the_next_step_is_the_same_with_or_without_what_was_recalled(script: Script) -> None:
    """Lessons steer proposers; a controller's choice follows from attempts alone."""
    from agent.controllers import controller

    ended_run(script)
    later = make_run(attempts=2)
    drain()
    chosen, history = engine.settings_of(later), engine.history_of(later.trajectories.get())
    at = next(index for index, event in enumerate(history) if isinstance(event, Recalled))
    step = controller("tree").next_step(chosen, history[:at])
    assert controller("tree").next_step(chosen, history[: at + 1]) == step


def test_nothing_of_a_flagged_attempt_is_given_even_when_it_is_flagged_later(script: Script) -> None:
    run = ended_run(script)
    trajectory = run.trajectories.get()
    before = notes()
    gone = Lesson.objects.get(pk=before[0].id)
    assert gone.attempt is not None
    row = Event.objects.filter(trajectory=trajectory, kind="measured", record__number=gone.attempt.number).get()
    old = from_json(row.record, Measured)
    engine.append(trajectory, Measured(old.number, old.outcome, "", old.time_s, old.baseline_s, flagged=True))
    assert gone.pk not in {note.id for note in notes()}
    assert memory.is_tainted(gone)
    engine.append(trajectory, old)
    assert notes() == before
    assert not memory.is_tainted(gone)


def test_an_edit_is_given_and_the_original_stays(script: Script) -> None:
    run = ended_run(script)
    lesson = Lesson.objects.latest("gain")
    memory.edit(lesson, run.owner, "  Tile by\n the cache. ")
    memory.edit(lesson, run.owner, "Tile by the cache.")
    lesson.refresh_from_db()
    assert (lesson.text, lesson.original != lesson.text) == ("Tile by the cache.", True)
    edit = LessonEdit.objects.get()
    assert (edit.before, edit.after, edit.user) == (lesson.original, lesson.text, run.owner)
    assert "Tile by the cache." in {note.text for note in notes()}


@pytest.mark.parametrize("text", ["", " \n ", "x" * 401])
def test_a_text_that_is_none_or_too_long_is_refused(script: Script, text: str) -> None:
    run = ended_run(script)
    lesson = Lesson.objects.latest("gain")
    with pytest.raises(LessonTextUnfit, match="1 to 400"):
        memory.edit(lesson, run.owner, text)
    assert not LessonEdit.objects.exists()


def test_a_retired_lesson_is_given_to_nobody_until_it_is_restored(script: Script) -> None:
    run = ended_run(script)
    lesson = Lesson.objects.latest("gain")
    memory.retire(lesson, run.owner)
    memory.retire(lesson, run.owner)
    assert lesson.pk not in {note.id for note in notes()}
    memory.restore(lesson, run.owner)
    assert lesson.pk in {note.id for note in notes()}
    assert list(LessonEdit.objects.values_list("action", flat=True)) == ["retired", "restored"]


def test_lessons_of_another_target_are_not_given(script: Script) -> None:
    ended_run(script)
    assert notes()
    assert memory.notes_for("gemm", "sm_90a", "compute") == ()
    assert memory.notes_for("softmax", "host", "memory") == ()


def test_giving_takes_a_fixed_number_of_queries(script: Script, django_assert_num_queries: object) -> None:
    ended_run(script)
    with django_assert_num_queries(2):  # type: ignore[operator]
        notes()


def test_a_recalled_event_survives_its_json(script: Script) -> None:
    event = Recalled((LessonNote(1, "own/1", "gemm", "compute", "text", "tile(8)", 1.5),))
    assert from_json(to_json(event), Recalled) == event


def test_a_run_that_never_passed_teaches_nothing(script: Script) -> None:
    from tests.runs.worlds import failed

    script.results = [failed(Outcome.INCORRECT, "wrong") for _ in range(3)]
    run = make_run(attempts=3)
    drain()
    assert any(isinstance(event, Submitted) for event in engine.history_of(run.trajectories.get()))
    assert not Lesson.objects.exists()


def test_with_memory_off_a_run_is_given_nothing_and_teaches_nothing(script: Script) -> None:
    ended_run(script)
    before = Lesson.objects.count()
    off = make_run(attempts=3)
    Run.objects.filter(pk=off.pk).update(memory=False)
    drain()
    assert not any(isinstance(event, Recalled) for event in engine.history_of(off.trajectories.get()))
    assert (Lesson.objects.count(), LessonUse.objects.count()) == (before, 0)
