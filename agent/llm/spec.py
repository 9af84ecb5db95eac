"""Which models there are: address, prices, limits, and what the server supports. Read from JSON or TOML; no keys.

A configuration names where a key is (an environment variable or a file) and never holds one.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cattrs.errors import BaseValidationError

from agent.llm.errors import ModelsUnreadable
from kernels.records import converter

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
_SHAPE = 'a list "models" of tables with name and base_url, as docs/models.md shows, would be right'
MILLION = 1_000_000


class Structured(StrEnum):
    """How a server is asked for JSON of a form."""

    SCHEMA = "schema"
    """``response_format`` with a JSON schema."""
    TOOLS = "tools"
    """One function that must be called."""
    TEXT = "text"
    """In words; the answer's text is searched for JSON."""


class GrammarField(StrEnum):
    """The field of a request that takes a grammar as a constraint on decoding, where a server has one."""

    NONE = ""
    GRAMMAR = "grammar"
    """llama.cpp's server and llama-cpp-python's."""
    STRUCTURED_OUTPUTS = "structured_outputs"
    """vLLM from 0.12 on."""
    GUIDED_GRAMMAR = "guided_grammar"
    """vLLM before."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Money for a million tokens; ``cached`` for prompt tokens that the server had kept, None: as ``prompt``."""

    prompt: float
    completion: float
    cached: float | None = None

    def cost(self, prompt: int, completion: int, cached: int = 0) -> float:
        """What a call costs; ``cached`` of the ``prompt`` tokens were kept."""
        cached = min(cached, prompt)
        kept = self.prompt if self.cached is None else self.cached
        return ((prompt - cached) * self.prompt + cached * kept + completion * self.completion) / MILLION

    def most(self, prompt: int, completion: int) -> float:
        """What a call may cost, whatever the server had kept."""
        return (prompt * max(self.prompt, self.cached or 0.0) + completion * self.completion) / MILLION


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model as a person chooses it by ``name``; ``model`` is what its server calls it (empty: the same).

    ``key_env`` or ``key_file`` says where its key is; both empty: the server wants none. ``max_output`` is the most
    tokens of an answer, sent as ``output_field``; ``timeout_s`` what one call may take; ``retries`` how often a
    server that fails is tried again for one ask.
    Rates are per minute over all workers, None: no limit. ``extra`` is added to each request.
    """

    name: str
    base_url: str
    model: str = ""
    key_env: str = ""
    key_file: str = ""
    prices: Prices | None = None
    currency: str = "USD"
    max_output: int = 8192
    output_field: str = "max_tokens"
    timeout_s: float = 300.0
    retries: int = 8
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    structured: Structured = Structured.SCHEMA
    grammar: GrammarField = GrammarField.NONE
    temperature: float | None = None
    answer_bytes: int = 2**20
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def served_as(self) -> str:
        """What its server calls it."""
        return self.model or self.name

    @property
    def host(self) -> str:
        """Where it is, for people: host and port."""
        return urlsplit(self.base_url).netloc


def read_models(text: str, where: str) -> dict[str, ModelSpec]:
    """The models of a configuration by name, in order: JSON or TOML, or the path of a ``.json`` or ``.toml`` file.

    ``where`` names the setting in errors. Raises ModelsUnreadable. An empty text configures none.
    """
    text = text.strip()
    if not text:
        return {}
    try:
        form = _form(text)
    except (OSError, ValueError) as error:
        raise ModelsUnreadable(where=where, problem=_first_line(error), right=_SHAPE) from None
    entries = form.get("models") if isinstance(form, Mapping) else form
    if not isinstance(entries, list):
        raise ModelsUnreadable(where=where, problem="it holds no list of models", right=_SHAPE)
    models: dict[str, ModelSpec] = {}
    for number, entry in enumerate(entries, 1):
        spec = _spec(entry, f"{where}, model {number}")
        if spec.name in models:
            raise ModelsUnreadable(
                where=where, problem=f"two models are called {spec.name}", right="names that differ"
            )
        models[spec.name] = spec
    return models


def _form(text: str) -> Any:
    if text.startswith(("{", "[{")) or text == "[]":
        return json.loads(text)
    if "\n" not in text and text.lower().endswith((".json", ".toml")):
        path = Path(text).expanduser()
        read = path.read_text(encoding="utf-8")
        return json.loads(read) if path.suffix.lower() == ".json" else tomllib.loads(read)
    return tomllib.loads(text)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _spec(entry: Any, where: str) -> ModelSpec:
    if not isinstance(entry, dict):
        raise ModelsUnreadable(where=where, problem="it is no table", right=_SHAPE)
    known = ModelSpec.__dataclass_fields__
    unknown = [name for name in entry if name not in known]
    if any("key" in name or "token" in name for name in unknown if name not in known):
        problem, right = (
            f"it has a field {unknown[0]!r}",
            "key_env, the name of an environment variable with the key,",
        )
        raise ModelsUnreadable(
            where=where, problem=problem, right=f"{right} would be right: a key is never written here"
        )
    if unknown:
        raise ModelsUnreadable(
            where=where,
            problem=f"there is no field {unknown[0]!r}",
            right=f"one of {', '.join(known)} would be right",
        )
    for name in ("name", "base_url"):
        if not isinstance(entry.get(name), str):
            raise ModelsUnreadable(where=where, problem=f"{name} is missing or no text", right=_SHAPE)
    try:
        spec = converter.structure(entry, ModelSpec)
    except (BaseValidationError, ValueError, TypeError) as error:
        raise ModelsUnreadable(where=where, problem=_off(error), right="docs/models.md tells each field") from None
    _check(spec, where)
    return spec


def _off(error: Exception) -> str:
    """The first cause of a validation error, in words without the value's text."""
    while isinstance(error, BaseValidationError) and error.exceptions:
        error = error.exceptions[0]
    notes = getattr(error, "__notes__", [])
    return f"{notes[-1] if notes else 'a field'}: {_first_line(error)}"


