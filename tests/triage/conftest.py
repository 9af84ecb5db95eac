"""People around a run with cases: its owner, a reviewer, a viewer, staff, and nobody."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.web import rows, triage_rows
from tests.web.conftest import _plain_static_files as _plain_static_files
from tests.web.conftest import sent as sent


@pytest.fixture
def owner(db: None) -> User:
    """Owns the runs; a runner."""
    return rows.person("alice")


@pytest.fixture
def rita(db: None) -> User:
    """May settle."""
    return triage_rows.reviewer("rita")


def signed_in(user: User) -> Client:
    """A browser in which somebody is signed in."""
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def as_rita(rita: User) -> Client:
    """The reviewer's browser."""
    return signed_in(rita)


@pytest.fixture
def as_owner(owner: User) -> Client:
    """The owner's browser."""
    return signed_in(owner)


@pytest.fixture
def as_viewer(db: None) -> Client:
    """The browser of somebody who may only look."""
    return signed_in(triage_rows.viewer("vera"))
