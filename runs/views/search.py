"""One search over runs, problems and what kernels say."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render

from kernels.models import Problem
from kernels.source_search import matching
from runs.access import SignedInRequest
from runs.models import Attempt, Run

LIMIT = 20


@dataclass(frozen=True, slots=True)
class Found:
    """An attempt whose program has the text: the first line that has it."""

    attempt: Attempt
    number: int
    line: str


def _in_sources(text: str) -> list[Found]:
    attempts = (
        Attempt.objects.filter(kernel_id__in=matching(text).keys)
        .select_related("trajectory__problem", "trajectory__run", "kernel")
        .defer("trajectory__bounds", "trajectory__problem__source")
        .order_by("-id")[:LIMIT]
    )
    found = []
    for attempt in attempts:
        lines = enumerate(attempt.kernel.source.split("\n"), 1)
        number, line = next(((n, line) for n, line in lines if text.lower() in line.lower()), (0, ""))
        found.append(Found(attempt, number, line.strip()))
    return found


def search(request: SignedInRequest) -> HttpResponse:
    """Runs by title or number, problems by id or name, programs by what is in them."""
    text = request.GET.get("q", "").strip()
    runs: list[Run] = []
    problems: list[Problem] = []
    sources: list[Found] = []
    if text:
        number = text.lower().removeprefix("r-")
        by_number = Q(pk=int(number)) if number.isascii() and number.isdigit() and len(number) < 10 else Q()
        titled = Q(title__icontains=text)
        runs = list(Run.objects.select_related("owner").filter(titled | by_number if by_number else titled)[:LIMIT])
        named = Q(slug__icontains=text) | Q(name__icontains=text)
        problems = list(Problem.objects.defer("source").filter(named)[:LIMIT])
        sources = _in_sources(text)
    context = {"text": text, "runs": runs, "problems": problems, "sources": sources, "limit": LIMIT}
    return render(request, "runs/search.html", context)
