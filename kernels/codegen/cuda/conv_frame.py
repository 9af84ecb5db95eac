"""What the plain CUDA convolutions share: their arguments, the geometry of one spatial dimension, and the chain.

A transposed convolution is cut into phases. Output o takes input (o + padding - t·dilation) / stride for each tap t of
the kernel where that division leaves nothing, so the outputs with one (o + padding) % stride share their taps, and are
by themselves a plain convolution with a stride of 1: nothing is multiplied by a zero that was put in between.
"""

from __future__ import annotations

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.expression import chain_loads, text
from kernels.codegen.cuda.frame import write_functions, write_head, write_signature
from kernels.codegen.cuda.layout import CUDA_TYPES, type_name
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.writer import SYMBOL, SourceWriter
from kernels.dsl.ir import Stage, Value
from kernels.dsl.syntax import Assign

_SMALL = 2**30
"""Elements a tensor has at most where places are counted in 32 bits: sums of places stay below 2^31."""

_AXIS = """
// One spatial dimension as the outputs of a phase see it: output i is element first_out + i * step_out of the result,
// tap j is first_tap + j * step_tap of the kernel, and both meet in element first_in + i * step_in + j * reach of x.
struct Axis {
  int outputs, first_out, step_out, taps, first_tap, step_tap, first_in, step_in, reach;
};
"""
_FORWARD = """
__device__ inline Axis axis_of(Sizes const& p, int a, int) {
  return {int(p.output[a]), 0, 1, int(p.kernel[a]), 0, 1, -int(p.padding[a]), int(p.stride[a]), int(p.dilation[a])};
}
"""
_TRANSPOSED = """
__device__ inline Axis axis_of(Sizes const& p, int a, int phase) {
  int stride = int(p.stride[a]), padding = int(p.padding[a]), dilation = int(p.dilation[a]);
  int first_out = (phase + stride - padding % stride) % stride, first_tap = 0, step_tap = 1;
  while (first_tap < stride && (phase - first_tap * dilation) % stride != 0) { ++first_tap; }
  while (step_tap * dilation % stride != 0) { ++step_tap; }
  bool some = first_tap < stride && first_tap < p.kernel[a];
  int outputs = first_out < p.output[a] ? (int(p.output[a]) - first_out - 1) / stride + 1 : 0;
  int taps = some ? (int(p.kernel[a]) - first_tap - 1) / step_tap + 1 : 0;
  int first_in = (first_out + padding - first_tap * dilation) / stride;
  return {outputs, first_out, stride, taps, first_tap, step_tap, first_in, 1, -(step_tap * dilation / stride)};
}
"""
_BY_AXIS = ("input", "kernel", "output", "stride", "padding", "dilation")


