"""What the kernels of map, cast and relayout share: operands, run-time sizes, and the computation of one lane.

Numbers are computed in FP32, or in FP64 as soon as a 64-bit or 32-bit-integer tensor takes part in a map; cast and
relayout compute nothing. How a kernel goes over its elements is for ``elementwise`` and ``tiled``.
"""

from __future__ import annotations

from kernels.codegen.cuda import fp8
from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.codegen.cuda.expression import chain_loads, text
from kernels.codegen.cuda.frame import stage_code, write_entry, write_functions, write_head
from kernels.codegen.cuda.layout import CUDA_TYPES, describe, type_name
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.space import broadcast_strides, merge
from kernels.codegen.cuda.writer import SourceWriter
from kernels.codegen.emission import StageCode
from kernels.codegen.memory_order import in_memory_order
from kernels.dsl.ir import Stage, Value
from kernels.dsl.syntax import Assign
from kernels.dtypes import FP8, DType

_DOUBLE = {DType.F64, DType.I64, DType.I32}


class LaneCode:
    """One stage over the merged extents of its row-major result; it loads ``t0``, ``t1``, … and stores ``y``."""

    indent = "    "
    """That of the code which sees the coordinates of the first lane."""

    def __init__(self, stage: Stage, source: Assign | None) -> None:
        # A relayout is a copy of a permuted operand, where dimensions are named along the result's memory.
        self.stage = in_memory_order(stage) if stage.op == "relayout" else stage
        self.origins = Origins(stage, source)
        self.out = SourceWriter()
        self.arguments = Arguments()
        self.copies = stage.op in ("cast", "relayout")
        self.loads = (self.stage.operands[0],) if self.copies else chain_loads(stage.chain)
        where = f"a {stage.op}"
        self.types = [type_name(stage.name, value, CUDA_TYPES, where) for value in self.loads]
        self.result_type = type_name(stage.name, stage.result, CUDA_TYPES, where)
        shape = self.stage.result.shape
        self.space = merge(
            (*shape, 1),
            (*((*broadcast_strides(value, shape), 0) for value in self.loads), (*self.stage.result.strides, 0)),
        )
        self.threads = int(stage.knobs["threads"]) or 256
        if not 32 <= self.threads <= 1024 or self.threads % 32:
            legal = "a multiple of 32 up to 1024"
            raise KnobWithoutCode(stage=stage.name, knob="threads", found=self.threads, legal=legal)
        self.lanes = self.choose_lanes()
        self._declare_arguments()

    # What a kernel decides.

    def choose_lanes(self) -> int:
        """Elements of the result that a thread takes at once."""
        raise TypeError("each kernel chooses its own lanes")

    def vectorised(self, index: int) -> bool:
        """Whether the lanes of an operand come from one vector; else all are one element."""
        return self.space.strides[index][-1] == 1 or self.lanes == 1

    def lane(self, index: int) -> str:
        """The element of an operand for lane ``i``."""
        return f"in{index}.lane[i]" if self.vectorised(index) else f"in{index}"

    @property
    def sized_axes(self) -> range:
        """The merged axes whose extents the kernel is told."""
        return range(1, len(self.space.extents))

    # Text.

    def _declare_arguments(self) -> None:
        for index, value in enumerate(self.loads):
            self.arguments.pointer(f"t{index}", value.name)
        self.arguments.size("elements", self.stage.result.elements)
        for axis in self.sized_axes:
            self.arguments.size(f"extent{axis}", self.space.extents[axis])
        for index in range(len(self.loads)):
            for axis in self.axes(index):
                self.arguments.size(f"t{index}_stride{axis}", self.space.strides[index][axis])

    def flat(self, index: int) -> bool:
        """Whether the operand lies in memory exactly as the result does."""
        return self.space.strides[index] == self.space.strides[-1]

    def axes(self, index: int) -> list[int]:
        """The merged axes along which an operand moves, its own way."""
        return [] if self.flat(index) else [axis for axis, stride in enumerate(self.space.strides[index]) if stride]

    @property
    def scalar(self) -> str:
        """The type that a map computes in."""
        taking_part = [*self.loads, self.stage.result]
        return "double" if any(value.dtype in _DOUBLE for value in taking_part) else "float"

    @property
    def tensors(self) -> str:
        """The parameters of the kernel that are operands."""
        return "".join(f"{t} const* __restrict__ t{i}, " for i, t in enumerate(self.types))

    @property
    def given_tensors(self) -> str:
        """The arguments of a launch that are operands."""
        return "".join(f"static_cast<{t} const*>(t{i}), " for i, t in enumerate(self.types))

    def emit(self, *parts: str) -> StageCode:
        """The unit; ``parts`` are the methods that write its kernel, by name."""
        stage, out = self.stage, self.out
        head = " >> ".join(step.text for step in stage.chain)
        if self.copies:
            target = stage.result.dtype.value if stage.op == "cast" else stage.attributes["layout"]
            head = f"{stage.op}({stage.operands[0].name}, {target})"
        values = (*self.loads, stage.result)
        write_head(out, f"{stage.name} = {head}", self.origins, fp8.include(values))
        if stage.result.dtype in FP8:
            out.lines(fp8.definition(stage.result.dtype))
            out.line()
        write_functions(out, stage.chain)
        for part in parts:
            getattr(self, part)()
        return stage_code(out, stage, self.arguments)

    def write_threads_and_lanes(self) -> None:
        """The constants that come from the knobs, and the type of indices."""
        out, origins = self.out, self.origins
        small = self.stage.result.elements < 2**31
        out.line(f"constexpr int Threads = {self.threads};", origins.note("threads"), origins.knob("threads"))
        out.line(f"constexpr int Lanes = {self.lanes};", origins.note("vector"), origins.knob("vector"))
        out.line(f"using Index = {'uint32_t' if small else 'uint64_t'};", "" if small else "2^31 elements or more")

    def write_load(self, index: int, value: Value) -> None:
        """``in0``: the vector or the single element of an operand at ``at`` and the coordinates ``c0``, ``c1``, …"""
        out, element, mu = self.out, self.types[index], self.origins.call
        note = describe(value)
        if self.flat(index):
            place = "at"
        else:
            place = " + ".join(f"c{axis} * p.t{index}_stride{axis}" for axis in self.axes(index)) or "0"
        if self.vectorised(index):
            vector = f"*reinterpret_cast<Vector<{element}> const*>(t{index} + {place})"
            out.line(f"{self.indent}auto in{index} = {vector};", note, mu)
        else:
            one = f"{self.indent}{element} in{index} = t{index}[{place}];"
            out.line(one, f"{note}, the same for all lanes", mu)

    def write_computation(self) -> None:
        """From the lanes of the operands to ``result.lane[i]``."""
        out, stage, indent = self.out, self.stage, f"{self.indent}  "
        if self.copies:
            converted = _convert(self.loads[0], self.types[0], self.result_type, self.lane(0))
            out.line(f"{indent}result.lane[i] = {converted};")
            return
        names = {}
        for index, value in enumerate(self.loads):
            # The narrow types convert to float, but not all to double.
            half = value.dtype in (DType.F16, DType.BF16, *FP8) and self.scalar == "double"
            lane = f"float({self.lane(index)})" if half else self.lane(index)
            out.line(f"{indent}{self.scalar} v{index} = {self.scalar}({lane});", value.name)
            names[value.name] = f"v{index}"
        for index, step in enumerate(stage.chain):
            expression = text(step.expr, names, self.scalar, stage.name)
            declared = f"{self.scalar} acc" if index == 0 else "acc"
            note = step.text if index == 0 else f">> {step.text}"
            out.line(f"{indent}{declared} = {expression};", note, step.span.line)
        made = "to_f8" if stage.result.dtype in FP8 else self.result_type
        narrowed = "acc != 0" if stage.result.dtype is DType.BOOL else f"{made}(acc)"
        out.line(f"{indent}result.lane[i] = {narrowed};")

    def write_entry(self) -> None:
        """The head of the C function."""
        write_entry(self.out, self.arguments, self.origins, self.stage.result.name)


def _convert(value: Value, source: str, result: str, lane: str) -> str:
    """One element to another type as torch casts it: anything but zero is true, halves go through float."""
    if source == result:
        return lane
    plain = f"float({lane})" if value.dtype in (DType.F16, DType.BF16, *FP8) else lane
    if result == "bool":
        return f"{plain} != {source if plain == lane else 'float'}(0)"
    if result in ("__half", "__nv_bfloat16"):
        return f"{result}(float({lane}))"
    if result.startswith("__nv_fp8"):
        return f"to_f8(float({lane}))"
    return f"{result}({plain})"
