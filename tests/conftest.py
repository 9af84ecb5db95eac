"""Golden files: what a generator must produce, kept as text, addressed by the test that checks it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="accept what the generators produce now")


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
