"""pad: one grid-stride kernel over the result, which reads the operand or takes the border's value.

Vectors of the result are stored whole; where the operand begins and steps in whole vectors too, they are read whole.
"""

from __future__ import annotations

from kernels.codegen.borders import Border, border_of
from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.codegen.cuda.expression import number
from kernels.codegen.cuda.frame import LAUNCHED, VECTOR, stage_code, write_entry, write_head, write_sizes
from kernels.codegen.cuda.layout import CUDA_TYPES, describe, type_name
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.writer import SourceWriter
from kernels.codegen.emission import StageCode
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType


def emit_pad(stage: Stage, source: Assign | None) -> StageCode:
    """Code of one pad; raises the errors of ``codegen`` and ``cuda``."""
    return _PadEmitter(stage, source).emit()


class _PadEmitter:
    def __init__(self, stage: Stage, source: Assign | None) -> None:
        self.stage = stage
        self.x = stage.operands[0]
        self.origins = Origins(stage, source)
        self.out = SourceWriter()
        self.border = border_of(stage)
        self.element = type_name(stage.name, self.x, CUDA_TYPES, "a pad")
        self.threads = int(stage.knobs["threads"]) or 256
        if not 32 <= self.threads <= 1024 or self.threads % 32:
            legal = "a multiple of 32 up to 1024"
            raise KnobWithoutCode(stage=stage.name, knob="threads", found=self.threads, legal=legal)
        most = min(int(stage.knobs["vector"]) or 8, 16 // self.x.dtype.bytes)
        self.lanes = 1
        while self.lanes * 2 <= most and self.border.extents[-1] % (self.lanes * 2) == 0:
            self.lanes *= 2
        self.whole = self._reads_whole_vectors(self.border)
        self.arguments = self._arguments(self.border)

    def _reads_whole_vectors(self, border: Border) -> bool:
        places = (self.x.offset, border.before[-1], border.inside[-1], *border.strides[:-1])
        return border.strides[-1] == 1 and not any(place % self.lanes for place in places)

    def _arguments(self, border: Border) -> Arguments:
        arguments = Arguments()
        arguments.pointer("x", self.x.name)
        arguments.size("elements", self.stage.result.elements)
        for axis in range(len(border.inside)):
            for name in ("extents", "inside", "before", "strides"):
                if name != "extents" or axis:
                    arguments.size(f"{name.rstrip('s')}{axis}", getattr(border, name)[axis])
        return arguments

    def emit(self) -> StageCode:
        out, origins = self.out, self.origins
        write_head(out, f"{self.stage.name} = pad({self.x.name})", origins)
        small = self.stage.result.elements < 2**31
        out.line(f"constexpr int Threads = {self.threads};", origins.note("threads"), origins.knob("threads"))
        out.line(f"constexpr int Lanes = {self.lanes};", origins.note("vector"), origins.knob("vector"))
        out.line(f"using Index = {'uint32_t' if small else 'uint64_t'};", "" if small else "2^31 elements or more")
        out.line(f"using Element = {self.element};", describe(self.x), origins.operand(0))
        out.lines(VECTOR)
        write_sizes(out, self.arguments)
        self._write_kernel()
        write_entry(out, self.arguments, origins, self.stage.name)
        out.lines("""
  int64_t blocks = (elements / Lanes + Threads - 1) / Threads;
  // More blocks than any card holds at once; the loop takes what is left.
  unsigned grid = unsigned(blocks < 4096 ? blocks : 4096);
  pad<<<grid, Threads, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<Element const*>(x), static_cast<Element*>(y), p);""")
        out.lines(LAUNCHED)
        return stage_code(out, self.stage, self.arguments)

    def _write_kernel(self) -> None:
        out, border, last = self.out, self.border, len(self.border.inside) - 1
        out.lines("""
__global__ void __launch_bounds__(Threads) pad(
    Element const* __restrict__ x, Element* __restrict__ y, Sizes p) {""")
        out.line(f"  Element outside = {self._outside()};", "the border", self.origins.operand(2))
        out.lines("""
  Index groups = Index(p.elements / Lanes), step = Index(gridDim.x) * Threads;
  for (Index group = Index(blockIdx.x) * Threads + threadIdx.x; group < groups; group += step) {
    Index at = group * Lanes;""")
        rest, checks, place = "at", [], []
        for axis in range(last, -1, -1):
            coordinate = f"{rest} % Index(p.extent{axis})" if axis else rest
            out.line(f"    int64_t c{axis} = int64_t({coordinate}) - p.before{axis};")
            if axis:
                out.line(f"    Index above{axis} = {rest} / Index(p.extent{axis});")
                rest = f"above{axis}"
            if axis < last:
                place.append(f"c{axis} * p.stride{axis}")
                if border.before[axis] or border.after[axis]:
                    checks.append(f"c{axis} >= 0 && c{axis} < p.inside{axis}")
        out.line(f"    bool inside = {' && '.join(checks) or 'true'};")
        out.line(f"    Element const* from = x{''.join(f' + {part}' for part in place)};")
        out.line("    Vector<Element> result;")
        stride = "" if border.strides[-1] == 1 else f" * p.stride{last}"
        if self.whole:
            out.line(f"    if (inside && c{last} >= 0 && c{last} < p.inside{last}) {{")
            out.line(f"      result = *reinterpret_cast<Vector<Element> const*>(from + c{last});")
            out.lines("    } else {\n#pragma unroll\n      for (int i = 0; i < Lanes; ++i) {")
            out.lines("        result.lane[i] = outside;\n      }\n    }")
        else:
            out.lines("#pragma unroll\n    for (int i = 0; i < Lanes; ++i) {")
            out.line(f"      int64_t j = c{last} + i;")
            out.line(f"      result.lane[i] = inside && j >= 0 && j < p.inside{last} ? from[j{stride}] : outside;")
            out.line("    }")
        out.line("    *reinterpret_cast<Vector<Element>*>(y + at) = result;", self.stage.name)
        out.lines("  }\n}")

    def _outside(self) -> str:
        value, dtype = self.stage.attributes["value"], self.x.dtype
        if not dtype.is_float:
            return f"Element({int(value)})"
        return f"Element({number(value, 'double' if dtype is DType.F64 else 'float')})"
