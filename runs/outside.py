"""The inbox of runs whose candidates come from outside: what is posted waits there until the controller asks.

Whoever touches an inbox holds its trajectory's row, so of two posts at once one comes first, and a post cannot fall
between an ask and the look into the inbox that follows it. The order of answers is the order of posts. No job waits:
the ask job ends when the inbox is empty, and the next post writes the answer itself.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from agent.proposers.external import External
from agent.steps import Asked, Candidate, Finished, FinishReason
from kernels.languages import Language, check_target, check_text
from kernels.models import Kernel
from kernels.records import from_json
from kernels.targets import Target
from runs import engine, jobs, locking
from runs.control_models import Action, RunChange
from runs.errors import AlreadyTried, AttemptsSpent, NotOutside, ParentUnknown, TrajectoryBusy, TrajectoryOver
from runs.fleet import CPU, LATER
from runs.models import Attempt, Event, Job, Run, Submission, Trajectory
from runs.states import FINAL, LIVING_JOBS, JobKind, RunState

_STEPS = ("started", "asked", "answered", "submitted", "finished")
"""Events that say what is under way: an ask is open exactly where it is the last of them. Those of other kinds may come
at any time, a result too: it is written again where a person settles its flag or a lost attempt is measured anew.
"""


def takes_posts(run: Run) -> bool:
    """Whether a run's candidates come from outside."""
    return run.proposer == External.name


def post(trajectory_id: int, user: User, candidate: Candidate) -> Submission:
    """Take a candidate in; it is answered at once where the controller asks, and waits its turn otherwise.

    Raises NotOutside, TrajectoryOver, AttemptsSpent, AlreadyTried, ParentUnknown, SourceRefused and
    LanguageElsewhere, and then nothing was taken in.
    """
    with transaction.atomic():
        trajectory = _held(trajectory_id)
        _check_open(trajectory)
        check_text(candidate.text)
        check_target(candidate.language, Target(trajectory.run.target))
        _check_new(trajectory, candidate)
        submission = Submission.objects.create(
            trajectory=trajectory,
            kernel=Kernel.objects.of_source(candidate.language, candidate.text),
            parent=candidate.parent,
            change=candidate.change,
            hypothesis=candidate.hypothesis,
            predicted=candidate.predicted,
            user=user,
        )
        _deliver(trajectory)
    submission.refresh_from_db(fields=["answered"])
    return submission


def attempts_left(trajectory: Trajectory) -> int:
    """How many more posts the run's budget takes. What waits counts, and so does the program it begins with."""
    run = trajectory.run
    begins = bool(trajectory.seed_program) or run.representation == Language.MU
    return max(0, run.attempts - begins - Submission.objects.filter(trajectory=trajectory).count())


def deliver(trajectory: Trajectory) -> None:
    """Answer the open ask, if there is one, with what lies in the inbox. Call it inside a transaction."""
    _deliver(_held(trajectory.pk))


def end(trajectory_id: int, reason: FinishReason, words: str) -> None:
    """Finish a trajectory that waits for a post. Raises NotOutside, TrajectoryOver and TrajectoryBusy."""
    with transaction.atomic():
        trajectory = _held(trajectory_id)
        _check_open(trajectory)
        under_way = Attempt.objects.filter(trajectory=trajectory).exclude(state__in=FINAL).exists()
        if under_way or _open_ask(trajectory) is None or _inbox(trajectory).exists():
            raise TrajectoryBusy(trajectory=trajectory)
        engine.append(trajectory, Finished(reason=reason, words=words))
        engine.finish(trajectory, reason.value, words)


def end_idle() -> None:
    """Finish every trajectory to which nothing was posted for the limit of idleness; a pause starts it anew."""
    hours = settings.EXTERNAL_IDLE_S / 3600
    since = timezone.now() - timedelta(seconds=settings.EXTERNAL_IDLE_S)
    resumed = RunChange.objects.filter(action=Action.RESUMED, created__gt=since)
    idle = waiting(since).exclude(run__state=RunState.PAUSED).exclude(run__in=resumed.values("run"))
    for key in idle.values_list("pk", flat=True):
        try:
            end(key, FinishReason.IDLE, f"no candidate was posted for {hours:g} h")
        except (TrajectoryBusy, TrajectoryOver):
            continue  # a post or a person came first


