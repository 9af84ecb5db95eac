"""Pooling: each thread makes ``Lanes`` neighbouring results along the memory, in FP32.

Channels-last, they are channels, and every element of a window is one vector. Row-major, they are neighbouring
windows: what these reach over in a row of x is read once, in aligned vectors, into registers. Kernel, stride, padding
and dilation are constants of the unit, since loops over them unroll; extents are run-time sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.codegen.cuda.expression import chain_loads, text
from kernels.codegen.cuda.frame import (
    LAUNCHED,
    VECTOR_OF,
    stage_code,
    write_entry,
    write_functions,
    write_head,
    write_sizes,
)
from kernels.codegen.cuda.layout import CUDA_TYPES, describe, type_name
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.pool_text import JOINS, divisor_text, reads_row, reads_vectors, reads_windows
from kernels.codegen.cuda.writer import SourceWriter
from kernels.codegen.emission import StageCode
from kernels.codegen.memory_order import in_memory_order
from kernels.dsl.ir import Stage, Value
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType

_FLOATS = {dtype: CUDA_TYPES[dtype] for dtype in (DType.F32, DType.F16, DType.BF16)}
_MOST_SEEN = 64
"""Elements of a row of x that a thread keeps in registers at most."""
_ENOUGH_WINDOWS = 16


def emit_pool(stage: Stage, source: Assign | None) -> StageCode:
    """Code of one pool; raises the errors of ``codegen`` and ``cuda``."""
    return _PoolEmitter(stage, source).emit()


@dataclass(frozen=True, slots=True)
class Reads:
    """``lanes`` results a thread. Row-major: elements of x ``wide`` at once, ``seen`` of them in registers (0: none),
    and whether a row of results is whole groups of lanes."""

    lanes: int
    wide: int
    seen: int
    even: bool


def choose_reads(stage: Stage) -> Reads:
    """How a thread reads; the knob ``vector`` says how many results it makes."""
    x, a = stage.operands[0], stage.attributes
    asked = int(stage.knobs["vector"])
    if not x.contiguous:
        most, lanes = asked or 16 // x.dtype.bytes, 1
        while lanes * 2 <= most and a["channels"] % (lanes * 2) == 0 and x.offset % (lanes * 2) == 0:
            lanes *= 2
        return Reads(lanes, lanes, 0, True)
    width, stride = a["output"][-1], a["stride"][-1]
    reach = a["dilation"][-1] * (a["kernel"][-1] - 1) + 1
    lanes = asked or (4 if width % 4 == 0 or width >= _ENOUGH_WINDOWS else 2 if width % 2 == 0 else 1)
    even = width % lanes == 0
    wide = 16 // x.dtype.bytes
    while wide > 1 and (a["input"][-1] % wide or x.offset % wide or lanes * stride % wide):
        wide //= 2
    shift = -a["padding"][-1] % wide
    seen = -(-(shift + (lanes - 1) * stride + reach) // wide) * wide
    return Reads(lanes, wide, seen if seen <= _MOST_SEEN else 0, even)


class _PoolEmitter:
    def __init__(self, stage: Stage, source: Assign | None) -> None:
        self.x, self.dims = stage.operands[0], int(stage.attributes["dims"])
        self.channels_last = not self.x.contiguous
        axes = (0, *range(2, self.dims + 2), 1) if self.channels_last else tuple(range(self.dims + 2))
        self.stage = in_memory_order(stage, axes)
        self.origins = Origins(stage, source)
        self.out = SourceWriter()
        self.reads = choose_reads(stage)
        self.threads = int(stage.knobs["threads"]) or 256
        if not 32 <= self.threads <= 1024 or self.threads % 32:
            legal = "a multiple of 32 up to 1024"
            raise KnobWithoutCode(stage=stage.name, knob="threads", found=self.threads, legal=legal)
        self.loads = chain_loads(self.stage.chain)
        self.element = type_name(stage.name, self.x, _FLOATS, "a pool")
        self.types = [type_name(stage.name, value, CUDA_TYPES, "a pool") for value in self.loads]
        self.arguments = self._arguments()

    def _arguments(self) -> Arguments:
        arguments, attributes = Arguments(), self.stage.attributes
        arguments.pointer("x", self.x.name)
        for index, value in enumerate(self.loads):
            arguments.pointer(f"t{index}", value.name)
        arguments.size("batch", attributes["batch"])
        arguments.size("channels", attributes["channels"])
        for axis in range(self.dims):
            arguments.size(f"in{axis}", attributes["input"][axis])
            arguments.size(f"out{axis}", attributes["output"][axis])
        for index, value in enumerate(self.loads):
            for axis, stride in enumerate(self._strides(value)):
                if stride:
                    arguments.size(f"t{index}_stride{axis}", stride)
        return arguments

    @staticmethod
    def _strides(value: Value) -> tuple[int, ...]:
        """Those of extents of one come to nothing."""
        pairs = zip(value.shape, value.strides, strict=True)
        return tuple(0 if extent == 1 else stride for extent, stride in pairs)

    def emit(self) -> StageCode:
        stage, out, origins, a = self.stage, self.out, self.origins, self.stage.attributes
        chain = "".join(f" >> {step.text}" for step in stage.chain)
        write_head(out, f"{stage.name} = {a['kind']}_pool{self.dims}d({self.x.name}){chain}", origins)
        write_functions(out, stage.chain)
        small = max(stage.result.elements, self.x.elements) < 2**31
        out.line(f"constexpr int Threads = {self.threads};", origins.note("threads"), origins.knob("threads"))
        out.line(f"constexpr int Lanes = {self.reads.lanes};", origins.note("vector"), origins.knob("vector"))
        out.line(f"using Index = {'int32_t' if small else 'int64_t'};", "" if small else "2^31 elements or more")
        out.line(f"using Element = {self.element};", describe(self.x), origins.operand(0))
        for name in ("kernel", "stride", "padding", "dilation"):
            values = ", ".join(f"{name.capitalize()}{axis} = {a[name][axis]}" for axis in range(self.dims))
            out.line(f"constexpr int {values};", "", origins.call)
        out.lines(VECTOR_OF)
        out.lines(JOINS[a["kind"]])
        write_sizes(out, self.arguments)
        self._write_kernel()
        self._write_function()
        return stage_code(out, stage, self.arguments)

    def _write_kernel(self) -> None:
        out = self.out
        tensors = "".join(f"{t} const* __restrict__ t{i}, " for i, t in enumerate(self.types))
        out.line("__global__ void __launch_bounds__(Threads) pool(")
        out.line(
            f"    Element const* __restrict__ x, {tensors}Element* __restrict__ y, Sizes p, int64_t groups) {{"
        )
        out.lines("""
  int64_t step = int64_t(gridDim.x) * Threads;
  for (int64_t group = int64_t(blockIdx.x) * Threads + threadIdx.x; group < groups; group += step) {""")
        self._write_coordinates()
        out.lines(
            "    float sum[Lanes];\n#pragma unroll\n    for (int i = 0; i < Lanes; ++i) { sum[i] = Neutral; }"
        )
        if self.channels_last:
            out.lines(reads_vectors(self.dims))
        elif self.reads.seen:
            out.lines(reads_row(self.dims, self.reads.wide, self.reads.seen))
        else:
            out.lines(reads_windows(self.dims))
        self._write_results()
        out.lines("  }\n}")

    def _write_coordinates(self) -> None:
        """``n``, ``c`` and ``o0``, ``o1``, … of the first result, and ``at``, its place in the result."""
        out, last = self.out, self.dims - 1
        spatial = [(f"o{axis}", f"p.out{axis}") for axis in range(self.dims)]
        if self.channels_last:
            order = [*spatial, ("c", "(p.channels / Lanes)")]
        else:
            order = [("c", "p.channels"), *spatial[:-1], (f"o{last}", f"((p.out{last} + Lanes - 1) / Lanes)")]
        rest = "Index(group)"
        for place, (name, extent) in enumerate(reversed(order)):
            scale = " * Lanes" if place == 0 else ""
            extent = f"Index{extent}" if extent.startswith("(") else f"Index({extent})"
            out.line(f"    Index {name} = {rest} % {extent}{scale};")
            out.line(f"    Index above_{name} = {rest} / {extent};")
            rest = f"above_{name}"
        out.line(f"    Index n = {rest};")
        inner = [*spatial, ("c", "p.channels")] if self.channels_last else [("c", "p.channels"), *spatial]
        at = "n"
        for name, extent in inner:
            at = f"({at}) * Index({extent}) + {name}" if at != "n" else f"n * Index({extent}) + {name}"
        out.line(f"    Index at = {at};")

    def _write_results(self) -> None:
        out, stage, even = self.out, self.stage, self.reads.even
        rank, last = self.dims + 2, self.dims - 1
        spatial = [f"o{axis}" for axis in range(self.dims)]
        names = ["n", *spatial, "c"] if self.channels_last else ["n", "c", *spatial]
        if stage.attributes["kind"] == "avg":
            for line in divisor_text(stage.attributes, self.channels_last):
                out.line(f"    {line}")
        for index, value in enumerate(self.loads):
            steps = enumerate(self._strides(value))
            place = " + ".join(f"{names[axis]} * p.t{index}_stride{axis}" for axis, stride in steps if stride)
            start = f"t{index}{' + ' * bool(place)}{place}"
            out.line(f"    {self.types[index]} const* row{index} = {start};", describe(value))
        out.lines("    Vector<Element> result;\n#pragma unroll\n    for (int i = 0; i < Lanes; ++i) {")
        if not even:
            out.line(f"      if (o{last} + i >= p.out{last}) {{ continue; }}")
        mean = f"sum[i] / {self._divisor()}" if stage.attributes["kind"] == "avg" else "sum[i]"
        out.line(f"      float acc = {mean};", "", self.origins.call)
        for index, value in enumerate(self.loads):
            step = self._strides(value)[-1]
            lane = "0" if not step else "i" if step == 1 else f"i * p.t{index}_stride{rank - 1}"
            out.line(f"      float v{index} = float(row{index}[{lane}]);", value.name)
        known = {value.name: f"v{index}" for index, value in enumerate(self.loads)}
        for step_ in stage.chain:
            expression = text(step_.expr, known, "float", stage.name)
            out.line(f"      acc = {expression};", f">> {step_.text}", step_.span.line)
        out.line("      result.lane[i] = Element(acc);")
        if not even:
            out.line("      y[at + i] = result.lane[i];", stage.name)
        out.line("    }")
        if even:
            out.line("    *reinterpret_cast<Vector<Element>*>(y + at) = result;", stage.name)

    def _divisor(self) -> str:
        return "divisor" if self.channels_last else "(divisor * counted(i))"

    def _write_function(self) -> None:
        out, last = self.out, self.dims - 1
        write_entry(out, self.arguments, self.origins, self.stage.name)
        across = "channels / Lanes" if self.channels_last else f"((out{last} + Lanes - 1) / Lanes)"
        spatial = [f"out{axis}" for axis in range(self.dims if self.channels_last else last)]
        rest = " * ".join(["batch", *([] if self.channels_last else ["channels"]), *spatial])
        tensors = "".join(f"static_cast<{t} const*>(t{i}), " for i, t in enumerate(self.types))
        out.line(f"  int64_t groups = {rest} * {across};")
        out.lines("""
  int64_t blocks = (groups + Threads - 1) / Threads;
  // The loop takes what is left.
  unsigned grid = unsigned(blocks < (1 << 20) ? blocks : 1 << 20);
  pool<<<grid, Threads, 0, static_cast<cudaStream_t>(stream)>>>(""")
        out.line(f"      static_cast<Element const*>(x), {tensors}static_cast<Element*>(y), p, groups);")
        out.lines(LAUNCHED)
