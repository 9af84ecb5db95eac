"""The parameters of a unit's function, and the numbers that a launch passes for them."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernels.codegen.cuda.writer import SYMBOL


@dataclass
class Arguments:
    """Input pointers (parameter name to the program's value name) and 64-bit sizes, in the order of the call."""

    pointers: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def pointer(self, parameter: str, value: str) -> str:
        """Add an input pointer; gives the parameter's name back."""
        self.pointers[parameter] = value
        return parameter

    def size(self, parameter: str, value: int) -> str:
        """Add a run-time size; gives the parameter's name back."""
        self.sizes[parameter] = value
        return parameter

    def signature(self, results: tuple[str, ...] = ("y",)) -> list[str]:
        """The head of the ``extern "C"`` function, ready for its body; ``results`` name the pointers it writes to."""
        inputs = "".join(f"const void* {name}, " for name in self.pointers)
        outputs = ", ".join(f"void* {name}" for name in results)
        rows = [f'extern "C" int {SYMBOL}(', f"    {inputs}{outputs},"]
        names = list(self.sizes)
        for start in range(0, len(names), 5):
            rows.append("    " + " ".join(f"int64_t {name}," for name in names[start : start + 5]))
        return [*rows, "    void* workspace, void* stream) {"]

    def values_note(self, result: str) -> str:
        """Which tensor of the program each pointer is."""
        named = [f"{parameter} = {value.split('.expand(')[0]}" for parameter, value in self.pointers.items()]
        return ", ".join([*named, f"y = {result}"])
