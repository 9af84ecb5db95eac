"""Is the feedback any good? Each tool's hit rate, and the candidates behind it."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import render

from agent.feedback import TITLES
from runs.access import SignedInRequest
from runs.feedback_table import FeedbackFilter, followings, targets_raised, tool_rows


def feedback_list(request: SignedInRequest) -> HttpResponse:
    """Every tool with what came of its advice."""
    chosen = FeedbackFilter.of(request.GET)
    rows = tool_rows(chosen)
    context = {
        "rows": rows,
        "chosen": chosen,
        "targets": targets_raised(),
        "followed": sum(row.followed for row in rows),
        "tools": len(TITLES),
    }
    return render(request, "runs/feedback.html", context)


def feedback_tool(request: SignedInRequest, tool: str) -> HttpResponse:
    """One tool, and every candidate that followed it."""
    chosen = FeedbackFilter.of(request.GET)
    row = next((one for one in tool_rows(chosen) if one.tool == tool), None)
    if row is None and tool not in TITLES:
        raise Http404("There is no such tool.")
    page = followings(tool, chosen, request.GET.get("page"))
    context = {
        "row": row,
        "tool": tool,
        "title": TITLES.get(tool, tool),
        "page": page,
        "followings": list(page.object_list),
        "chosen": chosen,
        "targets": targets_raised(),
    }
    return render(request, "runs/feedback_tool.html", context)
