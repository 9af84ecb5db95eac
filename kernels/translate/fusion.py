"""The pass that says which nodes become one stage: products, convolutions, pools and rows with their elementwise tails.

The rest are maps.

It decides groups only: a group has one member that anything outside reads, its last; behind a product that may be a
reduction. Text is the emitter's business.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from kernels.dtypes import DType
from kernels.targets import Target
from kernels.translate import pointwise
from kernels.translate.conv import is_convolution
from kernels.translate.ending import RESHAPES, End, find_end
from kernels.translate.expressions import Expr, Ref, tensors
from kernels.translate.pool import is_pool
from kernels.translate.rows import is_rows
from kernels.translate.shapes import carried
from kernels.translate.work import FLOATS, Work, base, is_ref

MOST_MEMBERS = 48
"""Nodes in one group at most: longer tails gain nothing and are hard to read."""

MOST_LEAVES = 24
"""Tensors read in the text of one group at most, shared parts counted as often as they are written."""

_PRODUCTS = frozenset({"mm", "bmm"})


@dataclass(frozen=True, slots=True)
class Group:
    """``root`` is the product, the convolution, the pool or the row stage, None for a map.

    ``members`` are in order, root first; the last one is the result, unless ``end`` follows them.
    """

    root: str | None
    members: tuple[str, ...]
    end: End | None = None

    @property
    def result(self) -> str:
        """The member that is read from outside."""
        return self.members[-1] if self.end is None else self.end.members[-1]


class Fusion:
    """Finds the groups of a graph. ``of`` maps each member to its group."""

    def __init__(self, work: Work, target: Target) -> None:
        self.work = work
        self.target = target
        self.of: dict[str, Group] = {}
        self.expressions: dict[str, Expr] = {}
        for node in work.nodes:
            expr = pointwise.expression(work, node)
            if expr is not None:
                self.expressions[node.name] = expr

    def run(self) -> dict[str, Group]:
        """Products and row stages first, in order; then maps from their results backwards."""
        for node in self.work.nodes:
            rooted = is_rows(node) or is_pool(node) or is_convolution(node) or is_product(self.work, node.name)
            if rooted and node.name not in self.of:
                self._claim(self._tail(node.name))
        for node in reversed(self.work.nodes):
            fusable = self._is_float(node.name) or self._is_condition(node.name)
            if node.name in self.expressions and node.name not in self.of and fusable:
                members = self._absorb({node.name}, node.results[0].shape)
                self._claim(Group(None, self._ordered(members)))
        return self.of

    def _claim(self, group: Group) -> None:
        for member in (*group.members, *(group.end.members if group.end else ())):
            self.of[member] = group

    def _ordered(self, members: set[str]) -> tuple[str, ...]:
        return tuple(sorted(members, key=self.work.order.__getitem__))

    def _is_float(self, name: str) -> bool:
        return self.work.by_name[name].results[0].dtype in FLOATS

    def _is_condition(self, name: str) -> bool:
        """Truth values that only elementwise nodes read: as a map they are 1 and 0, which ``where`` takes."""
        users = self.work.users[name]
        truth = self.work.by_name[name].results[0].dtype is DType.BOOL
        return truth and name not in self.work.returned and all(user in self.expressions for user in users)

    def _escaping(self, members: set[str]) -> list[str]:
        return [
            name
            for name in members
            if name in self.work.returned or any(user not in members for user in self.work.users[name])
        ]

    def _tail(self, root: str) -> Group:
        """Grow forward over users, keep the longest prefix whose only result is its last member."""
        members = {root}
        best: tuple[str, ...] = (root,)
        queue = [self.work.order[user] for user in self.work.users[root]]
        heapq.heapify(queue)
        while queue and len(members) < MOST_MEMBERS:
            node = self.work.nodes[heapq.heappop(queue)]
            if node.name in members or not self._joins(node.name, members, root):
                continue
            members.add(node.name)
            for user in self.work.users[node.name]:
                heapq.heappush(queue, self.work.order[user])
            is_view = node.name not in self.expressions
            if self._escaping(members) == [node.name] and not is_view and self._is_float(node.name):
                best = self._ordered(members)
        kept = self._absorb(set(best), self.work.by_name[root].results[0].shape) if len(best) > 1 else set(best)
        reducible = is_product(self.work, root) and self._reads_floats(kept)
        end = find_end(self.work, root, best[-1], self.target) if reducible else None
        return Group(root, self._ordered(kept), end)

    def _reads_floats(self, members: set[str]) -> bool:
        """Whether an epilogue of the tensor cores can read what the members do; truth values come as floats."""
        read = {ref for name in members if name in self.expressions for ref in tensors(self.expressions[name])}
        types = {self.work.spec({"ref": ref.name, "index": ref.index}).dtype for ref in read}
        return types <= {*FLOATS, DType.BOOL}

    def _joins(self, name: str, members: set[str], root: str) -> bool:
        work = self.work
        node = work.by_name[name]
        if name in self.of:
            return False
        if name not in self.expressions:
            return base(node.op) in RESHAPES and is_ref(node.args[0]) and node.args[0]["ref"] in members
        shape = node.results[0].shape
        product = work.by_name[root].results[0].shape
        for ref in tensors(self.expressions[name]):
            spec = work.spec({"ref": ref.name, "index": ref.index})
            if ref.name in members:
                if spec.shape != shape:
                    return False
            elif carried(spec.shape, shape, product) is None or (
                spec.dtype is DType.BOOL and not (ref.name in work.by_name and self._is_condition(ref.name))
            ):
                return False
        return True

    def _absorb(self, members: set[str], product: tuple[int, ...]) -> set[str]:
        """Take in what only the members read: elementwise nodes of their shape, from the last backwards."""
        work = self.work
        last = max(work.order[name] for name in members)
        for node in reversed(work.nodes[: last + 1]):
            name = node.name
            if name in members or name in self.of or name not in self.expressions or name in work.returned:
                continue
            users = work.users[name]
            if not users or any(user not in members for user in users):
                continue
            if any(work.by_name[user].results[0].shape != node.results[0].shape for user in users):
                continue
            if any(user not in self.expressions for user in users) or not self._carries(name, product):
                continue
            grown = members | {name}
            if len(grown) <= MOST_MEMBERS and self._leaves(grown) <= MOST_LEAVES:
                members = grown
        return members

    def _carries(self, name: str, product: tuple[int, ...]) -> bool:
        shape = self.work.by_name[name].results[0].shape
        specs = [self.work.spec({"ref": ref.name, "index": ref.index}) for ref in tensors(self.expressions[name])]
        return all(carried(spec.shape, shape, product) is not None for spec in specs)

    def _leaves(self, members: set[str]) -> int:
        """Tensors read where the group's result is written as one expression."""
        count: dict[str, int] = {}
        ordered = self._ordered(members)
        for name in ordered:
            if name in self.expressions:
                refs: list[Ref] = tensors(self.expressions[name])
                count[name] = sum(count.get(ref.name, 1) if ref.name in members else 1 for ref in refs)
            else:
                count[name] = 1
        return count[ordered[-1]]


def is_product(work: Work, name: str) -> bool:
    """Whether a node is a matrix product that an own kernel can do: one float type, no empty extent."""
    node = work.by_name[name]
    if base(node.op) not in _PRODUCTS or node.kwargs or node.results[0].dtype not in FLOATS:
        return False
    specs = [work.spec(arg) for arg in node.args[:2]]
    return all(spec.dtype is node.results[0].dtype and spec.elements > 0 for spec in specs)
