"""Who asks: a bearer token, or the session of somebody who is signed in, whose writes need the CSRF header."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.middleware.csrf import CsrfViewMiddleware
from ninja.security import HttpBearer
from ninja.security.apikey import APIKeyCookie

from kernels.errors import UserError
from runs import tokens
from runs.api import limits
from runs.api_models import Scope
from runs.errors import FormForged, ScopeTooSmall, TokenUnknown

_SAFE = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and by which token; None where it is a session."""

    user: User
    token: str | None
    scope: str


class ApiRequest(HttpRequest):
    """A request as the API's routes see it."""

    auth: Caller


class Bearer(HttpBearer):
    """``Authorization: Bearer TOKEN``. A write needs a token that may submit."""

    def authenticate(self, request: HttpRequest, token: str) -> Caller:
        """Whose token it is; raises what is wrong with it."""
        try:
            row = tokens.holder(token.strip())
        except UserError:
            limits.note_failure()
            raise
        write = request.method not in _SAFE
        if write and row.scope != Scope.SUBMIT:
            raise ScopeTooSmall(name=row.name)
        limits.spend(f"token:{row.pk}", write=write)
        return Caller(row.user, row.name, row.scope)


class Session(APIKeyCookie):
    """The session cookie of a browser."""

    param_name = "sessionid"

    def _get_key(self, request: HttpRequest) -> str | None:
        return request.COOKIES.get(self.param_name)

    def authenticate(self, request: HttpRequest, key: str | None) -> Caller | None:
        """Who is signed in; None where nobody is. Raises FormForged for a write without its CSRF header."""
        user = request.user
        if "Authorization" in request.headers:
            raise TokenUnknown()
        if not key or not isinstance(user, User) or not user.is_active:
            return None
        write = request.method not in _SAFE
        if write:
            _check_csrf(request)
        limits.spend(f"user:{user.pk}", write=write)
        return Caller(user, None, Scope.SUBMIT)


class _Csrf(CsrfViewMiddleware):
    """Django's check without its page."""

    def _reject(self, request: HttpRequest, reason: str) -> HttpResponseForbidden:
        return HttpResponseForbidden(reason)


def _check_csrf(request: HttpRequest) -> None:
    """Raise FormForged unless the request carries the session's CSRF token. The routes are exempt from the middleware,
    since a bearer token needs none."""
    check = _Csrf(lambda _: HttpResponse())
    check.process_request(request)
    request.csrf_processing_done = False  # type: ignore[attr-defined]
    if check.process_view(request, _nothing, (), {}) is not None:
        raise FormForged()


def _nothing(request: HttpRequest) -> HttpResponse:
    """A view that is not exempt."""
    return HttpResponse()
