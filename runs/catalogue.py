"""The language models that are configured, and their keys: from Django's settings and the environment, never a row.

Read again whenever it is asked for: a corrected file counts for the next launch without a restart.
"""

from __future__ import annotations

from django.conf import settings

from agent.llm.errors import ModelKeyMissing, ModelsUnreadable, UnknownModel
from agent.llm.keys import key_of
from agent.llm.spec import ModelSpec, read_models
from runs.fleet import MODEL_PREFIX

SETTING = "MUCUTLASS_MODELS"
HOW = "docs/models.md tells how to configure one"


def models() -> dict[str, ModelSpec]:
    """The models by name, in order. Raises ModelsUnreadable."""
    return read_models(settings.MODELS, SETTING)


def model_of(proposer: str) -> ModelSpec | None:
    """The model that a run's proposer names; None for a proposer that is none.

    Raises UnknownModel and ModelsUnreadable.
    """
    if not proposer.startswith(MODEL_PREFIX):
        return None
    name, known = proposer.removeprefix(MODEL_PREFIX), models()
    if name not in known:
        words = f"there are {', '.join(known)}" if known else f"none is configured; {HOW}"
        raise UnknownModel(name=name, known=words)
    return known[name]


def trouble() -> str:
    """What is wrong with the configuration or with a key, in words; empty where nothing is."""
    try:
        for spec in models().values():
            key_of(spec)
    except (ModelsUnreadable, ModelKeyMissing) as error:
        return str(error)
    return ""
