"""Trajectories: posting candidates, waiting for what they come to, the history, records and generated code."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router

from agent.steps import Candidate, FinishReason
from kernels.codegen.emission import Emission
from kernels.records import from_json
from runs import outside
from runs.access import get_run_to_change
from runs.api.auth import ApiRequest
from runs.api.once import once
from runs.api.patience import LONGEST_S, patiently
from runs.api.run_routes import trajectory_item
from runs.api.schemas import (
    AttemptForm,
    CandidateForm,
    CandidateWanted,
    CodeForm,
    EndWanted,
    EvaluationForm,
    HistoryPage,
    Round,
    TrajectoryForm,
    UnitForm,
)
from runs.models import Attempt, Event, Submission, Trajectory
from runs.states import FINAL

router = Router(tags=["candidates"])

Wait = Annotated[float, Query(ge=0, le=LONGEST_S, allow_inf_nan=False)]
_CREATED = 201


def _trajectory(pk: int) -> Trajectory:
    related = Trajectory.objects.select_related("run__owner", "problem", "best")
    return get_object_or_404(related.defer("bounds", "problem__source"), pk=pk)


def _to_change(request: ApiRequest, pk: int) -> Trajectory:
    trajectory = _trajectory(pk)
    get_run_to_change(request.auth.user, trajectory.run_id)
    return trajectory


@router.get("/trajectories/{int:trajectory}", response=TrajectoryForm, summary="Read a trajectory")
def read_trajectory(request: ApiRequest, trajectory: int) -> TrajectoryForm:
    """Where it stands, what it started from, and whether it waits for a post."""
    return _trajectory_form(trajectory)


def _trajectory_form(pk: int) -> TrajectoryForm:
    row = _trajectory(pk)
    started = Event.objects.filter(trajectory=row, kind="started").values_list("record", flat=True).first() or {}
    posted = Submission.objects.filter(trajectory=row).values_list("pk", "answered")
    takes = outside.takes_posts(row.run) and row.state not in FINAL
    return TrajectoryForm(
        **trajectory_item(row),
        run=row.run_id,
        device=row.device,
        seed_program=started.get("seed_program"),
        seed_language=row.seed_language,
        waits_for_post=outside.waiting().filter(pk=pk).exists(),
        waiting=[key for key, answered in posted if answered is None and row.state not in FINAL],
        attempts_left=outside.attempts_left(row) if takes else 0,
    )


@router.post("/trajectories/{int:trajectory}/end", response=TrajectoryForm, summary="End a trajectory")
def end_trajectory(request: ApiRequest, trajectory: int, wanted: EndWanted) -> TrajectoryForm:
    """The agent has nothing more to post. Its run is done once all its trajectories are."""
    _to_change(request, trajectory)
    outside.end(trajectory, FinishReason.AGENT_DONE, wanted.words)
    return _trajectory_form(trajectory)


@router.post("/trajectories/{int:trajectory}/candidates", response={201: CandidateForm}, summary="Post a candidate")
def post_candidate(request: ApiRequest, trajectory: int, wanted: CandidateWanted) -> HttpResponse:
    """It is built and measured in its turn: posts are taken in the order in which they came."""
    _to_change(request, trajectory)
    user = request.auth.user

    def work() -> CandidateForm:
        candidate = Candidate(
            text=wanted.text,
            parent=wanted.parent,
            change=wanted.change,
            hypothesis=wanted.hypothesis,
            language=wanted.language,
            predicted=wanted.predicted,
        )
        return _candidate_form(outside.post(trajectory, user, candidate).pk)

    return once(request, user, _CREATED, work)


@router.get("/candidates/{int:candidate}", response=CandidateForm, summary="Wait for a posted candidate")
def read_candidate(request: ApiRequest, candidate: int, wait: Wait = 0.0) -> CandidateForm:
    """What it came to. With ``wait``, up to so many seconds for its end; where too many wait already, at once."""
    return patiently(lambda: _candidate_form(candidate), lambda form: form.state in ("ended", "dropped"), wait)


def _candidate_form(pk: int) -> CandidateForm:
    """One candidate as it stands now: three queries."""
    posted = get_object_or_404(Submission.objects.select_related("trajectory"), pk=pk)
    found = Attempt.objects.filter(trajectory=posted.trajectory_id, kernel=posted.kernel_id)
    attempt = found.select_related("kernel", "trajectory", "parent").defer("trajectory__bounds").first()
    state = "waiting"
    if attempt is not None:
        state = "ended" if attempt.state in FINAL else "under_way"
    elif posted.trajectory.state in FINAL:
        state = "dropped"
    return CandidateForm(
        id=posted.pk,
        trajectory=posted.trajectory_id,
        state=state,
        attempt=_attempt_form(attempt) if attempt is not None else None,
    )


def _attempt_form(attempt: Attempt) -> AttemptForm:
    notes = _notes(attempt.trajectory_id, [attempt.number])
    return AttemptForm(**_round(attempt, notes), text=attempt.kernel.source)


def _notes(trajectory: int, numbers: list[int]) -> dict[tuple[str, int], dict[str, Any]]:
    """What the log says of these attempts, by kind and number; the last word of a kind stands. One query."""
    kinds = ("submitted", "measured", "profiled")
    events = Event.objects.filter(trajectory=trajectory, kind__in=kinds, record__number__in=numbers)
    rows = events.order_by("sequence").values_list("kind", "record")
    return {(kind, record["number"]): record for kind, record in rows}


def _round(attempt: Attempt, notes: dict[tuple[str, int], dict[str, Any]]) -> dict[str, Any]:
    number = attempt.number
    measured, profiled = notes.get(("measured", number), {}), notes.get(("profiled", number), {})
    submitted = notes.get(("submitted", number), {}).get("candidate", {})
    ended = attempt.state in FINAL
    return {
        "number": number,
        "state": attempt.state,
        "outcome": attempt.outcome or None,
        "reason": attempt.reason or None,
        "detail": attempt.detail,
        "parent": attempt.parent.number if attempt.parent is not None else None,
        "language": attempt.kernel.language,
        "change": attempt.change,
        "hypothesis": attempt.hypothesis,
        "predicted": submitted.get("predicted"),
        "time_s": attempt.time_s,
        "eager_s": attempt.eager_s,
        "speedup": attempt.speedup,
        "gap": attempt.gap,
        "new_best": attempt.new_best,
        "flagged": bool(attempt.held),
        "held": attempt.held or None,
        "why_held": str(measured.get("detail") or attempt.told) if attempt.held else None,
        "findings": (profiled.get("feedback") or measured.get("feedback") or []) if ended else [],
        "created": attempt.created,
        "finished": attempt.finished,
    }


@router.get("/trajectories/{int:trajectory}/attempts", response=HistoryPage, summary="Read the history")
def read_history(
    request: ApiRequest, trajectory: int, after: int = 0, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> HistoryPage:
    """Attempts by number, without their texts. Three queries."""
    if not Trajectory.objects.filter(pk=trajectory).exists():
        raise Http404
    found = (
        Attempt.objects.filter(trajectory=trajectory, number__gt=after)
        .select_related("kernel", "trajectory", "parent")
        .defer("kernel__source", "trajectory__bounds", "trajectory__seed_program")
        .order_by("number")
    )
    rows = list(found[: limit + 1])
    shown = rows[:limit]
    notes = _notes(trajectory, [row.number for row in shown])
    return HistoryPage(
        items=[Round(**_round(row, notes)) for row in shown], next=shown[-1].number if len(rows) > limit else None
    )


def _attempt(trajectory: int, number: int, *related: str) -> Attempt:
    rows = Attempt.objects.select_related("kernel", "trajectory", "parent", *related).defer("trajectory__bounds")
    return get_object_or_404(rows, trajectory=trajectory, number=number)


@router.get(
    "/trajectories/{int:trajectory}/attempts/{int:number}", response=AttemptForm, summary="Wait for an attempt"
)
def read_attempt(request: ApiRequest, trajectory: int, number: int, wait: Wait = 0.0) -> AttemptForm:
    """One attempt with its text and what the feedback tools found. ``wait`` as for a posted candidate."""
    return patiently(lambda: _attempt_form(_attempt(trajectory, number)), lambda form: form.state in FINAL, wait)


@router.get(
    "/trajectories/{int:trajectory}/attempts/{int:number}/evaluation",
    response=EvaluationForm,
    summary="Read an evaluation",
)
def read_evaluation(request: ApiRequest, trajectory: int, number: int) -> EvaluationForm:
    """The whole record: checks, rounds, timings with their circumstances. 404 where it never came to one."""
    attempt = _attempt(trajectory, number, "evaluation")
    if attempt.evaluation is None:
        raise Http404
    return EvaluationForm(attempt=number, machine=attempt.evaluation.machine, record=attempt.evaluation.record)


@router.get("/trajectories/{int:trajectory}/attempts/{int:number}/code", response=CodeForm, summary="Read the C++")
def read_code(request: ApiRequest, trajectory: int, number: int) -> CodeForm:
    """What was compiled for the run's target. 404 where nothing was: a refused program, or Python."""
    attempt = _attempt(trajectory, number, "build")
    if attempt.build is None:
        raise Http404
    emission = from_json(attempt.build.emission, Emission)
    units = [
        UnitForm(symbol=u.symbol, stages=list(u.stages), hand_written=u.hand_written, source=u.source)
        for u in emission.units
    ]
    return CodeForm(attempt=number, target=attempt.build.target, units=units)
