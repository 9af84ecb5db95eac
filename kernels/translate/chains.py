"""The members of a group as a stage's text: a start and a chain of links.

A chain is cut wherever everything that follows reads one member alone: that member is then the incoming value.
What needs the incoming value more than once becomes ``expr(…)`` with ``acc``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernels.translate.expressions import Expr, Fn, Num, Op, Ref, replaced, tensors, text

ACC = "acc"
"""The incoming value's name inside ``expr``."""

Namer = Callable[[Ref], str]

_LINKS = {"+": ("add", "add"), "*": ("mul", "mul"), "-": ("sub", "rsub"), "/": ("div", "rdiv")}
_BINARY_LINKS = frozenset({"min", "max", "pow"})
_COMMUTES = frozenset({"min", "max"})


class Chain:
    """One group: ``expressions`` of its elementwise members in order; ``aliases`` are members that only reshape.

    ``bias_of`` gives the name of the vector that a tensor is where it can be added as a bias.
    """

    def __init__(
        self,
        members: tuple[str, ...],
        expressions: Mapping[str, Expr],
        aliases: Mapping[str, str],
        bias_of: Callable[[Ref], str | None],
    ) -> None:
        self.aliases = aliases
        self.members = [name for name in members if name in expressions]
        self.expressions = {name: replaced(expressions[name], self._plain) for name in self.members}
        self.bias_of = bias_of

    def _plain(self, ref: Ref) -> Ref:
        name = ref.name
        while name in self.aliases:
            name = self.aliases[name]
        return Ref(name, ref.index) if name != ref.name else ref

    def from_root(self, root: str, name: Namer) -> list[str]:
        """The links behind a product, from the product to the result."""
        links: list[str] = []
        at = self.members[-1]
        while at != root:
            cut = self._cut(at, root)
            links.append(self._link(at, cut, name))
            at = cut
        return links[::-1]

    def as_map(self, name: Namer) -> tuple[str, list[str]]:
        """The expression that ``map`` starts with and the links behind it."""
        links: list[str] = []
        at = self.members[-1]
        while (cut := self._map_cut(at)) is not None:
            links.append(self._link(at, cut, name))
            at = cut
        return text(self._inlined(at, None), name), links[::-1]

    def as_expression(self, name: Namer) -> str:
        """All of it as one expression."""
        return text(self._inlined(self.members[-1], None), name)

    def _inlined(self, at: str, cut: str | None) -> Expr:
        """A member's expression with all members but ``cut`` written out; ``cut`` stays a tensor."""

        def change(ref: Ref) -> Expr:
            if ref.name in self.expressions and ref.name != cut:
                return self._inlined(ref.name, cut)
            return ref

        return replaced(self.expressions[at], change)

    def _cut(self, at: str, root: str) -> str:
        """The nearest earlier member (or the root) through which all of ``at`` depends on the root."""
        for cut in reversed(self.members[: self.members.index(at)]):
            if self._reads(at, cut) and not self._reaches(at, root, cut):
                return cut
        return root

    def _map_cut(self, at: str) -> str | None:
        """The member a map's chain is cut at: the only one read, or one whose text would stand twice."""
        read = {ref.name for ref in tensors(self.expressions[at]) if ref.name in self.expressions}
        if not read:
            return None
        others = [ref for ref in tensors(self.expressions[at]) if ref.name not in self.expressions]
        if len(read) == 1 and not others:
            return next(iter(read))
        for cut in reversed(self.members[: self.members.index(at)]):
            rest = self._inlined(at, cut)
            if sum(ref.name == cut for ref in tensors(rest)) > 1:
                return cut
        return None

    def _reads(self, at: str, wanted: str) -> bool:
        return any(
            ref.name == wanted or (ref.name in self.expressions and self._reads(ref.name, wanted))
            for ref in tensors(self.expressions[at])
        )

    def _reaches(self, at: str, root: str, cut: str) -> bool:
        """Whether ``at`` depends on ``root`` by a way that avoids ``cut``."""
        return any(
            ref.name == root
            or (ref.name in self.expressions and ref.name != cut and self._reaches(ref.name, root, cut))
            for ref in tensors(self.expressions[at])
        )

    def _link(self, at: str, cut: str, name: Namer) -> str:
        expr = self._inlined(at, cut)

        def is_cut(part: Expr) -> bool:
            return isinstance(part, Ref) and part.name == cut

        def free(part: Expr) -> bool:
            return all(ref.name != cut for ref in tensors(part))

        if isinstance(expr, Fn) and len(expr.args) == 1 and is_cut(expr.args[0]):
            return text(Fn(expr.name, (), expr.params), name)
        if isinstance(expr, Op):
            forward, backward = _LINKS[expr.symbol]
            if is_cut(expr.left) and free(expr.right):
                return self._called(forward, expr.right, name)
            if is_cut(expr.right) and free(expr.left):
                return self._called(backward, expr.left, name)
        if isinstance(expr, Fn) and expr.name in _BINARY_LINKS:
            left, right = expr.args
            if is_cut(left) and free(right):
                return self._called(expr.name, right, name)
            if is_cut(right) and free(left) and expr.name in _COMMUTES:
                return self._called(expr.name, left, name)
        return f"expr({text(expr, lambda ref: ACC if ref.name == cut else name(ref))})"

    def _called(self, link: str, operand: Expr, name: Namer) -> str:
        vector = self.bias_of(operand) if link == "add" and isinstance(operand, Ref) else None
        if vector is not None:
            return f"bias({vector})"
        if link == "mul" and isinstance(operand, Num):
            link = "scale"
        return f"{link}({text(operand, name)})"
