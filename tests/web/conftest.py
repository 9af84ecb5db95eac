"""People, and settings that page tests need: no manifest, no broker."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs import jobs
from tests.web import gallery


@pytest.fixture(autouse=True)
def _plain_static_files(settings: object, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path  # type: ignore[attr-defined]
    settings.STORAGES = {  # type: ignore[attr-defined]
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    settings.LIVE_FRESH_S = 0  # type: ignore[attr-defined]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Hints that would have gone to the broker."""
    kept: list[int] = []

    def send(job_id: int, queue: str) -> bool:
        kept.append(job_id)
        return True

    monkeypatch.setattr(jobs, "send", send)
    return kept


@pytest.fixture
def alice(db: None) -> User:
    """Owns runs."""
    return gallery.person("alice")


@pytest.fixture
def bob(db: None) -> User:
    """A member who owns none of them."""
    return gallery.person("bob")


@pytest.fixture
def maya(db: None) -> User:
    """Staff."""
    return gallery.person("maya", staff=True)


@pytest.fixture
def as_alice(alice: User) -> Client:
    """A browser in which alice is signed in."""
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture
def as_bob(bob: User) -> Client:
    """A browser in which bob is signed in."""
    client = Client()
    client.force_login(bob)
    return client


@pytest.fixture
def as_maya(maya: User) -> Client:
    """A browser in which maya is signed in."""
    client = Client()
    client.force_login(maya)
    return client


@pytest.fixture
def outsider() -> Client:
    """A browser in which nobody is signed in."""
    return Client()
