"""Every sign that a page names is a symbol of the sprite."""

from __future__ import annotations

import re
from pathlib import Path

from kernels.harness.evaluation import Outcome
from runs import words

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
SYMBOLS = set(re.findall(r'<symbol id="i-([\w-]+)"', (TEMPLATES / "parts" / "sprite.html").read_text()))


def test_words_have_their_signs() -> None:
    tables = (words._RUN, words._FINISHED, words._UNDER_WAY)
    named = {word.icon for table in tables for word in table.values()} | set(words._HELD.values())
    named |= {words.of_outcome(outcome).icon for outcome in Outcome}
    assert named
    assert not named - SYMBOLS


def test_templates_name_signs_that_there_are() -> None:
    named = {
        (str(path.relative_to(TEMPLATES)), name)
        for path in TEMPLATES.rglob("*.html")
        for name in re.findall(r'{% icon "([\w-]+)"', path.read_text())
    }
    assert named
    assert not {(path, name) for path, name in named if name not in SYMBOLS}