def waiting(asked_before: datetime | None = None) -> QuerySet[Trajectory]:
    """Open trajectories that wait for a post and have none; those asked before a time alone, if given. One query."""
    last = Event.objects.filter(trajectory=OuterRef("pk"), kind__in=_STEPS).order_by("-sequence")
    living = Job.objects.filter(state__in=LIVING_JOBS).exclude(queue=LATER)
    found = (
        Trajectory.objects.filter(run__proposer=External.name, run__cancel_requested__isnull=True)
        .exclude(state__in=FINAL)
        .exclude(jobs__in=living)
        .exclude(attempts__in=Attempt.objects.exclude(state__in=FINAL))
        .exclude(submissions__in=Submission.objects.filter(answered__isnull=True))
        .annotate(last=Subquery(last.values("kind")[:1]), asked=Subquery(last.values("created")[:1]))
        .filter(last="asked")
    )
    return found if asked_before is None else found.filter(asked__lt=asked_before)


def _held(trajectory_id: int) -> Trajectory:
    """The trajectory with its row locked until the transaction ends, and its run as it is from then on."""
    locking.hold_one(trajectory_id)
    related = Trajectory.objects.select_related("run", "problem")
    return related.defer("bounds", "problem__source").get(pk=trajectory_id)


def _check_open(trajectory: Trajectory) -> None:
    run = trajectory.run
    if not takes_posts(run):
        raise NotOutside(run=run, proposer=run.proposer)
    if trajectory.state in FINAL:
        raise TrajectoryOver(trajectory=trajectory, how=trajectory.words or trajectory.state)
    if run.cancel_requested is not None:
        raise TrajectoryOver(trajectory=trajectory, how="being cancelled")


def _check_new(trajectory: Trajectory, candidate: Candidate) -> None:
    digests = [Kernel.digest_of(language, candidate.text) for language in Language]
    tried = Attempt.objects.filter(trajectory=trajectory, kernel__digest__in=digests).first()
    if tried is not None:
        raise AlreadyTried(what=f"attempt {tried.number}", trajectory=trajectory)
    posted = Submission.objects.filter(trajectory=trajectory, kernel__digest__in=digests).first()
    if posted is not None:
        raise AlreadyTried(what=f"candidate {posted.pk}", trajectory=trajectory)
    attempts = Attempt.objects.filter(trajectory=trajectory).count()
    parent = candidate.parent
    if parent is not None and not 0 < parent <= attempts:
        known = f"1 to {attempts}, or none," if attempts else "none"
        raise ParentUnknown(trajectory=trajectory, parent=parent, known=known)
    if attempts_left(trajectory) == 0:
        raise AttemptsSpent(trajectory=trajectory, attempts=trajectory.run.attempts)


def _inbox(trajectory: Trajectory) -> QuerySet[Submission]:
    return Submission.objects.filter(trajectory=trajectory, answered=None).order_by("pk")


def _open_ask(trajectory: Trajectory) -> Asked | None:
    """The ask that nobody answered yet; None where none is open."""
    events = Event.objects.filter(trajectory=trajectory, kind__in=_STEPS).order_by("-sequence")
    last = events.first()
    return from_json(last.record, Asked) if last is not None and last.kind == "asked" else None


def _deliver(trajectory: Trajectory) -> None:
    asked = _open_ask(trajectory)
    if asked is None:
        return
    chosen = list(_inbox(trajectory).select_related("kernel")[: asked.ask.count])
    if not chosen:
        return
    posted = External([_candidate(submission) for submission in chosen])
    answer = posted.answer(engine.settings_of(trajectory.run), (), asked.ask)
    engine.append(trajectory, answer)
    Submission.objects.filter(pk__in=[each.pk for each in chosen]).update(answered=timezone.now())
    jobs.enqueue(JobKind.ADVANCE, CPU, trajectory=trajectory)


def _candidate(submission: Submission) -> Candidate:
    return Candidate(
        text=submission.kernel.source,
        parent=submission.parent,
        change=submission.change,
        hypothesis=submission.hypothesis,
        language=Language(submission.kernel.language),
        predicted=submission.predicted,
    )
