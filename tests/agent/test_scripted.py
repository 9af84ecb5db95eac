from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.errors import ScriptUnreadable, UnknownProposer
from agent.history import EXHAUSTED
from agent.proposers import proposer, proposer_names
from agent.proposers.scripted import Scripted
from agent.steps import Answered, Ask, Candidate
from tests.agent.driving import settings, started


def ask(number: int, count: int = 2) -> Ask:
    return Ask(number, "expand", 1, count)


def test_the_nth_entry_answers_the_nth_ask(tmp_path: Path) -> None:
    script = [
        {
            "candidates": [
                {"text": "a", "change": "y.tile(1)", "hypothesis": "because"},
                {"text": "b"},
                {"text": "c"},
            ]
        },
        {"error": "the model refused"},
    ]
    path = tmp_path / "script.json"
    path.write_text(json.dumps(script), encoding="utf-8")
    scripted = proposer(f"scripted:{path}")
    history = (started(),)
    assert scripted.answer(settings(), history, ask(1)) == Answered(
        1, (Candidate("a", 1, "y.tile(1)", "because"), Candidate("b", 1, "", ""))
    )
    assert scripted.answer(settings(), history, ask(2)) == Answered(2, (), "the model refused")
    assert scripted.answer(settings(), history, ask(3)) == Answered(3, (), EXHAUSTED)


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[1]", '[{"candidates": 3}]', '[{"candidates": [{"change": "x"}]}]', '[{"error": 4}]',
     '[{"candidates": [{"text": "a", "change": 7}]}]'],
)  # fmt: skip
def test_a_script_of_another_shape_is_refused_by_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ScriptUnreadable, match=r"script\.json: .*; a script is a JSON list"):
        Scripted.from_file(path)


def test_a_script_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScriptUnreadable, match="No such file"):
        Scripted.from_file(tmp_path / "none.json")


def test_an_unknown_proposer_is_named_with_those_that_are_there() -> None:
    with pytest.raises(UnknownProposer, match=r"'oracle'; there are search, external, scripted:PATH"):
        proposer("oracle")
    with pytest.raises(UnknownProposer):
        proposer("scripted")


def test_a_script_is_not_among_the_names_to_choose_from() -> None:
    assert not any(name.startswith("scripted") for name in proposer_names())
