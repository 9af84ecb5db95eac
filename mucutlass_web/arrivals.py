"""Marks where each request comes in, for the log, and when each person was last seen."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from runs.ledger import arriving
from runs.ledger_models import Through
from runs.people_models import Person

API = "/api/v1/"


def address_of(request: HttpRequest) -> str:
    """Where a request comes from. Behind ``TRUSTED_PROXIES`` proxies, what the outermost of them says."""
    proxies = settings.TRUSTED_PROXIES
    passed = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    if proxies and len(passed) >= proxies:
        return str(passed[-proxies])
    return str(request.META.get("REMOTE_ADDR", ""))


class ArrivalMiddleware:
    """Stands behind the authentication."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        through = Through.API if request.path.startswith(API) else Through.PAGE
        with arriving(through, address_of(request)):
            if through is Through.PAGE and settings.SEEN_EVERY_S:
                _note_seen(request)
            return self.get_response(request)


def _note_seen(request: HttpRequest) -> None:
    """Write when somebody was last here; at most once in so many seconds, by the row that came with the account."""
    user = request.user
    if not user.is_authenticated:
        return
    person, now = getattr(user, "person", None), timezone.now()
    if person is None:
        return  # it is made when they sign in next
    if person.seen is None or now - person.seen > timedelta(seconds=settings.SEEN_EVERY_S):
        Person.objects.filter(pk=person.pk).update(seen=now)
