"""Home and sign-in."""

from __future__ import annotations

from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from mucutlass_web import signin

GONE = 410
BACKEND = "django.contrib.auth.backends.ModelBackend"


def home(request: HttpRequest) -> HttpResponse:
    """The product opens on its runs."""
    del request
    return redirect("runs-list")


class SignInView(LoginView):
    """Name and password. Somebody who is signed in already goes on."""

    template_name = "auth/sign_in.html"
    redirect_authenticated_user = True


@login_not_required
@never_cache
@sensitive_variables("secret")
@require_http_methods(["GET", "POST"])
def enter(request: HttpRequest, secret: str) -> HttpResponse:
    """A one-time link. Looking at it uses nothing up, so that previews of links cannot: the button does."""
    if request.method == "POST":
        user = signin.consume(secret)
        if user is None:
            return render(request, "auth/link_gone.html", status=GONE)
        login(request, user, backend=BACKEND)
        return redirect("runs-list")
    link = signin.usable(secret)
    if link is None:
        return render(request, "auth/link_gone.html", status=GONE)
    return render(request, "auth/enter.html", {"person": link.user})
