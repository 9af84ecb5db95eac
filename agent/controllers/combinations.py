"""Which controller goes with which proposer, representation and target, and why another does not."""

from __future__ import annotations

from agent.controllers.flat import Flat
from agent.controllers.mantis import MantisInPrompt
from agent.controllers.mantis_orchestrated import MantisOrchestrated
from agent.controllers.mi import MeasureImplement
from agent.controllers.tree import Tree
from kernels.languages import Language, LanguageElsewhere, check_target
from kernels.targets import Target

_SEARCH, _EXTERNAL = "search", "external"
_OTHERS = f"{Tree.name} or {Flat.name} would be right"
_FOR_MODELS = {
    MeasureImplement.name: f"mi mends what failed, which search does not; {_OTHERS}",
    MantisInPrompt.name: f"mantis is a workflow in a prompt, and search reads none; {_OTHERS}",
    MantisOrchestrated.name: f"search writes no analysis and no lesson; {_OTHERS}",
}


def possible(controller: str, proposer: str, representation: Language, target: Target) -> str:
    """Why these cannot be launched together, and what could; empty where they can.

    A proposer that is neither ``search`` nor ``external`` is taken for a model, which answers every phase.
    """
    try:
        check_target(representation, target)
    except LanguageElsewhere as error:
        return str(error)
    if proposer == _SEARCH:
        if representation is not Language.MU:
            label = representation.label
            return f"search changes {Language.MU.label} programs alone; a model for {label}, or {Language.MU.label}"
        return _FOR_MODELS.get(controller, "")
    if proposer == _EXTERNAL and controller in (MantisInPrompt.name, MantisOrchestrated.name):
        right = f"{Tree.name}, {Flat.name} or {MeasureImplement.name} would be right"
        return f"an external agent posts programs and follows a workflow of its own; {right}"
    return ""
