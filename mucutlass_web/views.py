"""Home and sign-in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from mucutlass_web import guesses, signin
from mucutlass_web.errors import TooManyGuesses
from mucutlass_web.sso_provider import configured
from runs import people

GONE, TOO_MANY = 410, 429
BACKEND = "mucutlass_web.backends.MemberBackend"


def home(request: HttpRequest) -> HttpResponse:
    """The product opens on its runs."""
    del request
    return redirect("runs-list")


class SignInView(LoginView):
    """Name and password. Somebody who is signed in already goes on."""

    template_name = "auth/sign_in.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Told to wait where too many wrong passwords came; the right one does not help before."""
        name = request.POST.get("username", "")
        try:
            guesses.spend(request, name)
        except TooManyGuesses as error:
            form = AuthenticationForm(request, initial={"username": name})
            context = self.get_context_data(form=form, error=str(error))
            headers = {"Retry-After": str(error.fields["seconds"])}
            return self.render_to_response(context, status=TOO_MANY, headers=headers)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Signed in."""
        guesses.forget(self.request, self.request.POST.get("username", ""))
        people.note_sign_in(form.get_user())
        return super().form_valid(form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """With the single sign-on that is configured, by its name."""
        sso = settings.OIDC_NAME if configured() else ""
        return {**super().get_context_data(**kwargs), "sso": sso}


@login_not_required
@never_cache
@sensitive_variables("secret")
@require_http_methods(["GET", "HEAD", "POST"])
def enter(request: HttpRequest, secret: str) -> HttpResponse:
    """A one-time link. Looking at it uses nothing up, so that previews of links cannot: the button does."""
    if request.method == "POST":
        user = signin.consume(secret)
        if user is None:
            return render(request, "auth/link_gone.html", status=GONE)
        people.note_sign_in(user)
        login(request, user, backend=BACKEND)
        return redirect("runs-list")
    link = signin.usable(secret)
    if link is None:
        return render(request, "auth/link_gone.html", status=GONE)
    return render(request, "auth/enter.html", {"person": link.user})
