"""Proposers by name: who writes candidates."""

from __future__ import annotations

from agent.errors import UnknownProposer
from agent.proposers.external import External
from agent.proposers.scripted import Scripted
from agent.proposers.search import Search
from agent.steps import Proposer

_PROPOSERS: dict[str, Proposer] = {Search.name: Search(), External.name: External()}


def proposer(name: str) -> Proposer:
    """The proposer of that name; ``scripted:PATH`` answers from a file and is not among the names to choose from.

    Raises UnknownProposer, and ScriptUnreadable for a script.
    """
    kind, _, path = name.partition(":")
    if kind == "scripted" and path:
        return Scripted.from_file(path)
    try:
        return _PROPOSERS[name]
    except KeyError:
        raise UnknownProposer(name=name, known=", ".join((*_PROPOSERS, "scripted:PATH"))) from None


def proposer_names() -> tuple[str, ...]:
    """The names that a person may choose at launch."""
    return tuple(_PROPOSERS)