def _check(spec: ModelSpec, where: str) -> None:
    parts = urlsplit(spec.base_url)
    rates = (spec.requests_per_minute, spec.tokens_per_minute)
    prices = (spec.prices.prompt, spec.prices.completion, spec.prices.cached or 0.0) if spec.prices else ()
    rules = (
        (_NAME.fullmatch(spec.name), f"name is {spec.name!r}", "up to 32 letters, digits, dots, dashes"),
        (parts.scheme in ("http", "https") and parts.hostname, "base_url is no http(s) address", "http://host:8000/v1"),
        (parts.username is None and not parts.query, "base_url holds a name, a password or a query", "an address"),
        (not (spec.key_env and spec.key_file), "it has both key_env and key_file", "one of them"),
        (0 < spec.max_output <= MILLION, f"max_output is {spec.max_output}", "1 to 1,000,000 tokens"),
        (0 < spec.timeout_s <= 3600, f"timeout_s is {spec.timeout_s}", "more than 0, at most 3,600 s"),
        (0 <= spec.retries <= 20, f"retries is {spec.retries}", "0 to 20"),
        (all(rate is None or rate > 0 for rate in rates), "a rate is not positive", "a rate of 1 or more, or none"),
        (all(math.isfinite(p) and p >= 0 for p in prices), "a price is below 0", "prices of 0 or more"),
        (2**10 <= spec.answer_bytes <= 2**26, f"answer_bytes is {spec.answer_bytes}", "1,024 to 67,108,864"),
        (spec.output_field in ("max_tokens", "max_completion_tokens"), f"output_field is {spec.output_field!r}",
         "max_tokens or max_completion_tokens"),
        (not _holds_key(spec.extra), "extra holds a key", "key_env or key_file in its place"),
    )  # fmt: skip
    for holds, problem, right in rules:
        if not holds:
            raise ModelsUnreadable(where=where, problem=problem, right=f"{right} would be right")


def _holds_key(extra: Mapping[str, Any]) -> bool:
    return any(name.lower().replace("-", "_") in ("api_key", "key", "authorization") for name in extra)
