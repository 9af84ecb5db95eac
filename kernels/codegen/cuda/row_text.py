"""What the kernels of row stages have in common: sizes, where rows and their elements lie, states, operands, chain.

Which threads read what is said in ``rows`` (rows in pieces) and ``row_lanes`` (rows side by side).
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.expression import chain_loads, functions, number, text
from kernels.codegen.cuda.frame import EARLY, WAIT, stage_code, write_signature
from kernels.codegen.cuda.functions import definitions
from kernels.codegen.cuda.layout import CUDA_TYPES, describe, type_name
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.row_inputs import RowInputs
from kernels.codegen.cuda.row_schedule import space_of
from kernels.codegen.cuda.row_states import KINDS
from kernels.codegen.cuda.writer import SYMBOL, SourceWriter
from kernels.codegen.emission import StageCode
from kernels.codegen.row_space import Group, affine_operands, row_space
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType

_ROW_TYPES = {dtype: CUDA_TYPES[dtype] for dtype in (DType.F32, DType.F16, DType.BF16)}
_RESULT_TYPES = _ROW_TYPES | {DType.I64: CUDA_TYPES[DType.I64]}

_VECTOR = """
template <class T>
struct alignas(sizeof(T) * Lanes < 16 ? sizeof(T) * Lanes : 16) Vector {
  T lane[Lanes];
};
template <class T>
__device__ __forceinline__ Vector<T> load(T const* from) {
  return *reinterpret_cast<Vector<T> const*>(from);
}
template <class T>
__device__ __forceinline__ void store(T* to, Vector<T> const& value) {
  *reinterpret_cast<Vector<T>*>(to) = value;
}
struct Sizes {"""


class RowText:
    """One stage's text under way; ``lanes`` are the elements that a thread takes at once."""

    def __init__(self, stage: Stage, source: Assign | None, lanes: int, splits: int, *, early: bool) -> None:
        self.stage = stage
        # Whether a second kernel is set up while the first one ends, which Hopper can do.
        self.early = early and splits > 1
        self.origins = Origins(stage, source)
        self.out = SourceWriter()
        self.arguments = Arguments()
        self.kind = KINDS[stage.attributes["kind"]]
        self.reduces = stage.op == "reduce"
        self.lanes, self.splits = lanes, splits
        self.affine = affine_operands(stage)
        self.loads = (*self.affine, *chain_loads(stage.chain))
        where = f"a {stage.op}"
        self.element = type_name(stage.name, stage.operands[0], _ROW_TYPES, where)
        self.result = type_name(stage.name, stage.result, _RESULT_TYPES, where)
        self.types = [type_name(stage.name, value, CUDA_TYPES, where) for value in self.loads]
        # How x lies, and the same cut finer, so that every operand steps evenly too.
        self.plain, self.space = row_space(stage), space_of(stage)
        self.inputs = RowInputs(stage, lanes) if stage.attributes["prologue"] else None
        # What rows are read from, as a type, as a kernel's parameter and as a launch's argument; what a read gives.
        self.rows_type, self.x, self.given_x, self.read = (
            ("Inputs", "Inputs x", "inputs", "float")
            if self.inputs
            else ("Element const*", "Element const* __restrict__ x", "static_cast<Element const*>(x)", "Element")
        )
        self._declare_arguments()

    def write_wait(self) -> None:
        """The first line of a kernel that follows another of the same stage."""
        if self.early:
            self.out.line(WAIT)

    def write_first_launch(self, kernel: str, grid: str, block: str, arguments: str) -> None:
        """The launch that others of this stage follow."""
        self.out.line(f"  {kernel}<<<{grid}, {block}, 0, on>>>({arguments});")
        if self.early:
            self.out.lines(EARLY)

