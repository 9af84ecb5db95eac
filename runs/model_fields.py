"""Fields of the launch form about who writes candidates: proposer, representation, limits, and their rules."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from agent.controllers import possible
from agent.llm.errors import ModelKeyMissing, ModelsUnreadable, UnknownModel
from agent.llm.keys import key_of
from agent.llm.spec import ModelSpec
from kernels.languages import Language
from kernels.targets import Target
from runs import catalogue, figures
from runs.fleet import MODEL_PREFIX

CONTROLLERS = (
    ("tree", "Tree search", "widens where attempts succeed"),
    ("flat", "Flat", "one change after another to the best so far"),
    ("mi", "Measure–implement", "one prompt an attempt, and mends what failed; a model"),
    ("mantis", "MANTIS in a prompt", "analyze, nominate, triage, implement, summarize in one answer; a model"),
    ("mantis-orchestrated", "MANTIS orchestrated", "the same as phases with prompts of their own; a model"),
)
WITHOUT_MODEL = (
    ("search", "Search", "no model and no key: knobs and structure, steered by the gap"),
    ("external", "External", "an agent outside, or a person, posts candidates through the HTTP API"),
)
REPRESENTATIONS = (
    (Language.MU.value, Language.MU.label, "checked before anything is compiled; all proposers"),
    (Language.CU.value, "CUDA C++ and CuTe", "raw, for a card, with tools to read CUTLASS; a model"),
    (Language.CPP.value, Language.CPP.label, "raw, for the host; a model"),
    (Language.PY.value, "ModelNew", "Python on torch, host or card; a model"),
)
DEFAULTS: dict[str, Any] = {
    "representation": Language.MU.value, "memory": True, "shape": "5x2x4", "token_limit": "", "cost_limit": "",
}  # fmt: skip
_SHAPE = re.compile(r"\s*(\d{1,3})\s*[x×*,]\s*(\d{1,3})\s*[x×*,]\s*(\d{1,3})\s*")
_MOST_OF_A_SHAPE = (100, 12, 100)


@dataclass(frozen=True, slots=True)
class Configured:
    """The models that may be chosen. ``trouble`` says what is wrong with the configuration, empty where nothing is."""

    models: dict[str, ModelSpec]
    trouble: str

    @property
    def options(self) -> tuple[tuple[str, str, str], ...]:
        """Proposers to choose from: those without a model, then each model."""
        return (*WITHOUT_MODEL, *(_option(spec) for spec in self.models.values()))


def configured() -> Configured:
    """The models of the settings; with a configuration that cannot be read, none and why."""
    try:
        return Configured(catalogue.models(), catalogue.trouble())
    except ModelsUnreadable as error:
        return Configured({}, str(error))


def _option(spec: ModelSpec) -> tuple[str, str, str]:
    if spec.prices is None:
        price = "no prices: costs are not known"
    else:
        prompt, answer = spec.prices.prompt, spec.prices.completion
        price = f"{prompt:g} and {answer:g} {spec.currency} for a million tokens asked and answered"
    return f"{MODEL_PREFIX}{spec.name}", spec.name, f"at {spec.host}; {price}"


def shape_text(text: str) -> str:
    """``5 × 2 × 4`` as it is stored: ``5x2x4``. Raises ValueError with what would be right."""
    right = "iterations × hypotheses × attempts, as 5x2x4"
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise ValueError(f"not three whole numbers; {right}")
    numbers = tuple(map(int, found.groups()))
    if not all(1 <= number <= most for number, most in zip(numbers, _MOST_OF_A_SHAPE, strict=True)):
        most = " × ".join(map(str, _MOST_OF_A_SHAPE))
        raise ValueError(f"{text.strip()} is out of bounds; 1 × 1 × 1 to {most}")
    return "x".join(map(str, numbers))


def problems_of(data: dict[str, Any]) -> dict[str, str]:
    """What is wrong with these choices together, by field. Choices that are missing are not looked at."""
    if not all(data.get(name) for name in ("controller", "proposer", "target")):
        return {}
    written = Language(data.get("representation") or Language.MU)
    why_not = possible(data["controller"], data["proposer"], written, Target(data["target"]))
    if why_not:
        return {_field(written, Target(data["target"]), data["proposer"]): why_not}
    try:
        spec = catalogue.model_of(data["proposer"])
        if spec is not None:
            key_of(spec)
    except (ModelsUnreadable, UnknownModel, ModelKeyMissing) as error:
        return {"proposer": str(error)}
    return limit_problems(spec, data)


def _field(written: Language, target: Target, proposer: str) -> str:
    """Which field of a combination to mend: the representation where it is that which does not fit."""
    searching = proposer == WITHOUT_MODEL[0][0] and written is not Language.MU
    return "representation" if searching or not written.runs_on(target) else "controller"


def limit_problems(spec: ModelSpec | None, data: dict[str, Any]) -> dict[str, str]:
    """What is wrong with limits of tokens and money for this model, by field; ``spec`` is None without a model."""
    tokens, cost = data.get("token_limit"), data.get("cost_limit")
    if spec is None:
        words = "only a model takes tokens and money; empty"
        return {name: words for name in ("token_limit", "cost_limit") if data.get(name)}
    found = {}
    if tokens and tokens <= spec.max_output:
        found["token_limit"] = (
            f"one answer of {spec.name} may take {spec.max_output:,}; several times that, or empty"
        )
    if cost and spec.prices is None:
        found["cost_limit"] = f"{spec.name} has no prices, so its cost is not known; a token limit, or prices"
    elif cost and spec.prices is not None and cost <= spec.prices.most(0, spec.max_output):
        most = figures.money(spec.prices.most(0, spec.max_output), spec.currency)
        found["cost_limit"] = f"one answer of {spec.name} may cost {most}; several times that, or empty"
    return found


def stops_by_limits(data: dict[str, Any], models: dict[str, ModelSpec]) -> str:
    """The run's limits in words; empty where it has none."""
    spec = models.get(str(data.get("proposer", "")).removeprefix(MODEL_PREFIX))
    words = []
    if data.get("token_limit"):
        words.append(f"{data['token_limit']:,} tokens")
    if data.get("cost_limit") and spec is not None:
        words.append(figures.money(data["cost_limit"], spec.currency))
    return " or ".join(words)
