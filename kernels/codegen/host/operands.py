"""How a chain reads its tensors: one pointer an operand, strides as run-time arguments, the pattern as configuration.

Of a stride only its kind is written into the C++: zero (broadcast), one (vectors, last extent only) or any. So a bias
is one unit of code whatever its length.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.codegen.host.types import cpp_type, loads
from kernels.codegen.source import Source
from kernels.dsl.ir import Stage, Value


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor of a chain. ``strides`` has one stride an index of ``axes``; extents of one count as broadcast.

    ``turned`` is the axis of the tile in which the body finds its part of a turned operand (``mu/turn.h``).
    """

    name: str
    value: Value
    type: str
    axes: tuple[str, ...]
    strides: tuple[int, ...]
    turned: int | None = None

    @property
    def members(self) -> tuple[tuple[str, int], ...]:
        """Names and values of the strides that travel at run time."""
        last = len(self.axes) - 1
        return tuple(
            (f"{self.name}_{_suffix(axis)}", stride)
            for position, (axis, stride) in enumerate(zip(self.axes, self.strides, strict=True))
            if stride != 0 and not (position == last and stride == 1)
        )

    def place(self) -> str:
        """The C++ expression of the address of the element at the current index."""
        parts = [
            axis if stride == 1 and position == len(self.axes) - 1 else f"{axis} * {self.name}_{_suffix(axis)}"
            for position, (axis, stride) in enumerate(zip(self.axes, self.strides, strict=True))
            if stride
        ]
        return " + ".join([self.name, *parts])

    def read(self) -> str:
        """The C++ expression of the vector at the current index."""
        outer = "".join(
            f" + {axis} * {self.name}_{_suffix(axis)}"
            for axis, stride in zip(self.axes[:-1], self.strides[:-1], strict=True)
            if stride
        )
        last, stride = self.axes[-1], self.strides[-1]
        if self.turned is not None:
            row = f"({self.axes[self.turned]} - tiles.row) * mu::tile_side"
            return f"mu::load<C>(tiles.{self.name} + {row} + {last} - tiles.column, extent)"
        if stride == 0:
            return f"mu::splat(mu::element<C>({self.name}{outer}))"
        if stride == 1:
            return f"mu::load<C>({self.name}{outer} + {last}, extent)"
        step = f"{self.name}_{_suffix(last)}"
        return f"mu::gather<C>({self.name}{outer} + {last} * {step}, {step}, extent)"


def _suffix(axis: str) -> str:
    return axis.replace("at[", "").replace("]", "")


@dataclass(frozen=True, slots=True)
class Operands:
    """The distinct tensors of a stage's chain, in the order they are first read."""

    items: tuple[Operand, ...]

    def of(self, value: Value) -> Operand:
        """The operand that reads ``value``."""
        return next(item for item in self.items if item.value == value)

    @property
    def pointers(self) -> tuple[Value, ...]:
        """Their values, in order."""
        return tuple(item.value for item in self.items)

    @property
    def members(self) -> tuple[tuple[str, int], ...]:
        """All strides that travel at run time."""
        return tuple(member for item in self.items for member in item.members)


def collect(stage: Stage, axes: tuple[str, ...], strides: dict[Value, tuple[int, ...]] | None = None) -> Operands:
    """The chain's operands over index names ``axes``; ``strides`` replaces those of the values (collapsed ranks)."""
    values: list[Value] = []
    for step in stage.chain:
        for load in loads(step.expr):
            if load.value not in values:
                values.append(load.value)
    return Operands(tuple(_operand(stage, position, value, axes, strides) for position, value in enumerate(values)))


def _operand(
    stage: Stage, position: int, value: Value, axes: tuple[str, ...], strides: dict[Value, tuple[int, ...]] | None
) -> Operand:
    chosen = strides[value] if strides is not None else effective_strides(value)
    return Operand(f"p{position}", value, cpp_type(value.dtype, stage, value.name), axes, chosen)


def effective_strides(value: Value) -> tuple[int, ...]:
    """Strides with those of extents of one set to 0, which is what they come to."""
    return tuple(0 if extent == 1 else stride for extent, stride in zip(value.shape, value.strides, strict=True))


def declare_members(text: Source, operands: Operands) -> None:
    """The pointers and run-time strides of a chain's operands, as data members."""
    for item in operands.items:
        text.add(f"  const {item.type}* {item.name};", remark=item.value.name)
        if item.members:
            text.add(f"  int64_t {', '.join(name for name, _ in item.members)};")


def initialisers(operands: Operands) -> list[str]:
    """What fills the members of ``declare_members``, in order."""
    parts: list[str] = []
    for item in operands.items:
        parts.append(f"static_cast<const {item.type}*>({item.name})")
        parts += [name for name, _ in item.members]
    return parts