    def write_next_launch(self, kernel: str, grid: str, block: str, arguments: str) -> None:
        """A launch that reads what the one before it wrote; set up early where the target can."""
        if not self.early:
            self.out.line(f"  {kernel}<<<{grid}, {block}, 0, on>>>(")
            self.out.line(f"      {arguments});")
            return
        self.out.line(f"  how.gridDim = {grid};")
        self.out.line(f"  how.blockDim = {block};")
        self.out.line(f"  cudaLaunchKernelEx(&how, {kernel},")
        self.out.line(f"      {arguments});")

    def _declare_arguments(self) -> None:
        arguments, attributes = self.arguments, self.stage.attributes
        if self.inputs:
            self.inputs.declare(arguments)
        else:
            arguments.pointer("x", self.stage.operands[0].name)
        for index, value in enumerate(self.loads):
            arguments.pointer(f"t{index}", value.name)
        arguments.size("rows", attributes["rows"])
        arguments.size("columns", attributes["columns"])
        if self.splits > 1:
            arguments.size("splits", self.splits)
        if not self._side_by_side():
            self._declare_groups("kept", self.plain.kept)
        self._declare_groups("part", self.plain.reduced)
        for prefix, groups in (("extent", self.space.kept), ("along", self.space.reduced)):
            for axis, group in enumerate(groups[1:], start=1):
                if self._moving(groups):
                    arguments.size(f"{prefix}{axis}", group.extent)
        names = [f"t{index}" for index in range(len(self.loads))] + ["y"] * self.reduces
        for index, name in enumerate(names):
            if self.flat(index) or (name == "y" and self.dense_result):
                continue
            for axis, group in enumerate(self.space.kept):
                if group.steps[index]:
                    arguments.size(f"{name}_stride{axis}", group.steps[index])
            for axis, group in enumerate(self.space.reduced):
                if group.steps[index] > (axis == len(self.space.reduced) - 1):
                    arguments.size(f"{name}_along{axis}", group.steps[index])

    def _side_by_side(self) -> bool:
        """Whether one row follows the other, so that row r begins at r times the columns."""
        kept = self.plain.kept
        return not kept or (len(kept) == 1 and kept[0].step == self.stage.attributes["columns"])

    def _declare_groups(self, prefix: str, groups: Sequence[Group]) -> None:
        for axis, group in enumerate(groups):
            if axis:
                self.arguments.size(f"{prefix}{axis}", group.extent)
            if group.step != 1:
                self.arguments.size(f"{prefix}{axis}_step", group.step)

    # Operands.

    def flat(self, index: int) -> bool:
        """Whether an operand is read where x is."""
        return not self.reduces and self.space.flat(index)

    @property
    def dense_result(self) -> bool:
        """Whether a reduction's rows are numbered as its result lies in memory."""
        place = 1
        for group in reversed(self.space.kept):
            if group.steps[len(self.loads)] != place:
                return False
            place *= group.extent
        return True

    def _moving(self, groups: Sequence[Group]) -> list[int]:
        """The operands, y last, that move over ``groups`` and are not read where x is."""
        count = len(self.loads) + self.reduces
        return [
            index
            for index in range(count)
            if not self.flat(index)
            and not (index == len(self.loads) and self.dense_result)
            and any(group.steps[index] for group in groups)
        ]

    def aligned(self, index: int, moving: Group | None) -> bool:
        """Whether ``lanes`` elements of an operand along ``moving`` lie side by side and begin at a vector's start."""
        offset = self.loads[index].offset if index < len(self.loads) else 0
        groups = (*self.space.kept, *self.space.reduced)
        others = [group.steps[index] for group in groups if group is not moving]
        step = moving.steps[index] if moving else 0
        return step == 1 and not any(place % self.lanes for place in (offset, *others))

    # Parts of the unit.

