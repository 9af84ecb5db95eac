"""The triage inbox, one case with its evidence, and what people make of it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from kernels.errors import UserError
from runs.access import SignedInRequest, get_case_for, get_case_to_settle
from runs.roles import Right, may, require
from runs.triage.case_page import CasePage, reviewers
from runs.triage.counts import counts, open_severe
from runs.triage.effect import standing
from runs.triage.errors import MOST_WORDS, NoReviewer, WordsUnfit
from runs.triage.facets import facets
from runs.triage.filters import CaseFilters
from runs.triage.history import decided_meanwhile, last_of
from runs.triage.inbox import Inbox
from sol import cases
from sol.models import Case, Entry

NOT_TAKEN = 422


def triage(request: SignedInRequest) -> HttpResponse:
    """What waits for a person, the gravest first, and the first of it beside the list."""
    inbox = Inbox(CaseFilters.of(request.GET), request.user, number=request.GET.get("page"))
    inbox.current = inbox.first
    return _shown(request, inbox)


def triage_case(request: SignedInRequest, pk: int) -> HttpResponse:
    """Is this a cheat, and what changes if I say so?"""
    get_case_for(request.user, pk)
    return _shown(request, _inbox(request, pk))


def triage_filters(request: SignedInRequest) -> HttpResponse:
    """The filters with their counts, for the panel above the list."""
    filters = CaseFilters.of(request.GET)
    return render(request, "triage/filters.html", {"filters": filters, "facets": facets(filters, request.user)})


@require_POST
def triage_settle(request: SignedInRequest, pk: int) -> HttpResponse:
    """Settle a case, or its whole group, and go on to the next one."""
    case = get_case_to_settle(request.user, pk)
    inbox = _inbox(request, pk)
    scope = request.POST.get("scope", "")
    chosen = CasePage(case, inbox, request.user).chosen(scope, request.POST.get(f"cases-{scope}", ""))
    try:
        batch = _settle(request, pk, chosen)
    except UserError as error:
        return _shown(request, inbox, error=str(error))
    gone = set(Entry.objects.filter(batch=batch).values_list("case_id", flat=True))
    following = inbox.after(pk, gone) or next((one for one in inbox.order if one not in gone), None)
    left = inbox.without(gone, following) if not inbox.filters.state else None
    return _moved(request, following, left=left)


@transaction.atomic
def _settle(request: SignedInRequest, pk: int, chosen: tuple[int, ...]) -> str:
    """The batch of a verdict; an error where the case that was looked at is another than it was on the page."""
    why = _words(request.POST.get("why", ""), "the reason", needed=False)
    rows = list(Case.objects.select_for_update().filter(pk__in=chosen).order_by("pk").only("pk", "verdict"))
    was = request.POST.get("was")
    for case in rows:
        if case.pk == pk and was is not None and case.verdict != was:
            raise decided_meanwhile(case)
    return cases.settle(rows, request.POST.get("verdict", ""), request.user, why)


@require_POST
def triage_undo(request: SignedInRequest) -> HttpResponse:
    """Take a verdict back and show its case again."""
    require(request.user, Right.REVIEW)
    try:
        rows = cases.undo(request.POST.get("batch", ""), request.user)
    except UserError as error:
        messages.warning(request, f"{str(error)[0].upper()}{str(error)[1:]}.")
        back = request.POST.get("back", "")
        return _moved(request, int(back) if back.isascii() and back.isdigit() and len(back) < 19 else None)
    return _moved(request, rows[0].pk)


@require_POST
def triage_comment(request: SignedInRequest, pk: int) -> HttpResponse:
    """Say something about a case: everybody may."""
    case = get_case_for(request.user, pk)
    try:
        cases.comment(case, request.user, _words(request.POST.get("words", ""), "the comment"))
    except UserError as error:
        return _shown(request, _inbox(request, pk), error=str(error))
    return _moved(request, pk, "history")


@require_POST
def triage_assign(request: SignedInRequest, pk: int) -> HttpResponse:
    """Give a case to somebody who may settle it, or to nobody."""
    case = get_case_to_settle(request.user, pk)
    name = request.POST.get("to", "")
    try:
        to = reviewers().filter(username=name).first() if name else None
        if name and to is None:
            raise NoReviewer(name=name[:80], right=", ".join(one.username for one in reviewers()[:8]))
        words = _words(request.POST.get("words", ""), "the reason", needed=False)
        cases.assign([case], to, request.user, words)
    except UserError as error:
        return _shown(request, _inbox(request, pk), error=str(error))
    return _moved(request, pk)


def _words(text: str, what: str, *, needed: bool = True) -> str:
    words = text.replace("\0", "").strip()
    if needed and not words:
        raise WordsUnfit(what=what, wrong="is empty", most=MOST_WORDS)
    if len(words) > MOST_WORDS:
        raise WordsUnfit(what=what, wrong="is too long", most=MOST_WORDS)
    return words


def _inbox(request: SignedInRequest, current: int | None) -> Inbox:
    return Inbox(CaseFilters.of(request.GET), request.user, current, request.GET.get("page"))


def _moved(
    request: SignedInRequest, pk: int | None, part: str = "case-h", left: Inbox | None = None
) -> HttpResponse:
    """Go to a case: a swap for htmx, a redirect for everybody else. Without one the inbox's first is next.

    ``left`` is the inbox where that is known already.
    """
    filters = CaseFilters.of(request.GET)
    address = reverse("triage-case", args=[pk]) if pk is not None else reverse("triage")
    address += f"?{filters.text}" if filters.text else ""
    if not _swaps(request):
        return redirect(f"{address}#{part}")
    inbox = left or Inbox(filters, request.user, pk)
    if pk is None:
        inbox.current = inbox.first
    response = _shown(request, inbox)
    response["HX-Push-Url"] = address
    return response


def _swaps(request: SignedInRequest) -> bool:
    """Whether the case alone is asked for, to be put in the place of the one that is shown."""
    return request.headers.get("HX-Request") == "true" and request.headers.get("HX-Target") == "case"


def _shown(request: SignedInRequest, inbox: Inbox, error: str = "") -> HttpResponse:
    page = None
    if inbox.current is not None:
        case = get_case_for(request.user, inbox.current)
        page = CasePage(case, inbox, request.user, whole="whole" in request.GET)
    context: dict[str, Any] = {
        "inbox": inbox,
        "filters": inbox.filters,
        "counts": counts(request.user),
        "view": page,
        "error": error,
        "may_review": may(request.user, Right.REVIEW),
        "standing": standing(int(inbox.filters.run)) if inbox.filters.run else None,
        "last": last_of(request.user) if page is None else None,
    }
    swapped = _swaps(request)
    if swapped:
        context["severe"] = open_severe()
    elif "panel" in request.GET:
        context["facets"] = facets(inbox.filters, request.user)
    template = "triage/swap.html" if swapped else "triage/page.html"
    return render(request, template, context, status=NOT_TAKEN if error and not swapped else 200)
