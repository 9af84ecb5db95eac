"""Fixtures of the engine's tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.runs.worlds import Script, install


@pytest.fixture
def script(db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> Script:
    made = Script()
    install(made, monkeypatch, tmp_path, settings)
    return made
