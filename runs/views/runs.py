"""The list of runs, one run, and its attempts."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render

from kernels.harness.correctness import IncorrectReason
from kernels.harness.evaluation import Outcome
from runs import queries, words
from runs.access import SignedInRequest, get_run_for, may_change
from runs.board import board, time_split
from runs.change_words import changes_of
from runs.charts.strip import head
from runs.live import cursor_of
from runs.people_models import Team
from runs.presence import now_of
from runs.states import RunState
from runs.views.context import board_rows, retryable, shown


def run_list(request: SignedInRequest) -> HttpResponse:
    """Runs, newest first, filtered by state, owner and team from the address."""
    state, owner, team = request.GET.get("state", ""), request.GET.get("owner", ""), request.GET.get("team", "")
    teams = list(Team.objects.all())
    chosen = next((one for one in teams if str(one.pk) == team), None)
    key = chosen.pk if chosen is not None else 0
    state = state if state in RunState.values else ""
    page = queries.run_page(queries.runs_of(state, owner, key), request.GET.get("page"))
    counts = queries.state_counts(owner, key)
    context = {
        "rows": queries.run_rows(list(page.object_list)),
        "page": page,
        "state": state,
        "owner": owner,
        "states": [(value, counts.get(value, 0)) for value in RunState.values],
        "owners": queries.owner_counts(state, key),
        "teams": teams,
        "team": chosen,
        "total": sum(counts.values()),
    }
    return render(request, "runs/list.html", context)


def run_page(request: SignedInRequest, pk: int) -> HttpResponse:
    """One run: is it getting anywhere, and is it worth letting it go on?"""
    run = get_run_for(request.user, pk)
    seen, now = board(run), now_of(run)
    show = shown(request.GET.get("show", ""))
    page = Paginator(board_rows(seen, show), queries.PAGE).get_page(request.GET.get("page"))
    rows = list(page.object_list)
    context = {
        "run": run,
        "board": seen,
        "word": words.of_run(run),
        "split": time_split(run),
        "now": now,
        "stream": queries.stream(run),
        "cursor": cursor_of(seen, now),
        "strip_head": head(),
        "may_change": may_change(request.user, run),
        "retry": retryable(seen),
        "changed": changes_of(run),
        "show": show,
        "rows": rows,
        "page": page,
        "row_keys": ",".join(str(row.trajectory.pk) for row in rows),
        "chosen": request.GET.get("problem", ""),
    }
    return render(request, "runs/run.html", context)


def run_attempts(request: SignedInRequest, pk: int) -> HttpResponse:
    """All ended attempts of a run, by outcome and problem; incorrect ones by their reason too."""
    run = get_run_for(request.user, pk)
    outcome, slug = request.GET.get("outcome", ""), request.GET.get("problem", "")
    incorrect = outcome == Outcome.INCORRECT
    reason = request.GET.get("reason", "") if incorrect else ""
    counts = queries.outcome_counts(run, slug)
    reasons = queries.reason_counts(run, slug) if incorrect else {}
    page = queries.attempt_page(queries.attempts_of(run, outcome, slug, reason), request.GET.get("page"))
    context = {
        "run": run,
        "page": page,
        "attempts": list(page.object_list),
        "outcome": outcome,
        "slug": slug,
        "reason": reason,
        "reasons": [(kind, IncorrectReason(kind).words, count) for kind, count in reasons.items()],
        "outcomes": [(kind, words.of_outcome(kind), count) for kind, count in counts.items()],
        "total": sum(counts.values()),
    }
    return render(request, "runs/attempts.html", context)
