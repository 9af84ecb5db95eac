"""Single sign-on by OpenID Connect: mozilla-django-oidc does the flow, here is what it leaves to its users.

Beside signature, state, nonce and PKCE, which the library checks, a token must be of our issuer, for our client, and in
time, and its subject must be the one that the provider's user endpoint speaks of.
"""

from __future__ import annotations

import logging
from typing import Any

import jwt
import requests
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.core.exceptions import SuspiciousOperation
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView, OIDCAuthenticationRequestView

from kernels.errors import UserError
from mucutlass_web import sso_provider
from mucutlass_web.backends import member
from mucutlass_web.errors import SsoRefused
from mucutlass_web.models import Identity
from runs import ledger, people
from runs.ledger_models import Action
from runs.people_errors import LastAdmin
from runs.people_models import Person
from runs.roles import Role

logger = logging.getLogger(__name__)

_LEEWAY_S = 60
_REFUSED = 403


class SsoBackend(OIDCAuthenticationBackend):  # type: ignore[misc]  # the library has no types
    """An account by what a provider says of it. Nothing is asked of the provider before somebody comes from it."""

    def __init__(self) -> None:
        self.UserModel = User
        self.OIDC_RP_CLIENT_ID = settings.OIDC_RP_CLIENT_ID
        self.OIDC_RP_CLIENT_SECRET = settings.OIDC_RP_CLIENT_SECRET
        self.OIDC_RP_SIGN_ALGO = settings.OIDC_RP_SIGN_ALGO
        self.OIDC_RP_IDP_SIGN_KEY = None

    OIDC_OP_TOKEN_ENDPOINT = property(lambda self: sso_provider.provider().token)
    OIDC_OP_USER_ENDPOINT = property(lambda self: sso_provider.provider().userinfo)
    OIDC_OP_JWKS_ENDPOINT = property(lambda self: sso_provider.provider().keys)

    def authenticate(self, request: HttpRequest | None, **kwargs: Any) -> User | None:
        """Whose code this is. Other ways to sign in carry no nonce and are none of our business."""
        if request is None or not kwargs.get("nonce") or not sso_provider.configured():
            return None
        found: User | None = super().authenticate(request, **kwargs)
        return found

    def get_user(self, user_id: Any) -> User | None:
        """The account of a session."""
        return member(user_id)

    def _verify_jws(self, payload: str, key: Any) -> dict[str, Any]:
        """A token's claims. Raises SsoRefused unless it is signed, ours, theirs and in time."""
        try:
            claims: dict[str, Any] = jwt.decode(
                payload,
                key,
                algorithms=[self.OIDC_RP_SIGN_ALGO],
                audience=self.OIDC_RP_CLIENT_ID,
                issuer=sso_provider.provider().issuer,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iat", "aud", "iss", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise SsoRefused(
                why=f"the token does not hold ({error})", right="a fresh one for this client"
            ) from None
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if (several or "azp" in claims) and claims.get("azp") != self.OIDC_RP_CLIENT_ID:
            raise SsoRefused(why="the token was made for another client", right="one for this client")
        return claims

    def get_or_create_user(self, access_token: str, id_token: str, payload: dict[str, Any]) -> User:
        """The account of a verified token; made where there is none. Raises SsoRefused."""
        told = self.get_userinfo(access_token, id_token, payload)
        if told.get("sub") != payload["sub"]:
            raise SsoRefused(why="the provider told of somebody else", right="the subject of the token")
        claims = {**payload, **told}
        email, role = sso_provider.check_claims(claims), sso_provider.role_of_claims(claims)
        try:
            return _came(payload["sub"], email, claims, role)
        except IntegrityError:  # another tab made the account meanwhile
            return _came(payload["sub"], email, claims, role)


@transaction.atomic
def _came(subject: str, email: str, claims: dict[str, Any], role: Role | None) -> User:
    """The account of somebody who may come in, with the role of their claims."""
    user, made = _account(subject, email, claims, role)
    if not user.is_active:
        raise SsoRefused(why="this account was deactivated", right="asking an admin")
    if role is not None and not made:
        _follow_role(user, role)
    return user


def _account(subject: str, email: str, claims: dict[str, Any], role: Role | None) -> tuple[User, bool]:
    """The account, and whether it was made: known by its subject, else by its verified address, else new."""
    issuer = sso_provider.provider().issuer
    known = Identity.objects.select_related("user__person").filter(issuer=issuer, subject=subject).first()
    if known is not None:
        owner: User = known.user
        return owner, False
    same = list(User.objects.select_related("person").filter(email__iexact=email)[:2])
    if len(same) > 1:
        raise SsoRefused(why=f"several accounts have the address {email}", right="one account an address")
    if same and same[0].identities.filter(issuer=issuer).exists():
        raise SsoRefused(
            why=f"the account with the address {email} is already of somebody else at this provider",
            right="an address of your own, or asking an admin",
        )
    user = same[0] if same else _make(email, claims, role or sso_provider.default_role())
    Identity.objects.create(user=user, issuer=issuer, subject=subject)
    return user, not same


