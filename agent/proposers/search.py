"""Candidates without a model and without a key: moves on the parent's program, ranked by return on investment.

With steering off the moves are drawn uniformly, for comparison. It never proposes a program that was already tried,
whatever its words (see ``normal``), nor one that the checker refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agent.draws import draws
from agent.errors import PhaseNotAnswered
from agent.history import EXHAUSTED, State
from agent.proposers.answering import marked, open_findings
from agent.proposers.moves import all_moves
from agent.proposers.moves.move import Move, Scene
from agent.proposers.normal import checked, normal_text
from agent.proposers.ranking import by_return, shares
from agent.steps import Answered, Ask, Candidate, History, Started, TrajectorySettings
from kernels.dsl import ProgramErrors, parse
from kernels.dsl.simd import detect
from kernels.dsl.syntax import Program


class Search:
    """The embedded default."""

    name = "search"

    def answer(self, settings: TrajectorySettings, history: History, ask: Ask) -> Answered:
        """Up to ``ask.count`` new programs; the error says so where nothing new is left, or why none can be made."""
        if ask.purpose == "advise":
            right = "a controller that asks for programs alone would be right"
            error = PhaseNotAnswered(proposer=self.name, phase=ask.phase, right=right)
            return Answered(ask.number, (), str(error))
        state = State.of(settings, history)
        try:
            candidates = tuple(_candidates(state, ask))
        except ProgramErrors as error:
            return Answered(ask.number, (), f"the parent's program cannot be changed: {error}")
        return Answered(ask.number, candidates, None if candidates else EXHAUSTED)


def _candidates(state: State, ask: Ask) -> Iterator[Candidate]:
    """Raises ProgramErrors where the parent is no legal program."""
    parent = state.parent(ask)
    text = state.started.seed_program if parent is None else parent.candidate.text
    scene = Scene(state.started, checked(state.started, parse(text)), detect())
    tried = _tried(state)
    left = ask.count
    for move in _ordered(state, ask, scene):
        if left <= 0:
            return
        program = _new(state.started, move.edit(scene.program), tried)
        if program is not None:
            tried.add(program)
            left -= 1
            number = None if parent is None else parent.number
            yield Candidate(program, number, move.change, move.hypothesis, tool=move.tool)


def _new(started: Started, program: Program, tried: set[str]) -> str | None:
    """The program's normal text; None where it was tried or is illegal."""
    try:
        text = normal_text(started, program)
    except ProgramErrors:
        return None
    return None if text in tried else text


def _tried(state: State) -> set[str]:
    """Normal texts of what was tried or answered. Answers are this proposer's own and normal as they are."""
    answered = {
        candidate.text
        for exchange in state.exchanges
        if exchange.answer is not None
        for candidate in exchange.answer.candidates
    }
    tried = set(answered)
    for text in {state.started.seed_program, *(attempt.candidate.text for attempt in state.attempts)} - answered:
        try:
            tried.add(normal_text(state.started, parse(text)))
        except ProgramErrors:
            tried.add(text)
    return tried


def _ordered(state: State, ask: Ask, scene: Scene) -> list[Move]:
    parent = state.parent(ask)
    moves = list(all_moves(scene))
    chance = draws(state.settings.seed, ask.number, ask.purpose)
    if not state.settings.steering:
        chance.shuffle(moves)
        return moves
    findings = open_findings(state, parent)
    moves = [marked(move, findings) for move in moves]
    share, measured = shares(scene, parent)
    ranked = by_return(moves, share, scene, state, parent, chance)
    return [_with_share(move, share) for move in ranked] if measured else ranked


def _with_share(move: Move, share: dict[str, float]) -> Move:
    if move.stage not in share:
        return move
    words = f"{move.hypothesis.rstrip('.')} ({move.stage} takes {share[move.stage]:.0%} of the time)."
    return replace(move, hypothesis=words)
