"""People with tokens, and clients that send them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache

from runs import tokens
from runs.api_models import Scope
from runs.models import Run
from tests.api.asking import Asker
from tests.api.worlds import external_run
from tests.runs.worlds import Script, drain, install


@pytest.fixture
def script(db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> Script:
    made = Script()
    install(made, monkeypatch, tmp_path, settings)
    return made


@pytest.fixture(autouse=True)
def _plain(settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.STATIC_ROOT = tmp_path
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def alice(db: None) -> User:
    """Owns the runs."""
    return User.objects.create_user("alice")


@pytest.fixture
def run(script: Script, alice: User) -> Run:
    """A run of alice's that has tried the translated program and waits for a post."""
    made = external_run(alice)
    drain()
    return made


def asker(name: str, scope: Scope = Scope.SUBMIT, *, staff: bool = False) -> Asker:
    user, _ = User.objects.get_or_create(username=name, defaults={"is_staff": staff})
    return Asker(tokens.make(user, "test", scope, 1)[1])


@pytest.fixture
def as_alice(alice: User) -> Asker:
    """An agent of alice's."""
    return asker("alice")


@pytest.fixture
def as_reader(alice: User) -> Asker:
    """An agent of alice's that may only read."""
    return asker("alice", Scope.READ)


@pytest.fixture
def as_bob(db: None) -> Asker:
    """An agent of a member who owns none of it."""
    return asker("bob")


@pytest.fixture
def as_maya(db: None) -> Asker:
    """An agent of staff."""
    return asker("maya", staff=True)


@pytest.fixture
def as_nobody(db: None) -> Asker:
    """An agent without a token."""
    return Asker(None)
