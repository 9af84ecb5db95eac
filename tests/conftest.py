"""Golden files: what a generator must produce, kept as text, addressed by the test that checks it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.cache import cache


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="accept what the generators produce now")


@pytest.fixture(autouse=True)
def _counts_of_every_page_are_known() -> None:
    """The counts that every page shows, so that a page takes as many queries whichever test came before."""
    cache.set("triage-open-severe", 0)
    cache.set_many({f"mentions-unseen-{user}": 0 for user in range(1, 60)})


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
