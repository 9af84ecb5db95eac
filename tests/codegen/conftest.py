"""One build cache for all tests of generated code."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from kernels.toolchain import gxx
from tests.codegen.running import Runner

COMPILING = (
    "test_host_conv", "test_host_rows", "test_host_rows_any_dims", "test_host_reducing", "test_host_movement",
    "test_host_gemm", "test_rows_expression", "test_sm90a_rows_any_dims", "test_cuda_movement",
)  # fmt: skip
"""Suites in which one case is a compiler's run. Of a function's cases the first and a third of the others, chosen by
their names and so the same each time, run with every ``make test``; all run with ``make test-thorough``."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seen: set[str] = set()
    for item in items:
        if item.path.parent != Path(__file__).parent or item.path.stem not in COMPILING:
            continue
        function = item.nodeid.partition("[")[0]
        first = function not in seen
        seen.add(function)
        if not first and zlib.crc32(item.nodeid.encode()) % 3:
            item.add_marker("thorough")


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    if gxx.find() is None:
        pytest.skip("there is no g++ on PATH")
    root: Path = tmp_path_factory.mktemp("build-cache")
    return Runner(root)
