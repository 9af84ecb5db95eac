"""What memory holds: the list of lessons, one lesson with its history, and what people change about it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from agent.lessons import MOST_TEXT
from runs import memory
from runs.access import SignedInRequest, get_lesson_for, get_lesson_to_change, may_change_lesson
from runs.errors import LessonTextUnfit
from runs.lesson_list import LessonFilters, lesson_groups, lesson_page
from runs.lesson_models import Lesson


def lesson_list(request: SignedInRequest) -> HttpResponse:
    """What has been learned, where, and who was told."""
    filters = LessonFilters.of(request.GET)
    page = lesson_page(filters, request.GET.get("page"))
    context = {
        "page": page,
        "lessons": list(page.object_list),
        "total": Lesson.objects.count(),
        "filters": filters,
        "groups": lesson_groups(filters),
    }
    return render(request, "runs/lessons.html", context)


def lesson_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """One lesson: its words, where they came from, what people changed, who was given it."""
    return _detail(request, get_lesson_for(request.user, pk))


def _detail(request: SignedInRequest, lesson: Lesson, typed: str | None = None, error: str = "") -> HttpResponse:
    context = {
        "lesson": lesson,
        "typed": lesson.text if typed is None else typed,
        "error": error,
        "most": MOST_TEXT,
        "edits": list(lesson.edits.select_related("user")),
        "uses": list(lesson.uses.select_related("trajectory__run", "trajectory__problem").order_by("-pk")[:50]),
        "tainted": memory.is_tainted(lesson),
        "may_change": may_change_lesson(request.user, lesson),
    }
    return render(request, "runs/lesson.html", context, status=422 if error else 200)


@require_POST
def lesson_edit(request: SignedInRequest, pk: int) -> HttpResponse:
    """Put other words in a lesson's place; the original stays."""
    lesson = get_lesson_to_change(request.user, pk)
    typed = request.POST.get("text", "")
    try:
        memory.edit(lesson, request.user, typed)
    except LessonTextUnfit as unfit:
        return _detail(request, lesson, typed, str(unfit))
    return redirect("lesson", pk)


@require_POST
def lesson_retire(request: SignedInRequest, pk: int) -> HttpResponse:
    """Give a lesson to nobody any more."""
    memory.retire(get_lesson_to_change(request.user, pk), request.user)
    messages.info(request, "Retired: no trajectory is given it from now on.")
    return redirect("lesson", pk)


@require_POST
def lesson_restore(request: SignedInRequest, pk: int) -> HttpResponse:
    """Give a retired lesson to trajectories again."""
    memory.restore(get_lesson_to_change(request.user, pk), request.user)
    return redirect("lesson", pk)