    def write_head(self) -> None:
        """What the stage is, the includes, and the functions of the chain."""
        stage, out = self.stage, self.out
        chain = "".join(f" >> {step.text}" for step in stage.chain)
        prologue = stage.attributes["prologue"]
        first = prologue.text if prologue else stage.operands[0].name
        names = ", ".join((first, *(value.name for value in self.affine)))
        kind = stage.attributes["kind"]
        call = f"reduce({names}, {kind})" if self.reduces else f"{kind}({names})"
        axes = ", ".join(map(str, stage.attributes["axes"]))
        out.line("", f"{stage.name} = {call} along ({axes}){chain}", self.origins.call)
        out.lines("#include <cmath>\n#include <cstdint>\n\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n")
        out.line()
        out.line(f"namespace {SYMBOL}_types {{")
        called: set[str] = set().union(*(functions(step.expr) for step in stage.chain))
        called |= functions(prologue.expr) if prologue else set()
        body = definitions(called)
        if body:
            out.lines(body)
            out.line()

    def write_types(self) -> None:
        """Element, vector, sizes, and the functions that say where rows and elements lie."""
        out = self.out
        if self.stage.op == "norm":
            eps = float(self.stage.attributes["eps"])
            out.line(f"constexpr float Eps = {number(eps, 'float')};", "", self.origins.call)
        out.line(f"using Element = {self.element};", self.stage.operands[0].name, self.origins.operand(0))
        small = max(self.stage.attributes["rows"], self.stage.attributes["columns"]) < 2**31
        groups = (self.plain.kept, self.plain.reduced, self.space.kept, self.space.reduced)
        if any(len(each) > 1 for each in groups):
            out.line(f"using Index = {'uint32_t' if small else 'uint64_t'};", "of a row, or of an element in one")
        out.lines(_VECTOR)
        for name in self.arguments.sizes:
            out.line(f"  int64_t {name};")
        out.lines("};\n// Where row r of x begins, and where element c of a row lies from there.")
        if self._side_by_side():
            step = "r * p.columns" if self.plain.kept else "0"
            out.line(
                f"__device__ __forceinline__ int64_t row_start(Sizes const& p, int64_t r) {{ return {step}; }}"
            )
        else:
            self._write_place("row_start", "r", "kept", self.plain.kept)
        self._write_place("column_start", "c", "part", self.plain.reduced)
        if self.inputs:
            self.inputs.write(out)
        out.line()

    def _write_place(self, name: str, index: str, prefix: str, groups: Sequence[Group]) -> None:
        out, rest = self.out, index
        out.line(f"__device__ __forceinline__ int64_t {name}(Sizes const& p, int64_t {index}) {{")
        terms = []
        for axis in range(len(groups) - 1, 0, -1):
            out.line(f"  Index i{axis} = Index({rest}) % Index(p.{prefix}{axis});")
            out.line(f"  Index above{axis} = Index({rest}) / Index(p.{prefix}{axis});")
            terms.append(_times(f"int64_t(i{axis})", groups[axis].step, f"p.{prefix}{axis}_step"))
            rest = f"above{axis}"
        if groups:
            terms.append(_times(f"int64_t({rest})" if terms else rest, groups[0].step, f"p.{prefix}0_step"))
        out.line(f"  return {' + '.join(terms) or '0'};")
        out.line("}")

    def write_state(self) -> None:
        """``struct State``."""
        self.out.lines(self.kind.definitions())
        self.out.line()

    def of(self, count: str, element: str, place: str) -> str:
        """The state of ``count`` elements; ``element`` and ``place`` are said in terms of ``k``."""
        places = f", [&](int k) {{ return int64_t({place}); }}" if self.kind.state.places else ""
        return f"State::of<{count}>([&](int k) {{ return float({element}); }}{places})"

    # Inside the kernels.

    def write_row_places(self) -> None:
        """Where each operand's row ``r`` begins: ``row0`` and so on, ``row_y`` for a reduction's result."""
        self._coordinates("c", "r", "extent", self.space.kept)
        for index in self._indices():
            if not self.flat(index):
                name = self._name(index)
                place = self._sum(index, "c", f"{name}_stride", self.space.kept)
                note = describe(self.loads[index]) if index < len(self.loads) else self.stage.result.name
                self.out.line(f"  int64_t row_{name} = {place};", note)

