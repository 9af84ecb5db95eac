"""The engine: what becomes of a run's rows when something happened. No Celery, no subprocess, no waiting.

Each function here runs inside its caller's transaction, together with the settling of the job that brought the
news. A trajectory has at most one living job that can move it, so its log grows by one writer at a time. Only a
profile's news (``record_profiled``) comes beside that one; it moves nothing.
"""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings
from django.utils import timezone

from agent.controllers import controller
from agent.feedback.record import Finding
from agent.history import last_step
from agent.steps import (
    Ask,
    Asked,
    Evaluate,
    Event,
    Finish,
    Finished,
    History,
    LessonNote,
    Measured,
    Profiled,
    Recalled,
    Shape,
    Step,
    Submitted,
    TrajectorySettings,
)
from kernels.harness.evaluation import Outcome
from kernels.languages import Language
from kernels.models import Kernel
from kernels.records import from_json, to_json
from kernels.targets import Target
from runs import feedback, jobs, locking, memory, pool
from runs.fleet import CPU, LATER, asking_queue, device_queue
from runs.holding import held_of, why_held
from runs.models import Attempt, Job, Run, Trajectory
from runs.models import Event as EventRow
from runs.states import ASIDE, FINAL, RESTING_JOBS, AttemptState, JobKind, JobState, RunState, TrajectoryState
from sol.cases import case_of


def settings_of(run: Run) -> TrajectorySettings:
    """The run's settings as the agent knows them."""
    return TrajectorySettings(
        controller=run.controller,
        proposer=run.proposer,
        attempts=run.attempts,
        epsilon=run.epsilon,
        patience=run.patience,
        steering=run.steering,
        seed=run.seed,
        representation=Language(run.representation),
        memory=run.memory,
        shape=shape_of(run.shape),
        token_limit=run.token_limit,
        cost_limit=run.cost_limit,
    )


def shape_of(text: str) -> Shape:
    """``5x2x4`` as iterations, hypotheses and attempts."""
    return Shape(*map(int, text.split("x")))


def history_of(trajectory: Trajectory) -> History:
    """The trajectory's log as records."""
    rows = EventRow.objects.filter(trajectory=trajectory).order_by("sequence").values_list("record", flat=True)
    return tuple(from_json(record, Event) for record in rows)  # type: ignore[arg-type]


def append(trajectory: Trajectory, event: Event) -> None:
    """Add one event to the log. Writers take turns by the trajectory's row: a profile's news may come at any time."""
    locking.hold_one(trajectory.pk)
    sequence = EventRow.objects.filter(trajectory=trajectory).count() + 1
    EventRow.objects.create(trajectory=trajectory, sequence=sequence, kind=event.kind, record=to_json(event))


def start(run: Run) -> None:
    """Mark a run as running when its first job starts."""
    Run.objects.filter(pk=run.pk, state=RunState.QUEUED).update(state=RunState.RUNNING, started=timezone.now())


def advance(trajectory: Trajectory) -> None:
    """Ask the controller for the next step and take it. What memory has learned since goes before an ask.

    The row is held and the run read after that: who changes its limits at the same time comes before or after, never
    between. Attempts that a person queued again come before any step. Where the problem has ended, an attempt is under
    way or an ask is open, there is no step to take; the ask is put again where nobody does.
    """
    locking.hold_one(trajectory.pk)
    trajectory = Trajectory.objects.select_related("run", "problem").get(pk=trajectory.pk)
    if trajectory.state in FINAL or _builds_again(trajectory):
        return
    run = trajectory.run
    chosen, history = settings_of(run), history_of(trajectory)
    if isinstance(last_step(history), Asked):
        if not jobs.moving(trajectory).filter(kind=JobKind.ASK).exists():
            jobs.enqueue(JobKind.ASK, asking_queue(run), trajectory=trajectory)
        return
    step = controller(run.controller).next_step(chosen, history)
    if isinstance(step, Evaluate) and not pool.take_one(run):
        step = pool.spent(run)
    elif isinstance(step, Ask):
        _recall(trajectory, memory.newly_fitting(trajectory, chosen, history))
    _take(trajectory, step)


def _builds_again(trajectory: Trajectory) -> bool:
    """Whether an attempt has not ended; it is built where no job does so yet."""
    again = Attempt.objects.filter(trajectory=trajectory).exclude(state__in=FINAL).first()
    if again is None:
        return False
    if not jobs.moving(trajectory).filter(attempt=again).exists():
        again.trajectory = trajectory
        jobs.enqueue(JobKind.BUILD, CPU, attempt=again)
    return True


