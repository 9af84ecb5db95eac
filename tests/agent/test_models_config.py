"""The configuration of models, costs from prices, and our grammar as a constraint."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from agent.llm.errors import ModelsUnreadable
from agent.llm.grammar import grammar_of
from agent.llm.spec import GrammarField, Prices, Structured, read_models
from kernels.dsl import parse
from tests.agent.driving import started
from tests.agent.synthetic import SEED

ONE = {"name": "local", "base_url": "http://127.0.0.1:8080/v1"}
TOML = """
[[models]]
name = "gpt-small"
base_url = "https://api.example.com/v1"
key_env = "EXAMPLE_KEY"
prices = { prompt = 0.25, cached = 0.025, completion = 2.0 }
max_output = 16000
output_field = "max_completion_tokens"
requests_per_minute = 60

[[models]]
name = "local"
base_url = "http://127.0.0.1:8080/v1"
structured = "text"
grammar = "grammar"
extra = { seed = 7 }
"""


def test_toml_json_and_files_say_the_same(tmp_path: Path) -> None:
    models = read_models(TOML, "here")
    assert list(models) == ["gpt-small", "local"]
    assert models["gpt-small"].prices == Prices(0.25, 2.0, 0.025)
    assert models["local"].structured is Structured.TEXT
    assert models["local"].grammar is GrammarField.GRAMMAR
    (tmp_path / "models.toml").write_text(TOML)
    assert read_models(str(tmp_path / "models.toml"), "here") == models
    assert list(read_models(json.dumps([ONE]), "here")) == ["local"]
    assert read_models("", "here") == {}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"api_key": "sk-secret"}, "a key is never written here"),
        ({"token": "sk-secret"}, "a key is never written here"),
        ({"extra": {"api_key": "sk-secret"}}, "extra holds a key"),
        ({"base_url": "http://user:secret@host/v1"}, "base_url holds a name, a password or a query"),
        ({"base_url": "ftp://host"}, "base_url is no http(s) address"),
        ({"name": "a b"}, "name is 'a b'"),
        ({"name": None}, "name is missing or no text"),
        ({"prise": {}}, "there is no field 'prise'"),
        ({"prices": {"prompt": -1, "completion": 1}}, "a price is below 0"),
        ({"prices": {"prompt": "cheap", "completion": 1}}, "is no number"),
        ({"structured": "xml"}, "structured"),
        ({"max_output": 0}, "max_output is 0"),
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"requests_per_minute": 0}, "a rate is not positive"),
        ({"key_env": "A", "key_file": "b"}, "both key_env and key_file"),
        ({"output_field": "n"}, "max_tokens or max_completion_tokens"),
    ],
)
def test_what_is_wrong_is_said_and_never_quotes_a_secret(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ModelsUnreadable) as caught:
        read_models(json.dumps([ONE | changes]), "MUCUTLASS_MODELS")
    assert said in str(caught.value)
    assert "MUCUTLASS_MODELS, model 1: " in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["{", "models = ", "/nowhere/models.toml", '"text"', "[1]", json.dumps([ONE, ONE])]
)
def test_a_configuration_that_is_none_is_an_error_in_words(text: str) -> None:
    with pytest.raises(ModelsUnreadable, match="MUCUTLASS_MODELS"):
        read_models(text, "MUCUTLASS_MODELS")


def test_a_cost_follows_from_prices_for_a_million() -> None:
    prices = Prices(2.0, 8.0, 0.5)
    assert prices.cost(1_000_000, 0) == 2.0
    assert prices.cost(1_000_000, 500_000, cached=400_000) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 4.0)
    assert prices.cost(100, 0, cached=10_000) == pytest.approx(100 * 0.5 / 1e6), (
        "no more can be kept than was asked"
    )
    assert Prices(2.0, 8.0).cost(1000, 0, cached=1000) == pytest.approx(0.002)
    assert prices.most(1_000_000, 1_000_000) == 10.0


# --- the grammar ---------------------------------------------------------------------------------


class Derivation:
    """Random texts of a grammar in GBNF, as far as ours goes: rules, literals, classes, groups and repetitions."""

    _TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|\{\d+,\d+\}|[()|*?+]|[a-z]+')

    def __init__(self, grammar: str, seed: int) -> None:
        self.rules = {}
        for line in grammar.strip().splitlines():
            name, _, right = line.partition(" ::= ")
            self.rules[name] = self._TOKEN.findall(right)
        self.chance = random.Random(seed)

    def text(self, name: str = "root", depth: int = 0) -> str:
        return self._alternatives(self.rules[name], depth + 1)

    def _alternatives(self, tokens: list[str], depth: int) -> str:
        options: list[list[str]] = [[]]
        level = 0
        for token in tokens:
            level += (token == "(") - (token == ")")
            if token == "|" and level == 0:
                options.append([])
            else:
                options[-1].append(token)
        # Deep down the last of the alternatives that needs no more rules is taken, so that texts end.
        flat = [option for option in options if all(token not in self.rules for token in option)]
        return self._sequence(self.chance.choice(flat if depth > 14 and flat else options), depth)

    def _sequence(self, tokens: list[str], depth: int) -> str:
        said, at = "", 0
        while at < len(tokens):
            end = at + 1
            if tokens[at] == "(":
                level = 1
                while level:
                    level += (tokens[end] == "(") - (tokens[end] == ")")
                    end += 1
            low, high = 1, 1
            if end < len(tokens) and tokens[end] in "?*+":
                low, high = {"?": (0, 1), "*": (0, 2), "+": (1, 2)}[tokens[end]]
                after = end + 1
            elif end < len(tokens) and tokens[end].startswith("{"):
                low, high = map(int, tokens[end][1:-1].split(","))
                after = end + 1
            else:
                after = end
            high = min(high, low + 2) if depth < 12 else low
            for _ in range(self.chance.randint(low, high)):
                said += self._one(tokens[at:end], depth)
            at = after
        return said

    def _one(self, tokens: list[str], depth: int) -> str:
        first = tokens[0]
        if first == "(":
            return self._alternatives(tokens[1:-1], depth + 1)
        if first.startswith('"'):
            return re.sub(r"\\(.)", r"\1", first[1:-1])
        if first.startswith("["):
            spans = re.findall(r"(.)-(.)|(.)", first[1:-1])
            letters = [chr(code) for a, b, _ in spans if a for code in range(ord(a), ord(b) + 1)]
            return str(self.chance.choice([*letters, *(c for _, _, c in spans if c)]))
        return self.text(first, depth)


@pytest.mark.parametrize("seed", range(25))
def test_what_the_grammar_lets_through_is_a_program_in_our_language(seed: int) -> None:
    grammar = grammar_of(started(seed_program=SEED), 2)
    form = json.loads(Derivation(grammar, seed).text())
    for candidate in form["candidates"]:
        program = parse(candidate["text"])
        assert program.name == "linear_relu"
        assert set(candidate) == {"text", "change", "hypothesis", "predicted", "tool"}


def test_a_first_program_without_a_header_has_no_grammar() -> None:
    assert grammar_of(started(seed_program="class ModelNew: ..."), 1) == ""
