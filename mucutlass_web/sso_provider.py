"""What a single sign-on provider says of itself, and what its claims make of somebody here. No request is at hand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import requests
from django.conf import settings

from mucutlass_web.errors import SsoNotReachable, SsoRefused
from runs.roles import Role

_TIMEOUT_S = 10
_NAME = re.compile(r"[^\w.@+-]+")
_MOST_NAME = 140


@dataclass(frozen=True, slots=True)
class Provider:
    """The addresses that a provider publishes."""

    issuer: str
    authorization: str
    token: str
    userinfo: str
    keys: str


def configured() -> bool:
    """Whether there is a provider to sign in at."""
    return bool(settings.OIDC_ISSUER and settings.OIDC_RP_CLIENT_ID)


def provider() -> Provider:
    """The configured provider, asked once a process. Raises SsoNotReachable and SsoRefused."""
    return _discovered(settings.OIDC_ISSUER)


@lru_cache(maxsize=4)
def _discovered(issuer: str) -> Provider:
    address = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    try:
        answer = requests.get(address, timeout=_TIMEOUT_S)
        answer.raise_for_status()
        form = answer.json()
        found = Provider(
            form["issuer"], form["authorization_endpoint"], form["token_endpoint"], form["userinfo_endpoint"],
            form["jwks_uri"],
        )  # fmt: skip
    except (requests.RequestException, ValueError, KeyError, TypeError) as error:
        raise SsoNotReachable(issuer=issuer, why=type(error).__name__) from None
    if found.issuer.rstrip("/") != issuer.rstrip("/"):
        raise SsoRefused(why=f"the provider calls itself {found.issuer!r}", right="its own name as the issuer")
    return found


def check_claims(claims: Mapping[str, Any]) -> str:
    """The verified e-mail address of an allowed domain. Raises SsoRefused."""
    email = str(claims.get("email") or "").strip()
    if not email or "@" not in email:
        raise SsoRefused(why="the provider named no e-mail address", right="the scope and claim email")
    if claims.get("email_verified") not in (True, "true"):
        raise SsoRefused(why=f"the address {email} is not verified there", right="a verified address")
    domain = email.rpartition("@")[2].lower()
    allowed = settings.OIDC_DOMAINS
    if allowed and domain not in allowed:
        raise SsoRefused(why=f"accounts of {domain} do not sign in here", right=f"one of {', '.join(allowed)}")
    return email


def role_of_claims(claims: Mapping[str, Any]) -> Role | None:
    """The highest role that the mapped claim gives; None where no claim is mapped. Raises SsoRefused.

    With a mapping, somebody without any of its values gets the default role, or is refused where that is empty.
    """
    if not settings.OIDC_ROLE_CLAIM or not settings.OIDC_ROLES:
        return None
    value = _claim(claims, settings.OIDC_ROLE_CLAIM)
    held = {str(one) for one in value} if isinstance(value, list | tuple) else {str(value)}
    given = [Role(role) for name, role in settings.OIDC_ROLES.items() if name in held]
    if given:
        return max(given, key=lambda role: role.rank)
    return default_role()


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """A claim by its whole name, which may have dots (https://example.org/roles), else by its path."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def default_role() -> Role:
    """The role of somebody whom nothing gives another. Raises SsoRefused where there is none."""
    if not settings.OIDC_DEFAULT_ROLE:
        raise SsoRefused(
            why="the provider gives you no role here", right=f"one of {', '.join(settings.OIDC_ROLES)} there"
        )
    return Role(settings.OIDC_DEFAULT_ROLE)


def name_of(claims: Mapping[str, Any], email: str) -> str:
    """The name that somebody would like: what they are called there, else their address up to the @."""
    wanted = str(claims.get("preferred_username") or "").partition("@")[0] or email.partition("@")[0]
    return _NAME.sub("-", wanted).strip("-.")[:_MOST_NAME] or "member"
