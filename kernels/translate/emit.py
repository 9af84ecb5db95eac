"""Last pass: groups and what is left over become the program's stages, in the graph's order."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from kernels.dsl import movement, views
from kernels.dsl.ir import Value
from kernels.dsl.scope import RESERVED
from kernels.dtypes import DType
from kernels.problems.inspection import Node, TensorSpec
from kernels.targets import Target
from kernels.translate import conv, ending, library, pool, rows, tma
from kernels.translate.chains import Chain
from kernels.translate.errors import TranslationFailed
from kernels.translate.expressions import Expr, Ref, replaced, written
from kernels.translate.fusion import Group
from kernels.translate.layout import Layouts, is_view
from kernels.translate.shapes import carried
from kernels.translate.work import Work, base, is_ref, key, number, refs

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*")

LONGEST_TEXT = 160
"""Characters of an expression inside a row stage's call, at most: a longer one is a map of its own."""


def type_text(spec: TensorSpec | Value) -> str:
    """``f32[8, 16]``."""
    return f"{spec.dtype}[{', '.join(map(str, spec.shape))}]"


class Emitter:
    """Writes stages and knows the value behind every reference written so far."""

    def __init__(
        self, problem: str, work: Work, groups: dict[str, Group], expressions: dict[str, Expr], target: Target
    ) -> None:
        self.problem = problem
        self.work = work
        self.groups = groups
        self.expressions = expressions
        self.target = target
        self.layouts = Layouts(self._copied)
        self.values: dict[tuple[str, int], Value] = {}
        self.lines: list[str] = []
        self.own: list[str] = []
        self.own_nodes: set[str] = set()
        self.library: list[str] = []
        self.notes: list[str] = []
        self.parameters: list[str] = []
        self.names: set[str] = set(RESERVED)
        self._declare()

    def _declare(self) -> None:
        """Inputs by position, renamed where the language has no such name; then the parameters that are read."""
        signature = self.work.signature
        read = {ref for node in self.work.nodes for ref in _read(node)} | self.work.returned
        states = [spec for spec in signature.parameters if spec.name in read]
        self.names |= {spec.name for spec in states}
        for spec in signature.inputs:
            name = re.sub(r"[^A-Za-z0-9_]", "_", spec.name)
            name = name if _NAME.fullmatch(name) else f"input_{name}"
            self._parameter(spec, self._unused(name, spaced=True))
        for spec in states:
            if not _NAME.fullmatch(spec.name) or spec.name in RESERVED:
                self._fail("the graph", f"the parameter {spec.name!r} has a name that the language cannot write")
            self._parameter(spec, spec.name)
        for name in self.work.scalars:
            if name in read:
                self._fail("the graph", "it reads a tensor that is no input and not in the state_dict")

    def _parameter(self, spec: TensorSpec, name: str) -> None:
        self.names.add(name)
        self.values[spec.name, 0] = views.fresh(name, spec.dtype, spec.shape)
        self.parameters.append(f"{name}: {type_text(spec)}")

    def _unused(self, wanted: str, spaced: bool = False) -> str:
        name, count = wanted, 1
        while name in self.names:
            name, count = f"{wanted}{'_' if spaced else ''}{count}", count + 1
        return name

    def _stage_name(self) -> str:
        count = 1 + len(self.own) + len(self.library)
        while f"y{count}" in self.names:
            count += 1
        self.names.add(f"y{count}")
        return f"y{count}"

    def _fail(self, operation: str, reason: str) -> None:
        raise TranslationFailed(problem=self.problem, operation=operation, reason=reason)

    def run(self) -> list[str]:
        """All stages and the return line; the lines of the program's body."""
        for node in self.work.nodes:
            group = self.groups.get(node.name)
            if group is not None:
                if node.name == group.result:
                    self._group(group)
            elif is_view(node):
                self._view(node)
            elif pool.is_border(node):
                self._border(node)
            elif base(node.op) in {"_to_copy", "to"}:
                self._cast(node)
            elif not self._constant(node):
                self._library(node)
        self.lines.append(f"return {', '.join(value.name for value in self._outputs())}")
        return self.lines

    # What a stage reads.

    def value(self, ref: dict[str, Any]) -> Value:
        """The value that a reference names."""
        return self.values[key(ref)]

    def _copied(self, value: Value) -> Value:
        """A stage that copies ``value`` row-major."""
        name = self._stage_name()
        self.lines.append(f"{name} = map({value.name})")
        self.own.append(name)
        return views.fresh(name, value.dtype, value.shape)

    def _constant(self, node: Node) -> bool:
        """Whether every reader has written the node's number into its own expression."""
        names = {"scalar_tensor", "full", "full_like", "zeros", "ones", "zeros_like", "ones_like"}
        inlined = all(user in self.groups for user in self.work.users[node.name])
        return base(node.op) in names and inlined and node.name not in self.work.returned

    def _view(self, node: Node) -> None:
        made = self.layouts.apply(node, self.value(node.args[0]))
        for index, value in enumerate(made):
            self.values[node.name, index] = value

    # Own stages.

    def _cast(self, node: Node) -> None:
        result = node.results[0]
        name = self._stage_name()
        self.lines.append(f"{name} = cast({self.value(node.args[0]).name}, {result.dtype})")
        self.own.append(name)
        self.own_nodes.add(node.name)
        self.values[node.name, 0] = views.fresh(name, result.dtype, result.shape)

    def _group(self, group: Group) -> None:
        last = self.work.by_name[group.result].results[0]
        if group.root is None:
            chain, shown, read = self._chain(group, last.shape)
            if self._written_into_rows(group, chain.as_expression(shown), read, last):
                return
            start, links = chain.as_map(shown)
            # Truth values come out of a map as numbers.
            dtype = DType.F32 if last.dtype is DType.BOOL else last.dtype
            self._own(group, f"map({start})", links, views.fresh("", dtype, last.shape))
            return
        root = self.work.by_name[group.root]
        first = root.results[0]
        chain, shown, _ = self._chain(group, first.shape)
        links = chain.from_root(group.root, shown) if len(group.members) > 1 else []
        if conv.is_convolution(root):
            x, weight = (self.value(arg) for arg in root.args[:2])
            made = conv.result_value(x, first.dtype, first.shape)
            self._own(group, conv.call_text(root, x, weight), links, made)
            return
        if pool.is_pool(root):
            source = self._dense(root.args[0])
            made = movement.like(source, "", first.shape)
            self._own(group, pool.pool_text(root, source), links, made)
            return
        if rows.is_rows(root):
            self._own(
                group, rows.call_text(root, self._row_major), links, views.fresh("", first.dtype, first.shape)
            )
            return
        end = group.end
        links += end.links if end else ()
        shape = ending.shown(first.shape, end) if end else first.shape
        self._own(group, self._product(root, end is not None), links, views.fresh("", first.dtype, shape))

    def _written_into_rows(self, group: Group, text: str, read: dict[str, Value], made: TensorSpec) -> bool:
        """Where only a row stage reads a map's result: its text, over ``read``, as the value that the stage is called
        on. The rows follow a tensor of the expression; where they do not fit the card, all are read twice."""
        work = self.work
        users = work.users[group.result]
        root = work.by_name[users[0]] if len(users) == 1 else None
        if root is None or not rows.is_rows(root) or group.result in work.returned:
            return False
        operands = [ref["ref"] for ref in refs(root.args)]
        whole = [value for value in read.values() if value.shape == made.shape]
        if operands.count(group.result) != 1 or operands[0] != group.result or text in read:
            return False
        if not whole or not all(value.contiguous for value in whole) or len(text) > LONGEST_TEXT:
            return False
        if any(value.dtype is not made.dtype for value in read.values()):
            return False
        if base(root.op) != "row_reduce" and len(whole) > 2:
            return False
        self.own_nodes.update(group.members)
        self.values[group.result, 0] = views.fresh(text, made.dtype, made.shape)
        return True

    def _border(self, node: Node) -> None:
        source, name = self.value(node.args[0]), self._stage_name()
        self.lines.append(f"{name} = {pool.border_text(node, source)}")
        self.own.append(name)
        self.own_nodes.add(node.name)
        self.values[node.name, 0] = movement.like(source, name, node.results[0].shape)

    def _dense(self, ref: dict[str, Any]) -> Value:
        """A row-major or channels-last operand, copied where it is neither."""
        value = self.value(ref)
        return value if value.contiguous or value.channels_last else self._copied(value)

    def _row_major(self, ref: dict[str, Any]) -> Value:
        value = self.value(ref)
        return value if value.contiguous else self._copied(value)

    def _product(self, root: Node, reduced: bool) -> str:
        """The call of a matrix product, with the knob that it needs where TMA cannot read its rows."""
        product = root.results[0]
        left, right = (self._factor(self.value(arg)) for arg in root.args[:2])
        op = "gemm" if base(root.op) == "mm" else "bmm"
        knob = ""
        if self.target is Target.SM90A and not tma.aligned(left, right, reduced):
            knob = f".math({tma.exact_math(left, right, reduced)})"
        if knob and product.dtype is DType.F32:
            how = "as plain f32" if knob == ".math(f32)" else "split, from aligned copies"
            self.notes.append(f"{root.name}: rows are no multiple of 16 bytes, so it is multiplied {how}")
        elif knob:
            reason = f"rows of {product.dtype} that are no multiple of 16 bytes have no kernel on {self.target}"
            self._fail(root.op, reason)
        return f"{op}({left.name}, {right.name}){knob}"

    def _own(self, group: Group, start: str, links: list[str], result: Value) -> None:
        """The group's stage; ``result`` is what it gives, but for the name."""
        name = self._stage_name()
        self.lines.append(" >> ".join([f"{name} = {start}", *links]))
        self.own.append(name)
        self.own_nodes.update((*group.members, *(group.end.members if group.end else ())))
        made = replace(result, name=name, storage=name)
        self.values[group.result, 0] = self.layouts.reshape(made, self.work.by_name[group.result].results[0].shape)

    def _factor(self, value: Value) -> Value:
        """An operand with one contiguous side, copied where it has none."""
        sides = zip(value.strides[-2:], value.shape[-2:], strict=True)
        return value if any(stride == 1 or extent == 1 for stride, extent in sides) else self._copied(value)

    def _chain(self, group: Group, product: tuple[int, ...]) -> tuple[Chain, Any, dict[str, Value]]:
        """The group's chain with every outside tensor named by its text, in the product's shape, and these tensors."""
        inside = set(group.members)
        outside: dict[str, Value] = {}

        def expressed(name: str) -> Expr:
            tail = self.work.by_name[name].results[0].shape

            def change(ref: Ref) -> Expr:
                if ref.name in inside:
                    return ref
                value = self.values[ref.name, ref.index]
                shape = carried(value.shape, tail, product)
                if shape is not None:
                    value = self.layouts.reshape(value, shape)
                outside[value.name] = value
                return Ref(value.name, -1)

            return replaced(self.expressions[name], change)

        members = [name for name in group.members if name in self.expressions]
        expressions = {name: expressed(name) for name in members}
        aliases = {
            name: self.work.by_name[name].args[0]["ref"]
            for name in group.members
            if name not in self.expressions and name != group.root
        }

        convolution = group.root is not None and conv.is_convolution(self.work.by_name[group.root])

        def bias_of(ref: Ref) -> str | None:
            if ref.index != -1 or not product:
                return None
            value = outside[ref.name]
            if convolution:
                return conv.bias_vector(value, self.layouts.origins.get(value.name, value), product)
            return value.name if value.shape == product[-1:] else None

        return Chain(group.members, expressions, aliases, bias_of), lambda ref: ref.name, outside

    # Library stages.

    def _library(self, node: Node) -> None:
        call = library.call(self.work, node)
        if call is None:
            self._fail(node.op, "there is no own kernel and no torch function for it")
            return
        row_major = call.function == "torch.as_strided"
        name = self._stage_name()
        args = [self._argument(arg, row_major) for arg in call.args]
        args += [f"{key_}={self._argument(arg, row_major)}" for key_, arg in call.kwargs.items()]
        results = node.results[: call.results]
        types = ", ".join(type_text(spec) for spec in results)
        self.lines.append(f"{name} = {call.function}({', '.join(args)}) -> {types}")
        self.library.append(name)
        for index, spec in enumerate(results):
            text = name if len(results) == 1 else f"{name}.{index}"
            self.values[node.name, index] = views.fresh(text, spec.dtype, spec.shape)

    def _argument(self, value: Any, row_major: bool) -> str:
        if is_ref(value):
            found = self.value(value)
            return (self._copied(found) if row_major and not found.contiguous else found).name
        if isinstance(value, dict) and "dtype" in value:
            return str(value["dtype"])
        if isinstance(value, list | tuple):
            return f"[{', '.join(self._argument(item, row_major) for item in value)}]"
        if value is None or isinstance(value, bool):
            return str(value)
        known = number(value)
        return written_exactly(known) if known is not None else f'"{value}"'

    def _outputs(self) -> list[Value]:
        """What is returned: tensors of stages, row-major, each once."""
        made: list[Value] = []
        stages = {*self.own, *self.library}
        for output in self.work.outputs:
            if not is_ref(output):
                continue
            value = self.value(output)
            owner = value.storage.split(".")[0]
            if owner not in stages or not value.contiguous or any(value.storage == other.storage for other in made):
                value = self._copied(value)
                stages.add(value.storage)
            made.append(value)
        return made


def _read(node: Node) -> set[str]:
    return {ref["ref"] for ref in refs([node.args, node.kwargs])}


def written_exactly(value: float | int) -> str:
    """A number of a torch call: whole floats stay floats, since torch tells them apart."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return repr(value)
    return written(value)
