"""Tree search: attempts are nodes, the translated program is the root, better branches grow wider.

Upper confidence bounds over trees with progressive widening (Kocsis and Szepesvári 2006; Coulom 2007), with these
choices for kernels: a branch is worth its best log-speedup over the root (a mean would punish a good kernel for its
failed children), a node that improved on its parent may have more children, and one whose children keep failing is
left alone. The tree is rebuilt from the history at every step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from agent.controllers import loop
from agent.draws import draws
from agent.history import IMPROVEMENT, Attempt, State
from agent.phases import Phase
from agent.steps import Ask, Finish, History, Step, TrajectorySettings

WIDTH = 2.0
WIDENING = 0.4
"""A node visited v times may have ⌊WIDTH · v^WIDENING⌋ children: 2, 3 from 3 visits on, 4 from 6 on."""
SUCCESS = 1.5
"""A node that improved on its parent may have so many times as many."""
EXPLORATION = 0.1
"""Weight of the exploration term, against values scaled to [0, 1]."""
BATCH = 2
"""At most so many candidates an ask, so that each choice knows the results of the last."""
DEAD_AFTER = 3
"""A node whose last so many children all failed is a dead end."""


@dataclass(slots=True)
class Node:
    """An attempt in the tree. ``reward`` is log(root's time / its time), ``value`` the best reward from here down;
    both are None where there is no time. ``open`` says whether it or one below can be expanded."""

    attempt: Attempt
    reward: float | None
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    visits: int = 1
    value: float | None = None
    open: bool = False

    @property
    def number(self) -> int:
        """The attempt's number."""
        return self.attempt.number

    @property
    def improved(self) -> bool:
        """Whether it is faster than its parent by more than an improvement; the root is not."""
        if self.parent is None or self.reward is None:
            return False
        return self.reward - (self.parent.reward or 0.0) > -math.log(1 - IMPROVEMENT)

    @property
    def width(self) -> int:
        """How many children it may have by now."""
        width = WIDTH * float(self.visits**WIDENING)
        return math.floor(width * SUCCESS if self.improved else width)

    @property
    def dead_end(self) -> bool:
        """Whether its last children all failed."""
        last = self.children[-DEAD_AFTER:]
        return len(last) == DEAD_AFTER and all(child.attempt.failed for child in last)


class Tree:
    """Tree search over attempts."""

    name = "tree"

    def next_step(self, settings: TrajectorySettings, history: History) -> Step:
        """The next step; raises HistoryNotStarted and StepStillOpen."""
        return loop.next_step(settings, history, _expand)


def _expand(state: State) -> Ask | Finish:
    closed = loop.exhausted(state)
    # Where every branch is a dead end or exhausted but attempts are left, dead ends get another chance.
    for prune in (True, False):
        root = _grow(state, closed, prune)
        if root.open:
            node = _select(state, root, closed, prune)
            count = max(1, min(node.width - len(node.children), BATCH, state.attempts_left))
            phase = Phase.EXPAND.value
            return Ask(number=state.next_ask, purpose="expand", parent=node.number, count=count, phase=phase)
    return loop.space_exhausted(state)


def _grow(state: State, closed: frozenset[int], prune: bool) -> Node:
    """The tree of a history with visits and values summed up; ``open`` where a node or one below can be expanded."""
    times = [state.steady_s(attempt) for attempt in state.attempts]
    reference = next((time_s for time_s in times if time_s is not None), None)
    nodes = [
        Node(attempt, _reward(time_s, reference)) for attempt, time_s in zip(state.attempts, times, strict=True)
    ]
    for node in nodes[1:]:
        # A parent that is unknown, or not older, cannot be one: such a candidate hangs from the root.
        parent = node.attempt.candidate.parent or 1
        node.parent = nodes[parent - 1 if 0 < parent < node.number else 0]
        node.parent.children.append(node)
    for node in reversed(nodes):
        node.visits = 1 + sum(child.visits for child in node.children)
        own = [] if node.reward is None else [node.reward]
        below = [child.value for child in node.children if child.value is not None]
        node.value = max([*own, *below], default=None)
        node.open = _expandable(node, closed, prune) or any(child.open for child in node.children)
    return nodes[0]


def _reward(time_s: float | None, reference: float | None) -> float | None:
    if time_s is None or reference is None or time_s <= 0 or reference <= 0:
        return None
    return math.log(reference / time_s)


def _expandable(node: Node, closed: frozenset[int], prune: bool) -> bool:
    """The root always is, so that a translated program that fails can be mended; others once they have a time."""
    sound = node.reward is not None or node.number == 1
    return sound and node.number not in closed and not (prune and node.dead_end)


def _select(state: State, root: Node, closed: frozenset[int], prune: bool) -> Node:
    """Walk down from the root to the node to expand; ``root`` must be open.

    At each node one arm is to give it another child, the others are to go on from one that it has.
    """
    chance = draws(state.settings.seed, state.next_ask, "select")
    scale = max(root.value or 0.0, IMPROVEMENT)
    node = root
    while True:
        arms = [(child.value, child.visits, child) for child in node.children if child.open]
        if _expandable(node, closed, prune) and (not arms or _may_widen(node)):
            arms.append((node.reward, 1 + len(node.children), node))
        seen = math.log(node.visits)
        scored = [
            ((value or 0.0) / scale + EXPLORATION * math.sqrt(seen / visits), chance.random(), arm)
            for value, visits, arm in arms
        ]
        chosen = max(scored, key=lambda entry: entry[:2])[2]
        if chosen is node:
            return node
        node = chosen


def _may_widen(node: Node) -> bool:
    """Whether a node may have another child: within its width, or while none from it on is better than itself."""
    if len(node.children) < node.width:
        return True
    return node.reward is not None and node.value == node.reward