class ConvFrame:
    """The arguments of one stage's function and the parts of its unit that do not depend on the kernel."""

    def __init__(self, stage: Stage, source: Assign | None) -> None:
        self.stage = stage
        self.origins = Origins(stage, source)
        self.out = SourceWriter()
        self.arguments = Arguments()
        self.dims = int(stage.attributes["dims"])
        self.transposed = stage.attributes["kind"] == "conv_transpose"
        self.loads = chain_loads(stage.chain)
        self.types = [type_name(stage.name, value, CUDA_TYPES, "a fused link") for value in self.loads]
        where = "a convolution"
        self.element = type_name(stage.name, stage.operands[0], CUDA_TYPES, where)
        self.result = type_name(stage.name, stage.result, CUDA_TYPES, where)
        self._fields: list[str] = []
        self._declare_arguments()

    @property
    def channels_inner(self) -> bool:
        """Whether the channels of x lie side by side, and are read so."""
        x = self.stage.operands[0]
        return x.strides[1] == 1 and x.shape[1] > 1

    @property
    def filters_inner(self) -> bool:
        """Whether the channels of the result lie side by side."""
        y = self.stage.result
        return y.strides[1] == 1 and y.shape[1] > 1

    def _declare_arguments(self) -> None:
        stage = self.stage
        x, w = stage.operands[:2]
        for parameter, value in zip("xw", (x, w), strict=True):
            self.arguments.pointer(parameter, value.name)
        for index, value in enumerate(self.loads):
            self.arguments.pointer(f"t{index}", value.name)
        attributes = stage.attributes
        for name in ("batch", "channels", "filters", "groups"):
            self.size(name, attributes[name])
        for name in _BY_AXIS:
            self._sizes(name, tuple(attributes[name]))
        filters, channels = (1, 0) if self.transposed else (0, 1)
        # A group has its own rows of w: those of its channels where it is transposed, else those of its filters.
        shares = attributes["channels" if self.transposed else "filters"] // attributes["groups"]
        self.size("w_group", shares * w.strides[0])
        self.size("w_filter", w.strides[filters])
        self.size("w_channel", w.strides[channels])
        self._sizes("w_tap", w.strides[2:])
        named = [("x", x), ("y", stage.result), *((f"t{i}", value) for i, value in enumerate(self.loads))]
        for name, value in named:
            self.size(f"{name}_batch", value.strides[0])
            self.size(f"{name}_channel", value.strides[1])
            self._sizes(f"{name}_step", value.strides[2:])

    def size(self, name: str, size: int) -> None:
        """One more number of ``Sizes``, before it is written."""
        self._fields.append(f"int64_t {name};")
        self.arguments.size(name, size)

    def _sizes(self, name: str, sizes: tuple[int, ...]) -> None:
        self._fields.append(f"int64_t {name}[Dims];")
        for axis, size in enumerate(sizes):
            self.arguments.size(f"{name}{axis}", size)

    def write_head(self, how: str) -> None:
        """Includes, the chain's functions, and the opened namespace."""
        stage = self.stage
        chain = "".join(f" >> {step.text}" for step in stage.chain)
        names = ", ".join(value.name for value in stage.operands[:2])
        remark = f"{stage.name} = {stage.attributes['kind']}{self.dims}d({names}){chain}, {how}"
        write_head(self.out, remark, self.origins)
        write_functions(self.out, stage.chain)

    def write_geometry(self) -> None:
        """``Dims``, ``Index``, ``Sizes`` and what one spatial dimension looks like to a phase."""
        out = self.out
        values = (*self.stage.operands[:2], self.stage.result, *self.loads)
        small = all(_reach(value) < _SMALL for value in values)
        out.line(f"constexpr int Dims = {self.dims};")
        out.line(f"using Index = {'int32_t' if small else 'int64_t'};", "" if small else "2^30 elements or more")
        out.line("struct Sizes {")
        for field in self._fields:
            out.line(f"  {field}")
        out.line("};")
        out.lines(_AXIS)
        out.lines(_TRANSPOSED if self.transposed else _FORWARD)
        out.line()

    def write_store(self, indent: str) -> None:
        """From ``acc``, ``image``, ``filter`` and ``at[Dims]`` to the element of the result, through the chain."""
        out, stage = self.out, self.stage
        names = {}
        for index, value in enumerate(self.loads):
            out.line(f"{indent}float v{index} = float(t{index}[{self._place(f't{index}')}]);", value.name)
            names[value.name] = f"v{index}"
        for step in stage.chain:
            expression = text(step.expr, names, "float", stage.name)
            out.line(f"{indent}acc = {expression};", f">> {step.text}", step.span.line)
        note, mu = self.origins.note("out"), self.origins.knob("out")
        out.line(f"{indent}Index place = {self._place('y')};")
        out.line(f"{indent}y[place] = {self.result}(acc);", note, mu)

    def _place(self, name: str) -> str:
        parts = [f"image * Index(p.{name}_batch)", f"filter * Index(p.{name}_channel)"]
        parts += [f"at[{axis}] * Index(p.{name}_step[{axis}])" for axis in range(self.dims)]
        return " + ".join(parts)

    @property
    def parameters(self) -> str:
        """The kernel's tensors."""
        tensors = "".join(f"{t} const* __restrict__ t{i}, " for i, t in enumerate(self.types))
        inputs = "".join(f"{self.element} const* __restrict__ {name}, " for name in "xw")
        return f"{inputs}{tensors}{self.result}* __restrict__ y, Sizes p"

    @property
    def call(self) -> str:
        """What a launch passes for ``parameters``."""
        inputs = "".join(f"static_cast<{self.element} const*>({name}), " for name in "xw")
        tensors = "".join(f"static_cast<{t} const*>(t{i}), " for i, t in enumerate(self.types))
        return f"{inputs}{tensors}static_cast<{self.result}*>(y), p"

    def write_function_head(self) -> None:
        """The function's head and ``Sizes p``."""
        out = self.out
        out.line(f"}}  // namespace {SYMBOL}_types")
        out.line()
        out.line("", "Returns 0, 2 where the problem is too large for a grid, or 3 where the launch failed.")
        write_signature(out, self.arguments, self.origins, self.stage.result.name)
        names = list(self.arguments.sizes)
        out.line("  Sizes p{")
        for start in range(0, len(names), 8):
            out.line(f"      {', '.join(names[start : start + 8])},")
        out.line("  };")


def _reach(value: Value) -> int:
    """How far its elements lie apart at most."""
    return sum((extent - 1) * stride for extent, stride in zip(value.shape, value.strides, strict=True))
