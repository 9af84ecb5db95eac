"""μCUTLASS programs as an auditor reads them: who uses what, which stages are torch's, what reaches the outputs."""

from __future__ import annotations

from collections.abc import Iterator

from kernels.dsl.syntax import Access, Argument, Assign, Binary, Call, Name, Number, Program, Sequence, Unary

VIEW = "view"


def parts(argument: Argument) -> Iterator[Argument]:
    """An argument and everything in it."""
    waiting: list[Argument] = [argument]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, Sequence):
            waiting += part.items
        elif isinstance(part, Unary):
            waiting.append(part.operand)
        elif isinstance(part, Binary):
            waiting += [part.left, part.right]
        elif isinstance(part, Call):
            waiting += [*part.args, *(keyword.value for keyword in part.kwargs)]
        elif isinstance(part, Access):
            waiting += [part.base, *(part.args or ())]


def arguments(stage: Assign) -> Iterator[Argument]:
    """Everything a stage and its chain are given."""
    yield from stage.args
    yield from (keyword.value for keyword in stage.kwargs)
    for link in stage.chain:
        yield from link.args
        yield from (keyword.value for keyword in link.kwargs)


def names_in(arguments_: Iterator[Argument]) -> set[str]:
    """All names as written; of a view called on a name, ``x.reshape(4)``, the part before the view."""
    found = set()
    for argument in arguments_:
        for part in parts(argument):
            if isinstance(part, Name):
                found.add(part.text)
            elif isinstance(part, Call) and "." in part.function:
                found.add(part.function.rsplit(".", 1)[0])
    return found


class Uses:
    """Which stages and parameters each output rests on."""

    def __init__(self, program: Program) -> None:
        self._known = {p.name for p in program.parameters} | {s.target for s in program.stages}
        self.of = {stage.target: self._resolve(names_in(arguments(stage))) for stage in program.stages}
        self.outputs = self._resolve(names_in(iter(program.outputs)))
        self.reached = self._reached(self.outputs)

    def _resolve(self, written: set[str]) -> set[str]:
        found = set()
        for name in written:
            while name not in self._known and "." in name:
                name = name.rsplit(".", 1)[0]
            if name in self._known:
                found.add(name)
        return found

    def _reached(self, start: set[str]) -> set[str]:
        seen: set[str] = set()
        waiting = set(start)
        while waiting:
            name = waiting.pop()
            seen.add(name)
            waiting |= self.of.get(name, set()) - seen
        return seen


def is_torch(stage: Assign) -> bool:
    """Whether torch does the stage."""
    return stage.op.startswith("torch.") or stage.op == "torch"


def last(stage: Assign) -> str:
    """The operation's name without ``torch.nn.functional.``."""
    return stage.op.rsplit(".", 1)[-1]


def stages(program: Program) -> list[Assign]:
    """All but bare views."""
    return [stage for stage in program.stages if stage.op != VIEW]


def is_copy(stage: Assign) -> bool:
    """``map(x)``, ``map(x * 1)``, ``map(x + 0)`` without a chain."""
    if stage.op != "map" or stage.chain or not stage.args:
        return False
    argument = stage.args[0]
    while isinstance(argument, Binary) and isinstance(argument.right, Number):
        neutral = {"+": 0, "-": 0, "*": 1, "/": 1}.get(argument.operator)
        if neutral is None or argument.right.value != neutral:
            return False
        argument = argument.left
    return isinstance(argument, Name)


def is_constant(stage: Assign) -> bool:
    """Whether a stage's expression is a number whatever its tensors hold: ``x * 0``, ``x - x``, ``clamp(x, 1, 1)``."""
    if stage.op != "map" or not stage.args:
        return any(link.name in ("mul", "scale") and _zero(link.args) for link in stage.chain)
    return _value(stage.args[0]) or any(link.name in ("mul", "scale") and _zero(link.args) for link in stage.chain)


def _zero(values: tuple[Argument, ...]) -> bool:
    return bool(values) and isinstance(values[0], Number) and values[0].value == 0


def _value(argument: Argument) -> bool:
    """Whether an expression has the same value for all tensors."""
    if isinstance(argument, Number):
        return True
    if isinstance(argument, Unary):
        return _value(argument.operand)
    if isinstance(argument, Binary):
        if argument.operator == "*" and (_zero((argument.left,)) or _zero((argument.right,))):
            return True
        if argument.operator == "-" and isinstance(argument.left, Name) and isinstance(argument.right, Name):
            return argument.left.text == argument.right.text
        return _value(argument.left) and _value(argument.right)
    if isinstance(argument, Call) and argument.function == "clamp" and len(argument.args) == 3:
        low, high = argument.args[1:]
        return isinstance(low, Number) and isinstance(high, Number) and low.value == high.value
    return isinstance(argument, Call) and bool(argument.args) and all(_value(a) for a in argument.args)
