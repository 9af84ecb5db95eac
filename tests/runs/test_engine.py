"""A run from its launch to its end, with scripted compilers and measurements."""

from __future__ import annotations

from kernels.dsl import parse
from kernels.harness.evaluation import Outcome
from kernels.toolchain.report import BuildOutcome
from runs.models import Attempt, Event, Job, Run, Trajectory
from runs.states import LIVING_JOBS, AttemptState, JobKind, JobState, RunState, TrajectoryState
from tests.runs.worlds import Script, compiled, drain, failed, make_run, passed


def test_a_run_tries_what_it_was_given_and_ends(script: Script) -> None:
    run = make_run(attempts=4)
    drain()
    run.refresh_from_db()
    assert run.state == RunState.DONE
    assert run.finished is not None
    attempts = Attempt.objects.order_by("number")
    assert [attempt.number for attempt in attempts] == [1, 2, 3, 4]
    assert {attempt.state for attempt in attempts} == {AttemptState.DONE}
    assert script.evaluations == 4


def test_the_first_attempt_is_the_translated_program(script: Script) -> None:
    make_run(attempts=2)
    drain()
    first = Attempt.objects.get(number=1)
    assert first.parent is None
    assert parse(first.kernel.source).name == "gemm"
    assert Attempt.objects.get(number=2).kernel != first.kernel


def test_the_best_moves_only_when_a_candidate_is_faster(script: Script) -> None:
    script.results = [passed(4e-5), passed(5e-5), passed(3e-5)]
    make_run(attempts=3)
    drain()
    trajectory = Trajectory.objects.get()
    assert trajectory.best is not None
    assert trajectory.best.number == 3
    assert trajectory.best_s == 3e-5
    assert [a.new_best for a in Attempt.objects.order_by("number")] == [True, False, True]
    assert trajectory.speedup is not None
    assert abs(trajectory.speedup - 1e-4 / 3e-5) < 1e-9


def test_every_outcome_ends_on_its_own_row_and_the_run_goes_on(script: Script) -> None:
    script.results = [
        passed(5e-5),
        failed(Outcome.CRASH, "SIGSEGV"),
        failed(Outcome.TIMEOUT, "over 60 s"),
        failed(Outcome.INCORRECT, "NaN in round 1"),
        failed(Outcome.OUT_OF_MEMORY, "over 8 GiB"),
    ]
    make_run(attempts=6)
    drain()
    outcomes = list(Attempt.objects.order_by("number").values_list("outcome", flat=True))
    assert outcomes == ["passed", "crash", "timeout", "incorrect", "out_of_memory", "passed"]
    assert Attempt.objects.get(number=2).time_s is None
    reasons = list(Attempt.objects.order_by("number").values_list("reason", flat=True))
    assert reasons == ["", "", "", "values", "", ""]
    assert Run.objects.get().state == RunState.DONE


def test_a_full_disk_in_the_build_cache_is_an_outcome_of_its_own(script: Script) -> None:
    script.build = lambda *_: compiled(BuildOutcome.DISK_FULL)
    make_run(attempts=2)
    drain()
    attempts = Attempt.objects.all()
    assert {attempt.outcome for attempt in attempts} == {"build_error"}
    assert all("disk full" in attempt.detail for attempt in attempts)
    assert script.evaluations == 0
    assert Run.objects.get().state == RunState.DONE


def test_a_refused_program_never_reaches_a_compiler(script: Script) -> None:
    def refuse(text: str, *_: object) -> object:
        parse("program broken(")
        raise AssertionError("the parser took it")

    script.build = refuse  # type: ignore[assignment]
    make_run(attempts=1)
    drain()
    attempt = Attempt.objects.get()
    assert attempt.outcome == "refused"
    assert "expected" in attempt.detail


def test_the_log_is_gapless_and_replays_to_the_same_steps(script: Script) -> None:
    make_run(attempts=3)
    drain()
    events = list(Event.objects.order_by("sequence"))
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert events[0].kind == "started"
    assert events[-1].kind == "finished"
    measured = [event.record["number"] for event in events if event.kind == "measured"]
    assert measured == [1, 2, 3]


def test_one_of_several_problems_may_fail_and_the_others_go_on(script: Script, monkeypatch: object) -> None:
    run = make_run(problems=2, attempts=1)
    victim = run.trajectories.order_by("pk").first()
    assert victim is not None
    from runs import engine

    engine.fail(victim, "problem-timed-out", "the problem ran for 60 s")
    Job.objects.filter(trajectory=victim).update(state=JobState.CANCELLED)
    drain()
    run.refresh_from_db()
    assert run.state == RunState.DONE
    states = dict(run.trajectories.values_list("pk", "state"))
    assert sorted(states.values()) == [TrajectoryState.DONE, TrajectoryState.FAILED]


def test_a_run_fails_only_where_every_problem_failed(script: Script) -> None:
    run = make_run(problems=1)
    from runs import engine

    only = run.trajectories.get()
    engine.fail(only, "problem-crashed", "the problem ended its process")
    run.refresh_from_db()
    assert run.state == RunState.FAILED
    assert run.reason == "the problem ended its process"


def test_the_best_kernel_is_compiled_for_the_card_when_there_is_time(script: Script) -> None:
    make_run(attempts=2)
    drain()
    job = Job.objects.get(kind=JobKind.CROSS_BUILD)
    assert job.attempt == Trajectory.objects.get().best
    assert job.state in LIVING_JOBS
    assert Run.objects.get().state == RunState.DONE