    def write_column_places(self, column: str, indent: str) -> None:
        """``moved_t0`` and so on: how far each operand's element ``column`` lies from its row's start."""
        self._coordinates("d", column, "along", self.space.reduced, indent)
        for index in range(len(self.loads)):
            if not self.flat(index) and not self.space.constant(index):
                place = self._sum(index, "d", f"t{index}_along", self.space.reduced)
                self.out.line(f"{indent}int64_t moved_t{index} = {place};")

    def _indices(self) -> range:
        return range(len(self.loads) + (self.reduces and not self.dense_result))

    def _name(self, index: int) -> str:
        return f"t{index}" if index < len(self.loads) else "y"

    def _coordinates(
        self, letter: str, index: str, prefix: str, groups: Sequence[Group], indent: str = "  "
    ) -> None:
        readers = [each for each in self._indices() if not self.flat(each)]
        used = {axis for axis, group in enumerate(groups) if any(group.steps[each] for each in readers)}
        rest = index
        for axis in range(len(groups) - 1, -1, -1):
            if not any(other <= axis for other in used):
                return
            if axis in used:
                part = f"Index({rest}) % Index(p.{prefix}{axis})" if axis else rest
                self.out.line(f"{indent}int64_t {letter}{axis} = {part};")
            if any(other < axis for other in used):
                self.out.line(f"{indent}int64_t {letter}_above{axis} = Index({rest}) / Index(p.{prefix}{axis});")
                rest = f"{letter}_above{axis}"

    def _sum(self, index: int, letter: str, size: str, groups: Sequence[Group]) -> str:
        terms = []
        for axis, group in enumerate(groups):
            if group.steps[index]:
                plain = f"p.{size}{axis}" not in {f"p.{name}" for name in self.arguments.sizes}
                terms.append(f"{letter}{axis}" if plain else f"{letter}{axis} * p.{size}{axis}")
        return " + ".join(terms) or "0"

    def write_kind(self, indent: str, element: str = "") -> None:
        """``acc``: what the row's numbers make of ``x`` (``element``), then weight and bias, then the chain."""
        out = self.out
        out.line(
            f"{indent}float acc = {element or self.kind.element};", self.stage.attributes["kind"], self.origins.call
        )
        for index, operation in zip(range(len(self.affine)), "*+", strict=False):
            mu = self.origins.operand(index + 1)
            out.line(f"{indent}acc = acc {operation} v{index};", ("weight", "bias")[index], mu)
        names = {value.name: f"v{index}" for index, value in enumerate(self.loads)}
        for step in self.stage.chain:
            expression = text(step.expr, names, "float", self.stage.name)
            out.line(f"{indent}acc = {expression};", f">> {step.text}", step.span.line)

    def tensors(self) -> str:
        """The chain's and the norm's tensors as a kernel's parameters."""
        return "".join(f"{t} const* __restrict__ t{i}, " for i, t in enumerate(self.types))

    def given_tensors(self) -> str:
        """The same as a launch's arguments."""
        return "".join(f"static_cast<{t} const*>(t{i}), " for i, t in enumerate(self.types))

    def write_signature(self) -> None:
        """The head of the unit's function."""
        out = self.out
        out.line("", "Returns 0, 2 where rows are too many for a grid, or 3 where a launch failed.")
        write_signature(out, self.arguments, self.origins, self.stage.result.name)
        out.line(f"  Sizes p{{{', '.join(self.arguments.sizes)}}};")
        if self.inputs:
            out.line(f"  Inputs inputs{{{self.inputs.given()}}};")

    def code(self, states: int) -> StageCode:
        """The finished unit; ``states`` have to fit the workspace."""
        return stage_code(self.out, self.stage, self.arguments, states * self.kind.state.bytes)


def _times(index: str, step: int, size: str) -> str:
    return index if step == 1 else f"{index} * {size}"
