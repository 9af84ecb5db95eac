"""Controllers by name: each a pure function of settings and history."""

from __future__ import annotations

from agent.controllers.combinations import possible
from agent.controllers.flat import Flat
from agent.controllers.mantis import MantisInPrompt
from agent.controllers.mantis_orchestrated import MantisOrchestrated
from agent.controllers.mi import MeasureImplement
from agent.controllers.tree import Tree
from agent.errors import UnknownController
from agent.steps import Controller

__all__ = ["controller", "controller_names", "possible"]

_CONTROLLERS: dict[str, Controller] = {
    each.name: each for each in (Tree(), Flat(), MeasureImplement(), MantisInPrompt(), MantisOrchestrated())
}


def controller(name: str) -> Controller:
    """The controller of that name; raises UnknownController."""
    try:
        return _CONTROLLERS[name]
    except KeyError:
        raise UnknownController(name=name, known=", ".join(_CONTROLLERS)) from None


def controller_names() -> tuple[str, ...]:
    """The names that ``controller`` knows."""
    return tuple(_CONTROLLERS)