def _recall(trajectory: Trajectory, notes: tuple[LessonNote, ...] | None) -> None:
    if notes is not None:
        append(trajectory, Recalled(notes))
        memory.mark_given(trajectory, notes)


def _take(trajectory: Trajectory, step: Step) -> None:
    match step:
        case Ask():
            append(trajectory, Asked(ask=step))
            jobs.enqueue(JobKind.ASK, asking_queue(trajectory.run), trajectory=trajectory)
        case Evaluate():
            append(trajectory, Submitted(number=step.number, candidate=step.candidate))
            jobs.enqueue(JobKind.BUILD, CPU, attempt=_submit(trajectory, step))
        case Finish():
            append(trajectory, Finished(reason=step.reason, words=step.words))
            finish(trajectory, step.reason.value, step.words)


def _submit(trajectory: Trajectory, step: Evaluate) -> Attempt:
    parent = None
    if step.candidate.parent is not None:
        parent = Attempt.objects.filter(trajectory=trajectory, number=step.candidate.parent).first()
    return Attempt.objects.create(
        trajectory=trajectory,
        number=step.number,
        parent=parent,
        kernel=Kernel.objects.of_source(step.candidate.language, step.candidate.text),
        change=step.candidate.change,
        hypothesis=step.candidate.hypothesis,
    )


def record_measured(attempt: Attempt, measured: Measured, state: str = AttemptState.DONE) -> None:
    """Store an attempt's end, move the best where it is one, and let the controller go on."""
    locked = Trajectory.objects.select_for_update(of=("self",)).select_related("run")
    trajectory = locked.get(pk=attempt.trajectory.pk)
    measured = _held_for_review(trajectory, attempt, measured)
    append(trajectory, measured)
    attempt.state = state
    attempt.outcome = measured.outcome
    attempt.detail = measured.detail
    attempt.time_s = measured.time_s
    attempt.eager_s = measured.baseline_s
    attempt.finished = timezone.now()
    _move_best(trajectory, attempt, measured)
    attempt.save()
    feedback.record(attempt, measured)
    if attempt.new_best and trajectory.run.steering:
        _profile(attempt)
    trajectory.attempts_done += 1
    trajectory.save(update_fields=["best", "best_s", "eager_s", "attempts_done"])
    jobs.enqueue(JobKind.ADVANCE, CPU, trajectory=trajectory)


def record_profiled(attempt: Attempt, found: tuple[Finding, ...]) -> None:
    """Store what a profile says about an attempt that ended, before or after its trajectory did."""
    feedback.raise_all(attempt, found)
    append(attempt.trajectory, Profiled(attempt.number, found))


def _held_for_review(trajectory: Trajectory, attempt: Attempt, measured: Measured) -> Measured:
    """A time that does not count is flagged before anything else learns of it."""
    case = case_of(attempt.kernel_id, trajectory.problem_id)
    attempt.held = held_of(measured.time_s, trajectory.floor_s, case)
    if not attempt.held:
        return measured
    said = why_held(attempt.held, measured.time_s, trajectory.floor_s, case)
    return replace(measured, flagged=True, detail=measured.detail or said)


def _move_best(trajectory: Trajectory, attempt: Attempt, measured: Measured) -> None:
    if trajectory.best_s is None and measured.baseline_s is not None:
        trajectory.eager_s = measured.baseline_s
    if measured.time_s is None or measured.flagged:
        return
    if trajectory.best_s is not None:
        attempt.change_of_best = measured.time_s / trajectory.best_s - 1.0
    if trajectory.best_s is None or measured.time_s < trajectory.best_s:
        attempt.new_best = True
        trajectory.best = attempt
        trajectory.best_s = measured.time_s
        # A speedup compares two times of one call: the machine is not the same in the next one.
        trajectory.eager_s = measured.baseline_s


def mark_queued_again(job: Job) -> None:
    """Show an attempt as waiting again after its worker was lost."""
    if job.attempt is None or job.kind in ASIDE:
        return
    state = AttemptState.BUILT if job.kind == JobKind.EVALUATE else AttemptState.QUEUED
    Attempt.objects.filter(pk=job.attempt.pk).exclude(state__in=FINAL).update(state=state, tries=job.tries)


def record_lost(job: Job, why: str) -> None:
    """A job is lost for good: its attempt ends as lost and the run goes on; without an attempt its problem ends."""
    last = why.strip().splitlines()[-1][:500] if why.strip() else "its worker stopped answering"
    if job.kind in ASIDE:
        return
    if job.attempt is not None:
        attempt = Attempt.objects.select_related("trajectory").get(pk=job.attempt.pk)
        if attempt.state not in FINAL:
            words = f"lost after {job.tries} tries: {last}"
            lost = Measured(attempt.number, Outcome.NOT_MEASURED, words, time_s=None, baseline_s=None)
            record_measured(attempt, lost, AttemptState.LOST)
    elif job.trajectory is not None:
        fail(job.trajectory, "job-lost", f"{job.get_kind_display()} was lost after {job.tries} tries: {last}")


