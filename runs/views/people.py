"""People: who is here, what each may do, shutting somebody out. Everybody may look; admins change."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from kernels.errors import UserError
from runs import people, queries, tokens
from runs.access import SignedInRequest
from runs.ledger_models import Deed
from runs.models import ApiToken
from runs.people_list import PeopleFilters, accounts, people_page, role_counts, teams
from runs.roles import Right, Role, may, require, role_of

_RUNS, _DEEDS = 20, 20


@require_safe
def people_list(request: SignedInRequest) -> HttpResponse:
    """Who is here, with role, teams and runs."""
    filters = PeopleFilters.of(request.GET, by_email=may(request.user, Right.ADMINISTER))
    page = people_page(filters, request.GET.get("page"))
    counts = role_counts(filters)
    context = {
        "page": page,
        "people": list(page.object_list),
        "filters": filters,
        "roles": counts,
        "total": sum(count for _, count in counts),
        "teams": list(teams()),
        "sentences": [(role.value, role.sentence) for role in Role],
    }
    return render(request, "people/list.html", context)


@require_safe
def person_page(request: SignedInRequest, pk: int) -> HttpResponse:
    """One account: what it may do, its teams and runs; for admins, its tokens and what it did."""
    person = get_object_or_404(accounts(), pk=pk)
    admin = may(request.user, Right.ADMINISTER)
    runs = list(queries.runs_of("", person.get_username())[:_RUNS])
    context = {
        "person": person,
        "role": role_of(person),
        "roles": list(Role),
        "rows": queries.run_rows(runs),
        "tokens": list(ApiToken.objects.filter(user=person)[:50]) if admin else [],
        "deeds": list(Deed.objects.filter(user=person)[:_DEEDS]) if admin else [],
    }
    return render(request, "people/person.html", context)


@require_POST
def person_role(request: SignedInRequest, pk: int) -> HttpResponse:
    """Give somebody a role."""

    def work(person: User) -> str:
        role = people.role_named(request.POST.get("role", ""))
        if people.set_role(person, role, request.user):
            return f"{person.get_username()} is {role.value} now: {role.sentence}"
        return ""

    return _done(request, pk, work)


@require_POST
def person_deactivate(request: SignedInRequest, pk: int) -> HttpResponse:
    """Shut somebody out."""

    def work(person: User) -> str:
        people.deactivate(person, request.user)
        return f"{person.get_username()} is shut out: sessions ended, tokens revoked"

    return _done(request, pk, work)


@require_POST
def person_reactivate(request: SignedInRequest, pk: int) -> HttpResponse:
    """Let somebody in again."""

    def work(person: User) -> str:
        people.reactivate(person, request.user)
        return f"{person.get_username()} may sign in again; tokens stay revoked"

    return _done(request, pk, work)


@require_POST
def person_token_revoke(request: SignedInRequest, pk: int, token: int) -> HttpResponse:
    """Take somebody's token back."""

    def work(person: User) -> str:
        if not tokens.revoke(person, token, request.user):
            raise Http404("There is no such token that still stands.")
        return "revoked: the token opens nothing any more"

    return _done(request, pk, work)


def _done(request: SignedInRequest, pk: int, work: Callable[[User], str]) -> HttpResponse:
    """An admin's act on an account: do it, say what came of it or why not, and go back to the account."""
    require(request.user, Right.ADMINISTER)
    try:
        said = work(get_object_or_404(User, pk=pk))
    except UserError as error:
        said = str(error)
    if said:
        messages.info(request, f"{said[0].upper()}{said[1:]}.")
    return redirect("person", pk)
