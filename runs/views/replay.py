"""A finished run under other stop policies: the page, its chart as JSON, its numbers as a file."""

from __future__ import annotations

import csv

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse

from agent.pareto import KEEPS, NAMED, Outlook, Policy
from runs.access import SignedInRequest, get_run_for
from runs.charts.pareto import pareto
from runs.csv_files import csv_file
from runs.models import Run
from runs.replaying import Replay, cost_words, policy_asked, query_of, replay_of, table, words_of

LISTED = 0.9
"""The short table holds what keeps so much; the long one below it everything."""


def replay_page(request: SignedInRequest, pk: int) -> HttpResponse:
    """Which stop rules would have kept the speedup for less?"""
    run = get_run_for(request.user, pk)
    seen, asked = replay_of(run), policy_asked(request.GET)
    context: dict[str, object] = {"run": run, "seen": seen, "enough": KEEPS, "keeps": LISTED}
    if seen.final and seen.attempts:
        outlook = seen.chosen(asked)
        context |= {
            "chosen": _row(seen, outlook),
            "own": words_of(Policy(run.epsilon, run.patience)),
            "suggested": asked is None,
            "stops": seen.stops(outlook),
            "best": [_row(seen, each) for each in _shown(seen, outlook)],
            "grid": [_row(seen, each) for each in seen.outlooks],
            "chart": f"{reverse('run-replay-chart', args=[pk])}?{query_of(outlook.policy)}",
        }
    return render(request, "runs/replay.html", context)


def _shown(seen: Replay, chosen: Outlook) -> list[Outlook]:
    """What of the front keeps LISTED, the named points and the chosen one, most saving first."""
    good = {each.policy for each in seen.outlooks if (each.retention or 0.0) >= LISTED}
    wanted = (seen.front & good) | set(NAMED) | {chosen.policy}
    found = [each for each in seen.outlooks if each.policy in wanted]
    if chosen.policy not in {each.policy for each in found}:
        found.append(chosen)
    return sorted(found, key=lambda each: (-each.saving, -(each.retention or 0.0)))


def _row(seen: Replay, outlook: Outlook) -> dict[str, object]:
    policy = outlook.policy
    return {
        "outlook": outlook,
        "words": words_of(policy),
        "paid": cost_words(outlook.paid, outlook.unit),
        "whole": cost_words(outlook.whole, outlook.unit),
        "query": query_of(policy),
        "front": policy in seen.front,
        "named": policy in NAMED,
    }


def _address(run: Run, policy: Policy) -> str:
    return f"{reverse('run-replay', args=[run.pk])}?{query_of(policy)}"


def replay_chart(request: SignedInRequest, pk: int) -> JsonResponse:
    """Saving against retention of the whole grid."""
    run = get_run_for(request.user, pk)
    seen = replay_of(run)
    chosen = seen.chosen(policy_asked(request.GET)).policy if seen.tracks else Policy(None, None)
    outlooks = seen.outlooks if seen.tracks else ()
    return JsonResponse(pareto(outlooks, seen.front, chosen, lambda policy: _address(run, policy), words_of))


def replay_csv(request: SignedInRequest, pk: int) -> HttpResponse:
    """The whole grid, for all problems and for each."""
    run = get_run_for(request.user, pk)
    response = csv_file(f"{run}-replay")
    csv.writer(response).writerows(table(replay_of(run)))
    return response
