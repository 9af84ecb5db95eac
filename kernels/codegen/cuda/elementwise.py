"""map and cast: one grid-stride kernel a stage, 16-byte accesses where the memory allows them.

Extents are merged where every operand allows it, so that a contiguous map of any rank is one flat loop; what is left
(broadcasts, permuted views) is addressed by run-time strides. Numbers are computed in FP32, or in FP64 as soon as a
64-bit or 32-bit-integer tensor takes part in a map.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.codegen.cuda.expression import chain_loads, functions, text
from kernels.codegen.cuda.functions import definitions
from kernels.codegen.cuda.layout import CUDA_TYPES, describe, type_name
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.writer import SYMBOL, SourceWriter
from kernels.codegen.emission import StageCode
from kernels.dsl.ir import Stage, Value
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType

_MOST_LANES = 8
_DOUBLE = {DType.F64, DType.I64, DType.I32}


@dataclass(frozen=True, slots=True)
class Space:
    """The merged extents, outermost first, and each operand's strides over them (0: broadcast)."""

    extents: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]


def broadcast_strides(value: Value, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a value over the result's shape; extents of one and missing ones get 0."""
    missing = len(shape) - len(value.shape)
    own = [0 if extent == 1 else stride for extent, stride in zip(value.shape, value.strides, strict=True)]
    return (0,) * missing + tuple(own)


def merge(shape: tuple[int, ...], strides: tuple[tuple[int, ...], ...]) -> Space:
    """Joins neighbouring extents that every operand steps through evenly; extents of one vanish."""
    kept = [axis for axis, extent in enumerate(shape) if extent != 1]
    extents = [shape[axis] for axis in kept]
    steps = [[row[axis] for axis in kept] for row in strides]
    axis = len(extents) - 1
    while axis > 0:
        inner = extents[axis]
        if all(row[axis - 1] == row[axis] * inner for row in steps):
            extents[axis - 1 : axis + 1] = [extents[axis - 1] * inner]
            for row in steps:
                del row[axis - 1]
        axis -= 1
    if not extents:
        extents, steps = [1], [[0] for _ in strides]
    return Space(tuple(extents), tuple(tuple(row) for row in steps))


def lanes(space: Space, operands: tuple[Value, ...], result: Value, asked: int) -> int:
    """Elements a thread takes at once: ``asked``, or for 0 the widest that all operands' alignments allow."""
    sizes = [result.dtype.bytes, *(value.dtype.bytes for value in operands)]
    most = asked or min(_MOST_LANES, 16 // min(sizes))
    width = 1
    while width * 2 <= most and _fits(space, operands, width * 2):
        width *= 2
    return width


def _fits(space: Space, operands: tuple[Value, ...], width: int) -> bool:
    if space.extents[-1] % width:
        return False
    for value, row in zip(operands, space.strides, strict=True):
        if row[-1] > 1:
            return False
        if row[-1] == 1 and (value.offset % width or any(stride % width for stride in row[:-1])):
            return False
    return True


def emit_elementwise(stage: Stage, source: Assign | None) -> StageCode:
    """Code of one map or cast; raises the errors of ``codegen`` and ``sm90a``."""
    return _ElementwiseEmitter(stage, source).emit()


class _ElementwiseEmitter:
    def __init__(self, stage: Stage, source: Assign | None) -> None:
        self.stage = stage
        self.origins = Origins(stage, source)
        self.out = SourceWriter()
        self.arguments = Arguments()
        self.loads = (stage.operands[0],) if stage.op == "cast" else chain_loads(stage.chain)
        where = f"a {stage.op}"
        self.types = [type_name(stage.name, value, CUDA_TYPES, where) for value in self.loads]
        self.result_type = type_name(stage.name, stage.result, CUDA_TYPES, where)
        shape = stage.result.shape
        self.space = merge(
            (*shape, 1),
            (*((*broadcast_strides(value, shape), 0) for value in self.loads), (*stage.result.strides, 0)),
        )
        self.lanes = lanes(
            Space(self.space.extents, self.space.strides[:-1]), self.loads, stage.result, int(stage.knobs["vector"])
        )
        self.threads = int(stage.knobs["threads"]) or 256
        if not 32 <= self.threads <= 1024 or self.threads % 32:
            raise KnobWithoutCode(
                stage=stage.name, knob="threads", found=self.threads, legal="a multiple of 32 up to 1024"
            )
        self._declare_arguments()

    def _declare_arguments(self) -> None:
        for index, value in enumerate(self.loads):
            self.arguments.pointer(f"t{index}", value.name)
        self.arguments.size("elements", self.stage.result.elements)
        for axis, extent in enumerate(self.space.extents[1:], start=1):
            self.arguments.size(f"extent{axis}", extent)
        for index in range(len(self.loads)):
            for axis in self._axes(index):
                self.arguments.size(f"t{index}_stride{axis}", self.space.strides[index][axis])

    def _flat(self, index: int) -> bool:
        """Whether the operand lies in memory exactly as the result does."""
        return self.space.strides[index] == self.space.strides[-1]

    @property
    def scalar(self) -> str:
        """The type that a map computes in."""
        taking_part = [*self.loads, self.stage.result]
        return "double" if any(value.dtype in _DOUBLE for value in taking_part) else "float"

    def emit(self) -> StageCode:
        stage, out = self.stage, self.out
        chain = " >> ".join(step.text for step in stage.chain)
        head = f"cast({stage.operands[0].name}, {stage.result.dtype.value})" if stage.op == "cast" else chain
        out.line("", f"{stage.name} = {head}", self.origins.call)
        out.lines("#include <cmath>\n#include <cstdint>\n\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n")
        out.line()
        out.line(f"namespace {SYMBOL}_types {{")
        called: set[str] = set()
        for step in stage.chain:
            called |= functions(step.expr)
        body = definitions(called)
        if body:
            out.lines(body)
            out.line()
        self._write_constants()
        self._write_kernel()
        self._write_function()
        return StageCode(
            unit=out.unit(stage.op, stage.name),
            pointers=tuple(self.arguments.pointers.values()),
            sizes=tuple(self.arguments.sizes.values()),
            workspace_bytes=0,
        )

    def _write_constants(self) -> None:
        out, origins = self.out, self.origins
        small = self.stage.result.elements < 2**31
        out.line(f"constexpr int Threads = {self.threads};", origins.note("threads"), origins.knob("threads"))
        out.line(f"constexpr int Lanes = {self.lanes};", origins.note("vector"), origins.knob("vector"))
        out.line(f"using Index = {'uint32_t' if small else 'uint64_t'};", "" if small else "2^31 elements or more")
        out.lines("""
template <class T>
struct alignas(sizeof(T) * Lanes < 16 ? sizeof(T) * Lanes : 16) Vector {
  T lane[Lanes];
};
struct Sizes {""")
        for name in self.arguments.sizes:
            out.line(f"  int64_t {name};")
        out.line("};")
        out.line()

    def _write_kernel(self) -> None:
        out = self.out
        tensors = "".join(f"{t} const* __restrict__ t{i}, " for i, t in enumerate(self.types))
        out.line("__global__ void __launch_bounds__(Threads) elementwise(")
        out.line(f"    {tensors}{self.result_type}* __restrict__ y, Sizes p) {{")
        out.lines("""
  Index groups = Index(p.elements / Lanes), step = Index(gridDim.x) * Threads;
  for (Index group = Index(blockIdx.x) * Threads + threadIdx.x; group < groups; group += step) {
    Index at = group * Lanes;""")
        self._write_coordinates()
        for index, value in enumerate(self.loads):
            self._write_load(index, value)
        out.line(f"    Vector<{self.result_type}> result;")
        out.lines("#pragma unroll\n    for (int i = 0; i < Lanes; ++i) {")
        self._write_computation()
        out.lines("    }")
        out.line(f"    *reinterpret_cast<Vector<{self.result_type}>*>(y + at) = result;", self.stage.result.name)
        out.lines("  }\n}")
        out.line(f"}}  // namespace {SYMBOL}_types")
        out.line()

    def _axes(self, index: int) -> list[int]:
        """The merged axes along which an operand moves, its own way."""
        return (
            [] if self._flat(index) else [axis for axis, stride in enumerate(self.space.strides[index]) if stride]
        )

    def _write_coordinates(self) -> None:
        used = {axis for index in range(len(self.loads)) for axis in self._axes(index)}
        rest = "at"
        for axis in range(len(self.space.extents) - 1, -1, -1):
            if not any(other <= axis for other in used):
                break
            extent = f"Index(p.extent{axis})"
            if axis in used:
                self.out.line(f"    Index c{axis} = {rest}{f' % {extent}' if axis else ''};")
            if any(other < axis for other in used):
                self.out.line(f"    Index above{axis} = {rest} / {extent};")
                rest = f"above{axis}"

    def _write_load(self, index: int, value: Value) -> None:
        out, element, mu = self.out, self.types[index], self.origins.call
        note = describe(value)
        row = self.space.strides[index]
        if self._flat(index):
            place = "at"
        else:
            place = " + ".join(f"c{axis} * p.t{index}_stride{axis}" for axis in self._axes(index)) or "0"
        if row[-1] == 1 or self.lanes == 1:
            out.line(
                f"    auto in{index} = *reinterpret_cast<Vector<{element}> const*>(t{index} + {place});", note, mu
            )
        else:
            out.line(f"    {element} in{index} = t{index}[{place}];", f"{note}, the same for all lanes", mu)

    def _lane(self, index: int) -> str:
        return f"in{index}.lane[i]" if self.space.strides[index][-1] == 1 or self.lanes == 1 else f"in{index}"

    def _write_computation(self) -> None:
        out, stage = self.out, self.stage
        if stage.op == "cast":
            converted = _convert(self.loads[0], self.types[0], self.result_type, self._lane(0))
            out.line(f"      result.lane[i] = {converted};")
            return
        names = {}
        for index, value in enumerate(self.loads):
            # The half types convert to float, but not to double.
            half = value.dtype in (DType.F16, DType.BF16) and self.scalar == "double"
            lane = f"float({self._lane(index)})" if half else self._lane(index)
            out.line(f"      {self.scalar} v{index} = {self.scalar}({lane});", value.name)
            names[value.name] = f"v{index}"
        for index, step in enumerate(stage.chain):
            expression = text(step.expr, names, self.scalar, stage.name)
            declared = f"{self.scalar} acc" if index == 0 else "acc"
            note = step.text if index == 0 else f">> {step.text}"
            out.line(f"      {declared} = {expression};", note, step.span.line)
        narrowed = "acc != 0" if stage.result.dtype is DType.BOOL else f"{self.result_type}(acc)"
        out.line(f"      result.lane[i] = {narrowed};")

    def _write_function(self) -> None:
        out = self.out
        out.line("", "Returns 0, or 3 where the launch failed.")
        for index, row in enumerate(self.arguments.signature()):
            note = self.arguments.values_note(self.stage.result.name) if index == 1 else ""
            out.line(row, note, self.origins.call if index == 1 else None)
        out.line(f"  using namespace {SYMBOL}_types;")
        out.line(f"  Sizes p{{{', '.join(self.arguments.sizes)}}};")
        tensors = "".join(f"static_cast<{t} const*>(t{i}), " for i, t in enumerate(self.types))
        out.lines("""
  int64_t blocks = (elements / Lanes + Threads - 1) / Threads;
  if (blocks == 0) { return 0; }
  // More blocks than any card holds at once; the loop takes what is left.
  unsigned grid = unsigned(blocks < 4096 ? blocks : 4096);""")
        out.line("  elementwise<<<grid, Threads, 0, static_cast<cudaStream_t>(stream)>>>(")
        out.line(f"      {tensors}static_cast<{self.result_type}*>(y), p);")
        out.lines("  static_cast<void>(workspace);\n  return cudaGetLastError() == cudaSuccess ? 0 : 3;\n}")


def _convert(value: Value, source: str, result: str, lane: str) -> str:
    """One element to another type as torch casts it: anything but zero is true, halves go through float."""
    plain = f"float({lane})" if value.dtype in (DType.F16, DType.BF16) else lane
    if result == "bool":
        return f"{plain} != {source if plain == lane else 'float'}(0)"
    if result in ("__half", "__nv_bfloat16"):
        return f"{result}(float({lane}))"
    return f"{result}({plain})"
