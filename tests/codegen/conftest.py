"""One build cache for all tests of generated code."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.toolchain import gxx
from tests.codegen.running import Runner


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    if gxx.find() is None:
        pytest.skip("there is no g++ on PATH")
    root: Path = tmp_path_factory.mktemp("build-cache")
    return Runner(root)
