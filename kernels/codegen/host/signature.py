"""The C function of a unit: input pointers, result pointers (mostly one), sizes, workspace, stream."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.codegen.source import Source

_WIDTH = 110


@dataclass(frozen=True, slots=True)
class Signature:
    """Names of the input pointers, names and values of the sizes, and names of the result pointers."""

    pointers: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...]
    results: tuple[str, ...] = ("out",)

    @property
    def values(self) -> tuple[int, ...]:
        """The sizes to call with."""
        return tuple(value for _, value in self.sizes)

    def declare(self, text: Source, symbol: str) -> None:
        """Append the function's head, up to its opening brace."""
        parameters = [f"const void* {name}" for name in self.pointers]
        parameters += [f"void* {name}" for name in self.results]
        parameters += [f"int64_t {name}" for name, _ in self.sizes]
        parameters += ["[[maybe_unused]] void* workspace", "[[maybe_unused]] void* stream"]
        line = f'extern "C" int {symbol}('
        for position, parameter in enumerate(parameters):
            piece = parameter + (", " if position + 1 < len(parameters) else ") {")
            if len(line) + len(piece) > _WIDTH:
                text.add(line.rstrip())
                line = "    "
            line += piece
        text.add(line)
