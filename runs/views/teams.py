"""Teams: their list, and one with its people, runs and figures. Everybody may look; admins change."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kernels.errors import UserError
from runs import people, queries
from runs.access import SignedInRequest
from runs.people_errors import MemberUnknown
from runs.people_list import PeopleFilters, figures_of
from runs.people_list import people as listed
from runs.people_list import teams as every_team
from runs.people_models import Team
from runs.roles import Right, require

_UNFIT = 422


@require_http_methods(["GET", "HEAD", "POST"])
def team_list(request: SignedInRequest) -> HttpResponse:
    """All teams; a POST makes one."""
    if request.method != "POST":
        return _list(request)
    require(request.user, Right.ADMINISTER)
    try:
        team = people.make_team(request.POST.get("name", ""), request.user)
    except UserError as error:
        return _list(request, request.POST.get("name", "")[:200], str(error))
    return redirect("team", team.pk)


def _list(request: SignedInRequest, typed: str = "", error: str = "") -> HttpResponse:
    context = {"teams": list(every_team()), "typed": typed, "error": error, "most": people.MOST_NAME}
    return render(request, "people/teams.html", context, status=_UNFIT if error else 200)


@require_safe
def team_page(request: SignedInRequest, pk: int) -> HttpResponse:
    """What a team does: its figures, its runs, its people."""
    team = get_object_or_404(Team, pk=pk)
    page = queries.run_page(queries.runs_of("", "", team.pk), request.GET.get("page"))
    context = {
        "team": team,
        "figures": figures_of(team),
        "page": page,
        "rows": queries.run_rows(list(page.object_list)),
        "members": list(listed(PeopleFilters(team=team.pk))[:200]),
        "most": people.MOST_NAME,
    }
    return render(request, "people/team.html", context)


@require_POST
def team_rename(request: SignedInRequest, pk: int) -> HttpResponse:
    """Another name."""
    return _done(request, pk, lambda team: people.rename_team(team, request.POST.get("name", ""), request.user))


@require_POST
def team_member(request: SignedInRequest, pk: int) -> HttpResponse:
    """Put somebody in by name, or take somebody out."""

    def work(team: Team) -> None:
        name = request.POST.get("name", "").replace("\0", "").strip()
        user = User.objects.filter(username=name).first()
        if user is None:
            raise MemberUnknown(name=name[:80])
        change = people.drop_member if "out" in request.POST else people.add_member
        change(team, user, request.user)

    return _done(request, pk, work)


@require_POST
def team_delete(request: SignedInRequest, pk: int) -> HttpResponse:
    """End a team; its people and runs stay."""
    require(request.user, Right.ADMINISTER)
    team = get_object_or_404(Team, pk=pk)
    people.delete_team(team, request.user)
    messages.info(request, f"Team {team.name} is deleted; its people and their runs stay.")
    return redirect("teams")


def _done(request: SignedInRequest, pk: int, work: Callable[[Team], None]) -> HttpResponse:
    require(request.user, Right.ADMINISTER)
    team = get_object_or_404(Team, pk=pk)
    try:
        work(team)
    except UserError as error:
        said = str(error)
        messages.error(request, f"{said[0].upper()}{said[1:]}.")
    return redirect("team", pk)
