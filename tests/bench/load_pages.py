"""The pages that are measured under load: by the names of their addresses, those that are not there left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.urls import NoReverseMatch, reverse

from kernels.models import Problem
from runs.glance import glance
from runs.kernel_models import Contender
from runs.live import cursor_of
from runs.models import Attempt, Lesson, Run, Trajectory
from runs.states import RunState
from sol.models import Case


@dataclass(frozen=True, slots=True)
class Page:
    """One address with the words it is reported by."""

    words: str
    address: str


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of the database that detail pages are asked of: the largest and the busiest of their kind."""

    run: Run
    live: Run
    attempt: Attempt
    asked: Trajectory | None
    problem: Problem
    kernel: str
    shared: str
    lesson: Lesson | None
    case: Case | None


def sample() -> Sample:
    """The rows that are asked for."""
    sized = Run.objects.annotate(n=Count("trajectories")).order_by("-n", "pk")
    whole = sized.filter(state=RunState.DONE)[0]
    live = sized.filter(state=RunState.RUNNING).first() or whole
    attempts = Attempt.objects.filter(trajectory__run=whole, new_best=True).order_by("-number")
    asked = Trajectory.objects.filter(run__proposer__startswith="model:", llm_calls__isnull=False).order_by("pk")
    busiest = Attempt.objects.values("kernel__digest").annotate(n=Count("pk")).order_by("-n")[0]
    return Sample(
        run=whole,
        live=live,
        attempt=attempts.select_related("trajectory__problem", "kernel")[0],
        asked=asked.select_related("problem").first(),
        problem=Problem.objects.annotate(n=Count("trajectories")).order_by("-n", "pk")[0],
        kernel=f"k-{Contender.objects.order_by('gap').select_related('kernel')[0].kernel.digest[:12]}",
        shared=f"k-{busiest['kernel__digest'][:12]}",
        lesson=Lesson.objects.first(),
        case=Case.objects.filter(verdict="").order_by("-harm").first(),
    )


def pages(of: Sample) -> list[Page]:
    """Every list and detail page that exists, in the order of the navigation."""
    run, one, problem = of.run, of.attempt, of.problem
    slug, card = one.trajectory.problem.slug, one.trajectory.device
    wanted: list[tuple[str, str, Callable[[], list[Any]], str]] = [
        ("runs list", "runs-list", list, ""),
        ("runs list, last page", "runs-list", list, "?page=4"),
        ("new run", "runs-new", list, ""),
        ("run, 250 problems × 40", "run", lambda: [run.pk], ""),
        ("run under way", "run", lambda: [of.live.pk], ""),
        ("run, poll that brings nothing", "run-live", lambda: [of.live.pk], f"?after={_cursor(of.live)}"),
        ("run, poll that brings all", "run-live", lambda: [of.live.pk], f"?after=0&rows={_first_rows(of.live)}"),
        ("run, chart", "run-chart", lambda: [run.pk], ""),
        ("attempts", "run-attempts", lambda: [run.pk], ""),
        ("attempts, last page", "run-attempts", lambda: [run.pk], "?page=200"),
        ("attempts, incorrect", "run-attempts", lambda: [run.pk], "?outcome=incorrect"),
        ("gap", "run-gap", lambda: [run.pk], ""),
        ("gap, figures", "run-gap-figures", lambda: [run.pk], ""),
        ("replay", "run-replay", lambda: [run.pk], ""),
        ("candidate", "candidate", lambda: [run.pk, slug, one.number], ""),
        ("transcript", "transcript", lambda: [_asked(of).run_id, _asked(of).problem.slug], ""),
        ("kernels", "kernels", list, ""),
        ("kernels, by time", "kernels", list, "?sort=-when"),
        ("kernels, far down", "kernels", list, f"?after={_far_down()}"),
        ("kernels, passed on a card", "kernels", list, f"?outcome=passed&device={card}&sort=-speedup"),
        ("kernels, crashed", "kernels", list, "?outcome=crash"),
        ("kernels, hacks", "kernels", list, "?standing=reward_hack&sort=-when"),
        ("kernels, of a problem", "kernels", list, f"?problem={slug}"),
        ("kernels, of a run", "kernels", list, f"?run={run.pk}"),
        ("kernels, since a day", "kernels", list, f"?since={run.created.date().isoformat()}"),
        ("kernels, a common word", "kernels", list, "?q=swizzle"),
        ("kernels, a rare text", "kernels", list, "?q=candidate+4711"),
        ("kernel", "kernel", lambda: [of.kernel], ""),
        ("kernel, tried most", "kernel", lambda: [of.shared], ""),
        ("leaderboard", "kernels-best", list, ""),
        ("leaderboard, last page", "kernels-best", list, "?page=5"),
        ("record", "kernels-record", lambda: [problem.slug], ""),
        ("record, chart", "kernels-record-chart", lambda: [problem.slug], ""),
        ("compare candidates", "compare", list, f"?c={one.pk}&c={one.pk - 1}"),
        ("compare runs", "compare", list, f"?r={run.pk}&r={of.live.pk}"),
        ("problems", "problems-list", list, ""),
        ("problem", "problem", lambda: [problem.slug], ""),
        ("problem, SOL", "problem-sol", lambda: [problem.slug], ""),
        ("problem, flaws", "problem-audit", lambda: [problem.slug], ""),
        ("triage", "triage", list, ""),
        ("triage, one case", "triage-case", lambda: [_case(of).pk], ""),
        ("audit", "audit", list, ""),
        ("lessons", "lessons", list, ""),
        ("lesson", "lesson", lambda: [of.lesson.pk if of.lesson else 0], ""),
        ("feedback", "feedback", list, ""),
        ("fleet", "fleet", list, ""),
        ("people", "people", list, ""),
        ("audit log", "audit-log", list, ""),
        ("presets", "presets", list, ""),
        ("search", "search", list, "?q=swizzle"),
        ("home", "home", list, ""),
    ]
    found = []
    for words, name, arguments, query in wanted:
        try:
            found.append(Page(words, reverse(name, args=arguments()) + query))
        except (NoReverseMatch, _Missing):
            continue
    return found


class _Missing(LookupError):
    """The database has no row of this kind."""


def _asked(of: Sample) -> Trajectory:
    if of.asked is None:
        raise _Missing
    return of.asked


def _case(of: Sample) -> Case:
    if of.case is None:
        raise _Missing
    return of.case


def _cursor(run: Run) -> str:
    seen = glance(run)
    return cursor_of(seen.board, seen.now)


def _first_rows(run: Run) -> str:
    """The problems that the first page of a run shows."""
    return ",".join(str(row.trajectory.pk) for row in glance(run).board.rows[:50])


def _far_down() -> str:
    """A place in the middle of what has a gap."""
    timed = Contender.objects.filter(gap__isnull=False).order_by("gap", "pk")
    half = timed.count() // 2
    one = timed[half]
    return f"{one.gap!r}~{one.pk}"
