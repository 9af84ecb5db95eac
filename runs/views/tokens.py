"""A person's API tokens: what there are, making one (its secret is shown once), taking one back."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from runs import tokens
from runs.access import SignedInRequest
from runs.api_models import Scope
from runs.models import ApiToken
from runs.roles import Right, may, require

_MOST = 50
"""Tokens of one person that still stand."""
_UNPROCESSABLE = 422


class TokenForm(forms.Form):
    """A new token."""

    name = forms.CharField(
        label="Name",
        max_length=80,
        error_messages={"required": "empty; what the token is for", "max_length": "longer than 80 characters"},
    )
    scope = forms.ChoiceField(
        label="May",
        choices=Scope.choices,
        initial=Scope.SUBMIT,
        error_messages={"required": "nothing chosen; read or submit", "invalid_choice": "unknown; read or submit"},
    )
    days = forms.TypedChoiceField(
        label="Good for",
        choices=[(days, f"{days} day{'s' if days > 1 else ''}") for days in tokens.DAYS],
        coerce=int,
        initial=30,
        error_messages={
            "required": f"nothing chosen; one of {', '.join(map(str, tokens.DAYS))} days",
            "invalid_choice": f"unknown; one of {', '.join(map(str, tokens.DAYS))} days",
        },
    )


@never_cache
@sensitive_variables("secret")
@require_http_methods(["GET", "POST"])
def token_page(request: SignedInRequest) -> HttpResponse:
    """The tokens of whoever is signed in. A new one's secret stands on the answer to its form and nowhere else."""
    form, secret, status = TokenForm(request.POST or None), "", 200
    if request.method == "POST":
        if request.POST.get("scope") == Scope.SUBMIT:
            require(request.user, Right.LAUNCH)
        standing = sum(token.state == "active" for token in ApiToken.objects.filter(user=request.user))
        if standing >= _MOST:
            form.add_error(None, f"{_MOST} tokens stand already; revoke one first")
        if form.is_valid():
            data = form.cleaned_data
            _, secret = tokens.make(request.user, data["name"], data["scope"], data["days"])
            form = TokenForm()
        else:
            status = _UNPROCESSABLE
    if not may(request.user, Right.LAUNCH):
        form.fields["scope"].choices = [(Scope.READ.value, Scope.READ.label)]  # type: ignore[attr-defined]
    context = {
        "form": form,
        "secret": secret,
        "tokens": ApiToken.objects.filter(user=request.user),
        "address": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "account/tokens.html", context, status=status)


@require_POST
def token_revoke(request: SignedInRequest, pk: int) -> HttpResponse:
    """Take one's own token back."""
    if not tokens.revoke(request.user, pk):
        raise Http404("You have no such token that still stands.")
    messages.info(request, "Revoked: it opens nothing any more.")
    return redirect("tokens")
