"""The documents say what is so: the paths, commands and settings they name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
ROOMS = ("kernels/", "sol/", "agent/", "runs/", "mucutlass_web/", "templates/", "static/", "tests/", "docs/")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_path_that_a_document_names_exists(document: Path) -> None:
    named = {word for word in re.findall(r"`([^`\s]+)`", document.read_text()) if word.startswith(ROOMS)}
    assert not {word for word in named if not (ROOT / word).exists()}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", document.read_text())
    assert not [link for link in links if not (document.parent / link).exists()]


def test_every_make_target_that_a_document_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    documents = [*DOCUMENTS, ROOT / "docs" / "measurements" / "README.md"]
    named = {name for document in documents for name in re.findall(r"`make ([a-z-]+)`", document.read_text())}
    assert {"run", "test"} <= targets
    assert not named - targets


def test_every_setting_in_the_readme_is_read_somewhere() -> None:
    read = "".join(
        path.read_text() for room in ("mucutlass_web", "runs", "kernels") for path in (ROOT / room).rglob("*.py")
    )
    named = set(re.findall(r"`(MUCUTLASS_[A-Z_]+)`", (ROOT / "README.md").read_text()))
    assert named
    assert not {name for name in named if name not in read}
