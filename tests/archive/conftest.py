"""People and settings of the page tests, and folders of this test alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.web.conftest import _plain_static_files as _plain_static_files
from tests.web.conftest import alice as alice
from tests.web.conftest import as_alice as as_alice
from tests.web.conftest import as_bob as as_bob
from tests.web.conftest import as_maya as as_maya
from tests.web.conftest import bob as bob
from tests.web.conftest import maya as maya
from tests.web.conftest import outsider as outsider
from tests.web.conftest import sent as sent


@pytest.fixture(autouse=True)
def _own_folders(settings: Any, tmp_path: Path) -> None:
    settings.PROFILE_DIR = tmp_path / "profiles"
    settings.INSTALLATION = "lab-3"
