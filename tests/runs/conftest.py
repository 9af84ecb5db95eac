"""Fixtures of the engine's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django.fixtures import SettingsWrapper

from tests.runs.worlds import Script, install


@pytest.fixture
def script(db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: SettingsWrapper) -> Script:
    made = Script()
    install(made, monkeypatch, tmp_path, settings)
    return made