def _make(email: str, claims: dict[str, Any], role: Role) -> User:
    wanted, name, number = sso_provider.name_of(claims, email), "", 1
    while not name or User.objects.filter(username__iexact=name).exists():
        name, number = wanted if number == 1 else f"{wanted}-{number}", number + 1
    # Whoever comes to an empty installation first runs it: somebody has to.
    given = role if User.objects.filter(is_active=True).exists() else Role.ADMIN
    user = User.objects.create_user(name, email=email)
    Person.objects.create(user=user, role=given.value)
    ledger.record(user, Action.JOINED, user, f"by single sign-on: {given.value}")
    return user


def _follow_role(user: User, role: Role) -> None:
    """The provider decides roles where a claim is mapped; the only admin stays one all the same."""
    try:
        people.set_role(user, role, None)
    except LastAdmin:
        logger.warning("%s stays admin: there is no other", user)


def _door(request: HttpRequest, error: UserError) -> HttpResponse:
    return render(request, "auth/sso_refused.html", {"error": str(error)}, status=_REFUSED)


@method_decorator((login_not_required, never_cache), name="dispatch")
class SsoStart(OIDCAuthenticationRequestView):  # type: ignore[misc]
    """Off to the provider, with a state, a nonce and a code challenge that it must bring back."""

    def __init__(self, **kwargs: Any) -> None:
        super(OIDCAuthenticationRequestView, self).__init__(**kwargs)
        self.OIDC_RP_CLIENT_ID = settings.OIDC_RP_CLIENT_ID

    OIDC_OP_AUTH_ENDPOINT = property(lambda self: sso_provider.provider().authorization)

    def get(self, request: HttpRequest) -> HttpResponse:
        """404 where single sign-on is off."""
        if not sso_provider.configured():
            raise Http404("Single sign-on is off here.")
        try:
            sent: HttpResponse = super().get(request)
        except UserError as error:
            return _door(request, error)
        return sent


@method_decorator((login_not_required, never_cache), name="dispatch")
class SsoCallback(OIDCAuthenticationCallbackView):  # type: ignore[misc]
    """Back from the provider: signed in, or told in words why not."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """404 where single sign-on is off."""
        if not sso_provider.configured():
            raise Http404("Single sign-on is off here.")
        try:
            if request.GET.get("error"):
                if not _spent(request):
                    return _door(request, _no_answer())
                why = f"the provider said {request.GET['error'][:80]!r}"
                raise SsoRefused(why=why, right="starting again")
            came: HttpResponse = super().get(request)
        except SsoRefused as error:
            return self._refused(request, error)
        except UserError as error:
            return _door(request, error)
        except SuspiciousOperation as error:
            return self._refused(request, SsoRefused(why=_told(error), right="starting again from here"))
        except (requests.RequestException, jwt.PyJWTError, KeyError, ValueError, TypeError) as error:
            why = f"the provider's answer could not be read ({type(error).__name__})"
            return self._refused(request, SsoRefused(why=why, right="starting again"))
        return came

    def login_failure(self) -> HttpResponse:
        """Nothing came of it: no state of ours, or no code."""
        return self._refused(self.request, _no_answer())

    @staticmethod
    def _refused(request: HttpRequest, error: SsoRefused) -> HttpResponse:
        ledger.record(None, Action.SIGN_IN_FAILED, name="single sign-on", words=str(error.fields["why"]))
        return _door(request, error)


def _no_answer() -> SsoRefused:
    return SsoRefused(why="this is no answer to a sign-in that began here", right="starting again from here")


def _spent(request: HttpRequest) -> bool:
    """Whether the answer is to a sign-in that began in this browser; its state does not serve again."""
    if request.session.get("oidc_states", {}).pop(request.GET.get("state", ""), None) is None:
        return False
    request.session.modified = True
    return True


def _told(error: SuspiciousOperation) -> str:
    """What the library found wrong, in our words."""
    text = str(error)
    if "state" in text:
        return "its state is not of a sign-in that began in this browser"
    return (
        "the token answers another sign-in (nonce)"
        if "Nonce" in text
        else "the token is not signed by the provider"
    )
