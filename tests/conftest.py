"""Golden files (what a generator must produce, kept as text), what every page counts, and which cases run always."""

from __future__ import annotations

import gc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.template import engines
from hypothesis import settings

from kernels.problems.inspect import inspect
from kernels.problems.inspection import Inspection
from mucutlass_web.cli import inputs

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="accept what the generators produce now")


# An example takes as long as a busy machine lets it: that is no failure of what it tests.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

HERE = Path(__file__).resolve().parent
COMPILING = frozenset({
    "codegen/test_host_conv.py", "codegen/test_host_rows.py", "codegen/test_host_rows_any_dims.py",
    "codegen/test_host_reducing.py", "codegen/test_host_movement.py", "codegen/test_host_gemm.py",
    "codegen/test_rows_expression.py", "codegen/test_sm90a_rows_any_dims.py", "codegen/test_cuda_movement.py",
    "codegen/test_sm90a_rows.py", "codegen/test_sm90a_reducing.py", "codegen/test_sm90a_elementwise.py",
    "codegen/test_host_map.py", "codegen/test_cuda_conv.py", "export/test_export.py",
})  # fmt: skip
"""Suites in which one case is a compiler's run. Of a function's cases the first and a tenth of the others, chosen by
their names and so the same each time, run with every ``make test``; all others with ``make test-thorough``."""

LONG = (
    "web/test_every_page.py", "problems/test_inspect.py", "harness/test_drill.py", "toolchain/test_nvcc.py",
    "web/test_in_browser.py", "codegen/test_host_rows.py", "test_cli_languages.py", "export/test_export.py",
    "web/test_control_in_browser.py", "codegen/test_host_conv.py", "codegen/test_host_rows_any_dims.py",
    "harness/test_modules.py", "codegen/test_rows_expression.py", "audit/test_robustness.py",
    "triage/test_in_browser.py",
)  # fmt: skip
"""Files of more than half a minute, the longest first. One tester runs a file, so one begun last would hold up all."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(_name(item.path), len(LONG)))
    kept: dict[str, str] = {}
    compiling = [item for item in items if _name(item.path) in COMPILING]
    for item in compiling:
        function = item.nodeid.partition("[")[0]
        kept[function] = min(item.nodeid, kept.get(function, item.nodeid))
    always = set(kept.values())
    for item in compiling:
        if item.nodeid not in always and zlib.crc32(item.nodeid.encode()) % 10:
            item.add_marker("thorough")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What torch, Django and nine thousand tests hold for good, the collector need not walk again and again: that took
    a seventh of all the processors' time. Forked children then copy less of it, too.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 20)


def _name(path: Path) -> str:
    return str(path.relative_to(HERE)) if path.is_relative_to(HERE) else ""


@pytest.fixture(autouse=True)
def _counts_of_every_page_are_known() -> None:
    """The counts that every page shows, so that a page takes as many queries whichever test came before."""
    cache.set("triage-open-severe", 0)
    cache.set_many({f"mentions-unseen-{user}": 0 for user in range(1, 60)})


_INSPECTED: dict[tuple[bytes, str], Inspection] = {}


@pytest.fixture
def inspected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line looks at a problem once, whichever test asks: the child that does takes seconds to import torch.

    For tests of what comes after.
    """

    def once(path: Path, size: str, **options: Any) -> Inspection:
        key = (path.read_bytes(), size)
        if key not in _INSPECTED:
            _INSPECTED[key] = inspect(path, size, **options)
        return _INSPECTED[key]

    monkeypatch.setattr(inputs, "inspect", once)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Compares a text with ``golden/<test file>/<test name>.txt`` beside the test; ``--update-golden`` writes it."""
    path = request.path
    file = path.parent / "golden" / path.stem / f"{request.node.name}.txt"

    def check(text: str) -> None:
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"there is no golden file for {request.node.name}; run pytest with --update-golden"
        assert text == Path(file).read_text(encoding="utf-8"), "differs; accept with --update-golden"

    return check


@pytest.fixture(scope="module")
def _started() -> Iterator[Browser]:
    """One browser for the module that asks for it."""
    from tests.browsing import browser

    with browser() as started:
        yield started


@pytest.fixture
def chromium(_started: Browser) -> Iterator[Browser]:
    """The module's browser, in which each test opens its own tabs; none is open when the next test begins."""
    from tests.browsing import close_tabs

    yield _started
    close_tabs(_started)


class Missing(str):
    """What a template would print for a variable that its context lacks: here an error, for it prints nothing."""

    def __mod__(self, name: object) -> str:
        raise AssertionError(f"a template prints {name}, and its context has no such thing")


@pytest.fixture(autouse=True)
def _no_variable_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that a template and its view spell differently goes unseen otherwise: the page only lacks something."""
    engine = engines["django"].engine  # type: ignore[attr-defined]
    monkeypatch.setattr(engine, "string_if_invalid", Missing("%s"))
