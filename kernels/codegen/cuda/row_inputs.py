"""What the elements of a row stage are computed from, where that is more than x: one read as CUDA text.

x is dense, so an element's place in it says where those of the other tensors lie. Tensors that lie as x does, or side
by side along x's innermost extent, are read by the vector. The kernels (``rows``, ``row_lanes``) read ``Inputs`` in
place of x and get numbers in FP32.
"""

from __future__ import annotations

import math

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.expression import loads, text
from kernels.codegen.cuda.layout import CUDA_TYPES, describe, type_name
from kernels.codegen.cuda.writer import SourceWriter
from kernels.codegen.row_space import computed_space
from kernels.dsl.ir import Stage

_STRUCT = """
  Sizes p;
  int64_t place;
  __device__ __forceinline__ Inputs operator+(int64_t step) const {
    Inputs moved = *this;
    moved.place += step;
    return moved;
  }"""


class RowInputs:
    """The tensors of a stage's prologue; ``lanes`` are the elements that a thread takes at once."""

    def __init__(self, stage: Stage, lanes: int) -> None:
        self.stage, self.prologue, self.lanes = stage, stage.attributes["prologue"], lanes
        self.values = loads(self.prologue.expr)
        self.types = [type_name(stage.name, value, CUDA_TYPES, f"a {stage.op}") for value in self.values]
        self.groups = computed_space(stage, self.values)

    def declare(self, arguments: Arguments) -> None:
        """Its pointers ``e0`` and so on, and what of extents and strides travels at run time."""
        for index, value in enumerate(self.values):
            arguments.pointer(f"e{index}", value.name)
        last = len(self.groups) - 1
        for axis, group in enumerate(self.groups):
            if axis and self._moving():
                arguments.size(f"inner{axis}", group.extent)
        for index in range(len(self.values)):
            for axis, group in enumerate(self.groups):
                if not self._flat(index) and group.steps[index] > (axis == last):
                    arguments.size(f"e{index}_step{axis}", group.steps[index])

    def given(self) -> str:
        """What fills ``Inputs``, in order."""
        pointers = [f"static_cast<{name} const*>(e{index})" for index, name in enumerate(self.types)]
        return ", ".join([*pointers, "p", "0"])

    def write(self, out: SourceWriter) -> None:
        """``struct Inputs``, with single elements, and its ``load`` of a vector of them."""
        out.line()
        if self._moving():
            small = math.prod(group.extent for group in self.groups) < 2**31
            out.line(f"using Place = {'uint32_t' if small else 'uint64_t'};", "of an element in x")
        out.line("// A place of x, and what the element there is computed from.")
        out.line("struct Inputs {")
        for index, (name, value) in enumerate(zip(self.types, self.values, strict=True)):
            out.line(f"  {name} const* e{index};", describe(value))
        out.lines(_STRUCT)
        out.line("  __device__ __forceinline__ float operator[](int64_t step) const {")
        out.line("    int64_t at = place + step;")
        self._write_places(out, "    ", "")
        for index, value in enumerate(self.values):
            out.line(f"    float v{index} = float(e{index}[{self._place(index)}]);", value.name)
        out.line(f"    return {self._expression()};", self.prologue.text, self.prologue.span.line)
        out.lines("  }\n};")
        self._write_load(out)

    def _write_load(self, out: SourceWriter) -> None:
        out.line("__device__ __forceinline__ Vector<float> load(Inputs const& from) {")
        out.line("  int64_t at = from.place;")
        self._write_places(out, "  ", "from.")
        for index in range(len(self.values)):
            source = f"from.e{index} + {self._place(index)}"
            if self._vectorised(index):
                out.line(f"  Vector<{self.types[index]}> in{index} = load({source});")
            elif self._constant(index):
                out.line(f"  float in{index} = float(from.e{index}[{self._place(index)}]);")
        out.lines("  Vector<float> made;\n#pragma unroll\n  for (int k = 0; k < Lanes; ++k) {")
        for index, value in enumerate(self.values):
            out.line(f"    float v{index} = {self._lane(index)};", value.name)
        out.line(f"    made.lane[k] = {self._expression()};", self.prologue.text, self.prologue.span.line)
        out.lines("  }\n  return made;\n}")

    def _flat(self, index: int) -> bool:
        return all(group.steps[index] == group.step for group in self.groups)

    def _constant(self, index: int) -> bool:
        """Whether a vector of x needs one element of the tensor."""
        return self.groups[-1].steps[index] == 0

    def _moving(self) -> list[int]:
        """The tensors that lie otherwise than x and are not one element."""
        count = range(len(self.values))
        return [each for each in count if not self._flat(each) and any(group.steps[each] for group in self.groups)]

    def _vectorised(self, index: int) -> bool:
        """Whether the elements for a vector of x are a vector too, wherever x's begins."""
        if self.values[index].offset % self.lanes:
            return False
        if self._flat(index):
            return True
        last = self.groups[-1]
        others = (last.extent, *(group.steps[index] for group in self.groups[:-1]))
        return last.steps[index] == 1 and not any(each % self.lanes for each in others)

    def _place(self, index: int) -> str:
        return "at" if self._flat(index) else f"at{index}" if index in self._moving() else "0"

    def _lane(self, index: int) -> str:
        if self._vectorised(index):
            return f"float(in{index}.lane[k])"
        if self._constant(index):
            return f"in{index}"
        step = 1 if self._flat(index) else self.groups[-1].steps[index]
        along = "k" if step == 1 else f"k * from.p.e{index}_step{len(self.groups) - 1}"
        return f"float(from.e{index}[{self._place(index)} + {along}])"

    def _expression(self) -> str:
        names = {value.name: f"v{index}" for index, value in enumerate(self.values)}
        return text(self.prologue.expr, names, "float", self.stage.name)

    def _write_places(self, out: SourceWriter, indent: str, owner: str) -> None:
        """``at0`` and so on: where each tensor that lies otherwise than x has the element at place ``at``."""
        moving, rest, last = self._moving(), "at", len(self.groups) - 1
        used = {axis for axis, group in enumerate(self.groups) if any(group.steps[index] for index in moving)}
        for axis in range(last, 0, -1):
            inner = f"Place({owner}p.inner{axis})"
            if axis in used:
                out.line(f"{indent}int64_t c{axis} = Place({rest}) % {inner};")
            if any(other < axis for other in used):
                out.line(f"{indent}int64_t above{axis} = Place({rest}) / {inner};")
                rest = f"above{axis}"
        for index in moving:
            terms = []
            for axis, group in enumerate(self.groups):
                place = f"c{axis}" if axis else rest
                if group.steps[index]:
                    lying = axis == last and group.steps[index] == 1
                    terms.append(place if lying else f"{place} * {owner}p.e{index}_step{axis}")
            out.line(f"{indent}int64_t at{index} = {' + '.join(terms)};")
