"""Invitations: making a link (its secret is shown once), taking one back, and coming in by one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from kernels.errors import UserError
from runs import invitations
from runs.access import SignedInRequest
from runs.people_list import number_of
from runs.people_models import Invitation, Team
from runs.roles import Right, Role, require, role_of

_UNFIT = 422
_GONE = 410
_BACKEND = "mucutlass_web.backends.MemberBackend"


@never_cache
@sensitive_variables("secret")
@require_http_methods(["GET", "HEAD", "POST"])
def invitation_list(request: SignedInRequest) -> HttpResponse:
    """All invitations. A new one's link stands on the answer to its form and nowhere else."""
    require(request.user, Right.ADMINISTER)
    error, link, post = "", "", request.POST
    if request.method == "POST":
        team = Team.objects.filter(pk=number_of(post.get("team", ""))).first()
        try:
            _, secret = invitations.make(
                request.user, post.get("role", ""), team, number_of(post.get("days", "")),
                number_of(post.get("most", "")),
            )  # fmt: skip
            link = request.build_absolute_uri(reverse("join", args=[secret]))
        except UserError as unfit:
            error = str(unfit)
    context = {
        "error": error,
        "link": link,
        "invitations": list(Invitation.objects.select_related("team", "made_by")[:200]),
        "roles": list(Role),
        "teams": list(Team.objects.all()),
        "days": invitations.DAYS,
        "most": invitations.MOST_USES,
        "typed": {"role": post.get("role", Role.RUNNER.value), "most": post.get("most", "1")},
    }
    return render(request, "people/invitations.html", context, status=_UNFIT if error else 200)


@require_POST
def invitation_revoke(request: SignedInRequest, pk: int) -> HttpResponse:
    """Take a link back."""
    require(request.user, Right.ADMINISTER)
    if invitations.revoke(get_object_or_404(Invitation, pk=pk), request.user):
        messages.info(request, "Revoked: the link lets nobody in any more.")
    return redirect("invitations")


class JoinForm(forms.Form):
    """A new account."""

    username = forms.CharField(
        max_length=150,
        validators=[User.username_validator],
        error_messages={"required": "empty; the name that others see"},
    )
    password = forms.CharField(strip=False, error_messages={"required": "empty"})
    again = forms.CharField(strip=False, error_messages={"required": "empty; the same password again"})

    def clean_username(self) -> str:
        """A name that nobody has, whatever its case."""
        name = str(self.cleaned_data["username"])
        if User.objects.filter(username__iexact=name).exists():
            raise ValidationError("taken; another name would be right")
        return name

    def clean(self) -> dict[str, Any]:
        """The password rules, and both passwords alike."""
        data: dict[str, Any] = super().clean() or {}
        password, again = data.get("password"), data.get("again")
        if password and again and password != again:
            self.add_error("again", "not the same password as above")
        elif password:
            try:
                validate_password(password, User(username=data.get("username", "")))
            except ValidationError as error:
                self.add_error("password", " ".join(error.messages))
        return data


@login_not_required
@never_cache
@sensitive_variables("secret")
@sensitive_post_parameters("password", "again")
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """Come in by a link. Looking at it uses nothing up: the button does."""
    try:
        if request.method == "POST" and request.user.is_authenticated:
            return _accepted(request, secret)
        invitation = invitations.opened(secret)
        if request.method == "POST":
            return _joined(request, secret)
    except UserError as error:
        return render(request, "people/join_gone.html", {"error": str(error)}, status=_GONE)
    return _page(request, invitation, JoinForm())


def _page(request: HttpRequest, invitation: Invitation, form: JoinForm, status: int = 200) -> HttpResponse:
    role = Role(invitation.role)
    raises = request.user.is_authenticated and role.rank > role_of(request.user).rank
    context = {"invitation": invitation, "role": role, "form": form, "raises": raises}
    return render(request, "people/join.html", context, status=status)


def _accepted(request: HttpRequest, secret: str) -> HttpResponse:
    assert isinstance(request.user, User)
    invitations.accept(secret, request.user)
    return redirect("person", request.user.pk)


def _joined(request: HttpRequest, secret: str) -> HttpResponse:
    form = JoinForm(request.POST)
    if form.is_valid():
        try:
            user = invitations.join(secret, form.cleaned_data["username"], form.cleaned_data["password"])
        except IntegrityError:
            form.add_error("username", "taken a moment ago; another name would be right")
        else:
            login(request, user, backend=_BACKEND)
            return redirect("runs-list")
    return _page(request, invitations.opened(secret), form, _UNFIT)