def finish(trajectory: Trajectory, reason: str, words: str) -> None:
    """End a trajectory as done; its best kernel is also compiled for the card, or profiled where it ran on one."""
    _end(trajectory, TrajectoryState.DONE, finish_reason=reason, words=words)
    best = Trajectory.objects.select_related("best__trajectory__run", "best__kernel").get(pk=trajectory.pk).best
    if best is None:
        return
    # What runs on the host alone has nothing to be compiled for a card.
    if not Target(trajectory.run.target).is_cuda and best.kernel.language == Language.MU:
        jobs.enqueue(JobKind.CROSS_BUILD, LATER, attempt=best)
    _profile(best)


def _profile(attempt: Attempt) -> None:
    """Have a best kernel on a card profiled, once: with steering as soon as it is the best, else at the end."""
    target = Target(attempt.trajectory.run.target)
    if not (settings.PROFILE_BEST and target.is_cuda) or attempt.jobs.filter(kind=JobKind.PROFILE).exists():
        return
    jobs.enqueue(JobKind.PROFILE, device_queue(target), attempt=attempt, payload={"automatic": True})


def fail(trajectory: Trajectory, error: str, words: str) -> None:
    """End a trajectory as failed: ``error`` names the error's class, ``words`` say it to a person."""
    _end(trajectory, TrajectoryState.FAILED, error=error, words=words)


def _end(trajectory: Trajectory, state: str, **fields: str) -> None:
    open_ones = Trajectory.objects.filter(pk=trajectory.pk).exclude(state__in=FINAL)
    if open_ones.update(state=state, **fields):
        locking.hold_run(trajectory.run.pk)
        learn(trajectory)
        finish_run_if_over(trajectory.run)


def learn(trajectory: Trajectory) -> None:
    """Keep what a trajectory taught, whatever it ended with; with memory off it teaches nothing."""
    chosen = settings_of(trajectory.run)
    if chosen.memory:
        memory.learn(trajectory, chosen, history_of(trajectory))


def finish_run_if_over(run: Run) -> None:
    """End a run when its last trajectory has ended: failed only where every one failed.

    The run is held first: of two that end at once the later one sees both.
    """
    locking.hold_run(run.pk)
    states = list(Trajectory.objects.filter(run=run).values_list("state", flat=True))
    if any(state not in FINAL for state in states):
        return
    state, reason = RunState.DONE, ""
    stopped = states.count(TrajectoryState.CANCELLED)
    # A problem that was stopped alone leaves its run to the others.
    if stopped and (
        stopped == len(states) or Run.objects.filter(pk=run.pk, cancel_requested__isnull=False).exists()
    ):
        state = RunState.CANCELLED
    elif TrajectoryState.DONE not in states:
        state = RunState.FAILED
        failed = Trajectory.objects.filter(run=run, state=TrajectoryState.FAILED)
        reason = failed.order_by("pk").values_list("words", flat=True)[0]
    Run.objects.filter(pk=run.pk).exclude(state__in=FINAL).update(
        state=state, reason=reason, finished=timezone.now()
    )


def cancel_what_rests(run: Run) -> None:
    """Cancel everything of a run that nobody works on; the run itself once nothing of it lives."""
    locking.hold_all(run)
    locking.hold_run(run.pk)
    now = timezone.now()
    Job.objects.filter(run=run, state__in=RESTING_JOBS).exclude(queue=LATER).update(
        state=JobState.CANCELLED, finished=now
    )
    working = Job.objects.filter(run=run, state=JobState.CLAIMED).exclude(queue=LATER)
    busy = set(working.values_list("trajectory_id", flat=True))
    resting = Trajectory.objects.filter(run=run).exclude(state__in=FINAL).exclude(pk__in=busy)
    Attempt.objects.filter(trajectory__in=resting).exclude(state__in=FINAL).update(
        state=AttemptState.CANCELLED, finished=now
    )
    for trajectory in list(resting.select_related("run")):
        learn(trajectory)
    resting.update(state=TrajectoryState.CANCELLED, words="cancelled")
    if not busy:
        Run.objects.filter(pk=run.pk).exclude(state__in=FINAL).update(state=RunState.CANCELLED, finished=now)
