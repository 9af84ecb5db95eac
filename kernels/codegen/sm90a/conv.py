"""conv on the tensor cores: CUTLASS's im2col loads under its persistent GEMM kernels, chain fused as in gemm.

A convolution is the product of x, whose rows are the pixels of the result, and w, whose columns are the filters; its
depth is (channels, taps). TMA's im2col mode reads the rows from x where it lies, channels innermost. CUTLASS 4.2 has
that load for sm_90 as a collective (``CollectiveConv``) with one non-persistent schedule of its own. Here the
collective is put under the kernels that gemm uses (cooperative, pingpong, stream-K), with the same epilogues: the
result, channels innermost too, is a row-major matrix [pixels, filters]. Where few channels would leave most of a step
of the depth empty, the taps of the last dimension are read as channels of one tap (``conv_product.joined_taps``): what
is called ``channels``, ``kernel`` and ``input`` in the code is then what the loads see.

A transposed convolution with a stride of 1 is a convolution with its weight's taps reversed, which a copy does. It
takes no groups and no transposed strides: those are ``cuda.conv_simt``'s.
"""

from __future__ import annotations

from dataclasses import replace

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.errors import LinkHasNoRows
from kernels.codegen.cuda.frame import write_signature
from kernels.codegen.cuda.layout import CUTLASS_TYPES, TMA_BYTES, describe, require_tma, type_name
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.writer import SYMBOL, SourceWriter
from kernels.codegen.emission import StageCode
from kernels.codegen.sm90a.conv_copy import COPY_KERNEL, ChannelsCopy, block_channels
from kernels.codegen.sm90a.gemm import ACCUMULATORS, INCLUDES, GemmEmitter, shape_text
from kernels.codegen.sm90a.gemm import schedule as schedule_of
from kernels.codegen.sm90a.orientation import Orientation
from kernels.codegen.sm90a.scheduling import write_hardware, write_multiprocessors, write_scheduling
from kernels.codegen.sm90a.visitor import VisitorTree
from kernels.dsl.conv_product import as_product, copied, depth_channels, joined_taps, plain_window
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType

_CONV_INCLUDES = """
#include "cutlass/conv/collective/collective_builder.hpp"
#include "cutlass/conv/convnd_problem_shape.hpp"
"""
_TAGS = {1: "TensorNWC", 2: "TensorNHWC", 3: "TensorNDHWC"}
_BY_AXIS = ("input", "kernel", "stride", "padding", "behind", "dilation")

_MAINLOOP = """
// Im2col's loads as a GEMM kernel asks for them: the convolution's geometry comes with the operands, and the problem is
// (pixels, filters, (channels, taps), 1).
struct Mainloop : Im2col {
  using StrideA = Stride<int64_t, _1, int64_t>;
  using StrideB = Stride<int64_t, _1, int64_t>;
  using Geometry = typename Im2col::ProblemShape;
  static constexpr uint32_t NumProducerThreadEvents = 1;
  struct Arguments {
    Geometry geometry{};
    typename Im2col::Arguments operands{};
  };
  template <class Problem>
  static typename Im2col::Params to_underlying_arguments(Problem const&, Arguments const& arguments, void* workspace) {
    return Im2col::to_underlying_arguments(arguments.geometry, arguments.operands, workspace);
  }
  template <class Problem>
  static bool can_implement(Problem const&, Arguments const& arguments) {
    return Im2col::can_implement(arguments.geometry, arguments.operands);
  }
  // The kernel takes the number of batches from b's fifth mode: there is one.
  template <class Problem>
  CUTLASS_DEVICE auto load_init(Problem const& problem, typename Im2col::Params const& params) {
    auto [a, b] = Im2col::load_init(problem, params);
    return make_tuple(a, make_tensor(b.data(), append<5>(b.layout(), Layout<_1, _0>{})), b);
  }
  template <class Inputs, class... Rest>
  CUTLASS_DEVICE void load(typename Im2col::Params const& params, typename Im2col::MainloopPipeline pipeline,
                           typename Im2col::PipelineState state, Inputs const& inputs, Rest&&... rest) {
    Im2col::load(params, pipeline, state, make_tuple(get<0>(inputs), get<2>(inputs)), rest...);
  }
  // One number for a whole warp group, so that addresses of shared memory are the same in all its threads.
  template <class Sums, class... Rest>
  CUTLASS_DEVICE void mma(typename Im2col::MainloopPipeline pipeline, typename Im2col::PipelineState state, Sums& sums,
                          int count, int thread, Rest&&... rest) {
    int group = __shfl_sync(0xffffffff, thread / cutlass::NumThreadsPerWarpGroup, 0);
    Im2col::mma(pipeline, state, sums, count, group * cutlass::NumThreadsPerWarpGroup, rest...);
  }
};
"""


class ConvEmitter(GemmEmitter):
    """Writes one unit. ``stage`` is the convolution as a product: its result and loads are [pixels, filters]."""

    def __init__(self, stage: Stage, source: Assign | None) -> None:
        self.conv = stage
        self.stage = _product(stage)
        self.origins = Origins(stage, source)
        self.out = SourceWriter()
        self.arguments = Arguments()
        self.batched = False
        self.schedule = schedule_of(stage)
        self.orientation = Orientation(transposed=False)
        self.dims = int(stage.attributes["dims"])
        self.transposed = stage.attributes["kind"] == "conv_transpose"
        x, w = stage.operands[:2]
        word = str(stage.attributes["math"])
        self.copy_width = depth_channels(stage.attributes, word, x)
        self.joined = joined_taps(stage.attributes, word, x, w)
        self.channel_copies = self._plan_channel_copies()
        self._check_loads()
        self._declare_arguments()
        self.tree = VisitorTree(self.stage, self.arguments, False, self.orientation)
        self.workspace_bytes = self._plan_workspace()

    def _plan_channel_copies(self) -> tuple[ChannelsCopy | None, ChannelsCopy | None]:
        x, w = self.conv.operands[:2]
        word = str(self.conv.attributes["math"])
        narrow = DType(word) if copied(word, x) else None
        first = ChannelsCopy(x, "a", narrow, 0) if narrow else None
        start = first.end if first else 0
        if narrow or self.transposed:
            return first, ChannelsCopy(w, "b", narrow or w.dtype, start, turned=self.transposed)
        return first, None

    def _check_loads(self) -> None:
        for value, copy in zip(self.conv.operands, self.channel_copies, strict=False):
            if copy is None:
                pitches = [
                    stride for axis, stride in enumerate(value.strides) if axis != 1 and value.shape[axis] > 1
                ]
                require_tma(self.stage.name, value, value.shape[1], tuple(pitches))
        require_tma(self.stage.name, self.stage.result, self.stage.result.shape[-1], ())

    def _declare_arguments(self) -> None:
        arguments, attributes = self.arguments, self.conv.attributes
        for parameter, value in zip("ab", self.conv.operands, strict=False):
            arguments.pointer(parameter, value.name)
        arguments.size("m", self.stage.result.shape[0])
        arguments.size("n", self.stage.result.shape[1])
        arguments.size("batch", attributes["batch"])
        arguments.size("channels", self.copy_width * self.joined)
        geometry = self._geometry()
        for name in _BY_AXIS:
            for axis, size in enumerate(geometry[name]):
                arguments.size(f"{name}{axis}", size)
        if self.joined > 1 and any(self.channel_copies):
            arguments.size("joined", self.joined)
            arguments.size("lanes", self.copy_width)
        for parameter, value, copy in zip("ab", self.conv.operands, self.channel_copies, strict=False):
            if copy is not None:
                copy.declare(arguments)
                continue
            for name, stride in zip(self._step_names(parameter), _steps(value.shape, value.strides), strict=True):
                arguments.size(name, stride)

    def _geometry(self) -> dict[str, tuple[int, ...]]:
        """By name of the spatial numbers; a transposed convolution's are those of the plain one that it is."""
        window, attributes = plain_window(self.conv.attributes), self.conv.attributes
        *extents, extent = attributes["input"]
        *taps, last = attributes["kernel"]
        return {
            "input": (*extents, extent - self.joined + 1),
            "kernel": (*taps, last // self.joined),
            "stride": window.stride,
            "padding": window.padding,
            "behind": window.behind,
            "dilation": window.dilation,
        }

    def _copy_extents(self, name: str) -> list[str]:
        """The spatial sizes of what is copied, which taps read as channels are not taken from."""
        found = [f"{name}{axis}" for axis in range(self.dims)]
        if self.joined > 1:
            found[-1] = f"({found[-1]} + joined - 1)" if name == "input" else "joined"
        return found

    @property
    def _copy_channels(self) -> str:
        return "lanes" if self.joined > 1 else "channels"

    def _step_names(self, parameter: str) -> list[str]:
        return [f"outer_{parameter}", *(f"step_{parameter}{axis}" for axis in range(self.dims))]

    def _plan_workspace(self) -> int:
        return self._plan_scratch(max((copy.end for copy in self.channel_copies if copy), default=0))

    # Types.

    def _write_head(self) -> None:
        stage, out = self.conv, self.out
        chain = "".join(f" >> {step.text}" for step in stage.chain)
        names = ", ".join(value.name for value in stage.operands[:2])
        out.line(
            "", f"{stage.name} = {stage.attributes['kind']}{self.dims}d({names}){chain}, sm_90a", self.origins.call
        )
        out.lines(INCLUDES)
        # These two need what the others include, and do not include it themselves.
        out.lines(_CONV_INCLUDES)
        out.line()
        out.line(f"namespace {SYMBOL}_types {{")
        out.lines("using namespace cute;\nnamespace fusion = cutlass::epilogue::fusion;\n")
        out.line("constexpr auto Round = cutlass::FloatRoundStyle::round_to_nearest;")
        out.line(f"constexpr int Dims = {self.dims};")
        out.line("constexpr auto Forward = cutlass::conv::Operator::kFprop;")
        out.line()

    def _write_types(self) -> None:
        knobs, out, origins = self.stage.knobs, self.out, self.origins
        tile, cluster = list(knobs["tile"]), list(knobs["cluster"])
        # K is a mode of its own, as it is cut along the channels of one tap.
        text = f"{shape_text(tile[:2])}, Shape<{shape_text(tile[2:])}>"
        out.line(f"using Tile = Shape<{text}>;", origins.note("tile"), origins.knob("tile"))
        note, mu = origins.note("cluster"), origins.knob("cluster")
        out.line(f"using Cluster = Shape<{shape_text([*cluster, 1])}>;", note, mu)
        accumulator = ACCUMULATORS[str(knobs["acc"])]
        out.line(f"using Accumulator = {accumulator};", origins.note("acc"), origins.knob("acc"))
        out.line()
        self.tree.write_functors(out)
        if any(self.channel_copies):
            out.line(f"constexpr int CopyChannels = {block_channels(self.copy_width)};")
            out.lines(COPY_KERNEL)
            out.line()
        self.tree.write_types(out)
        out.line()
        self._write_epilogue()
        self._write_mainloop()
        self._write_kernel()

    def _element(self, index: int) -> str:
        """The type of an operand as the loads see it; FP32 is read as tf32."""
        value, copy = self.conv.operands[index], self.channel_copies[index]
        if copy is not None:
            return CUTLASS_TYPES[copy.dtype]
        return type_name(self.stage.name, value, CUTLASS_TYPES, "the tensor cores")

    def _write_mainloop(self) -> None:
        stages, out, origins = int(self.stage.knobs["stages"]), self.out, self.origins
        implicit = self.schedule.mainloop.replace("KernelTma", "KernelImplicitTma").replace(
            "Specialized", "SpecializedSm90"
        )
        out.line("using Parts = cutlass::conv::collective::CollectiveBuilder<")
        out.line("    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Forward,")
        for index in (0, 1):
            value, copy = self.conv.operands[index], self.channel_copies[index]
            lanes = TMA_BYTES // (copy.dtype if copy else value.dtype).bytes
            note = describe(value) + (f", {copy.text}" if copy else "")
            note += ", read as tf32" if self._element(index) == "float" else ""
            out.line(
                f"    {self._element(index)}, cutlass::layout::{_TAGS[self.dims]}, {lanes},",
                note,
                origins.operand(index),
            )
        out.line("    Accumulator, Tile, Cluster,")
        note, mu = origins.note("stages"), origins.knob("stages")
        if stages:
            out.line(f"    cutlass::conv::collective::StageCount<{stages}>,", note, mu)
        else:
            out.line("    cutlass::conv::collective::StageCountAutoCarveout<", note, mu)
            out.line("        static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,", mu=mu)
        note, mu = origins.note("schedule"), origins.knob("schedule")
        out.line(f"    cutlass::conv::{implicit}>;", note, mu)
        out.line("template <class Copy, class Shared>")
        out.line("using Side = cutlass::conv::collective::detail::Sm90ImplicitGemmTileTraits<Copy, Shared>;")
        out.line("using Im2col = cutlass::conv::collective::CollectiveConv<")
        out.line("    cutlass::conv::MainloopSm90TmaGmmaWarpSpecializedImplicitGemm<")
        out.line("        Forward, Parts::PipelineStages, Dims, Cluster,")
        out.line(f"        cutlass::gemm::{self.schedule.mainloop}>,", note, mu)
        out.line(f"    Tile, {self._element(0)}, {self._element(1)}, typename Parts::TiledMma,")
        for side in "AB":
            end = "," if side == "A" else ">;"
            out.line(f"    Side<typename Parts::GmemTiledCopy{side}, typename Parts::SmemLayout{side}>{end}")
        out.lines(_MAINLOOP)
        out.line()

    def _write_kernel(self) -> None:
        out, origins = self.out, self.origins
        out.line(
            "using Depth = decltype(repeat<Dims + 1>(int(0)));", "channels, then taps, the last dimension's first"
        )
        out.line("using Kernel = cutlass::gemm::kernel::GemmUniversal<")
        out.line("    Shape<int, int, Depth, int>, Mainloop, Epilogue,")
        out.line(f"    {self.schedule.scheduler}>;", origins.note("schedule"), origins.knob("schedule"))
        out.line("using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;")
        out.line()
        write_multiprocessors(out, self.stage)
        out.line(f"}}  // namespace {SYMBOL}_types")
        out.line()

    # The function.

    def _write_function(self) -> None:
        out, origins = self.out, self.origins
        out.line("", "Returns 0, 1 (cannot implement), 2 (initialisation), 3 (launch) or 4 (workspace too small).")
        write_signature(out, self.arguments, self.origins, self.stage.result.name)
        out.line("  cudaStream_t on = static_cast<cudaStream_t>(stream);")
        for index, copy in enumerate(self.channel_copies):
            if copy is not None:
                extents = self._copy_extents(("input", "kernel")[index])
                outer, mu = ("batch", "n")[index], origins.operand(index)
                copy.write_launch(out, outer, extents, self._copy_channels, mu)
        self._write_geometry()
        tree_arguments = self.tree.write_arguments(out)
        self._write_problem(tree_arguments)
        write_scheduling(out, self.stage, origins)
        self._write_run()

    def _write_geometry(self) -> None:
        out = self.out
        axes = range(self.dims)

        def ints(*names: str) -> str:
            return f"{{{', '.join(f'int({name})' for name in names)}}}"

        note = f"{self.joined} taps of the last dimension read as channels" if self.joined > 1 else ""
        out.line("  typename Mainloop::Geometry geometry(", note)
        out.line("      cutlass::conv::Mode::kCrossCorrelation,")
        for parameter, name, outer in (("a", "input", "batch"), ("b", "kernel", "n")):
            extents = [f"{name}{axis}" for axis in axes]
            shape, steps = ints(outer, *extents, "channels"), ", ".join(self._operand_steps(parameter, name))
            out.line(f"      {shape}, {{{steps}, 1}},")
        for pair, end in ((("padding", "behind"), ","), (("stride", "dilation"), ", 1);")):
            out.line(f"      {', '.join(ints(*(f'{name}{axis}' for axis in axes)) for name in pair)}{end}")

    def _operand_steps(self, parameter: str, name: str) -> list[str]:
        """Strides of all dimensions but the channels, outermost first; those of a copy are dense."""
        if self.channel_copies["ab".index(parameter)] is None:
            return self._step_names(parameter)
        extents = self._copy_extents(name)
        return [" * ".join([*extents[axis:], self._copy_channels]) for axis in range(self.dims + 1)]

    def _write_problem(self, tree_arguments: str) -> None:
        out, source = self.out, self.tree.source
        write_hardware(out, self.stage, ("m", "n", "1"))
        out.line("  typename Gemm::Arguments arguments{")
        out.line("      cutlass::gemm::GemmUniversalMode::kGemm,")
        taps = ", ".join(f"int(kernel{axis})" for axis in reversed(range(self.dims)))
        out.line(f"      {{int(m), int(n), {{int(channels), {taps}}}, 1}},")
        pointers = ", ".join(
            f"copy_{name}" if copy else f"static_cast<{self._element(index)} const*>({name})"
            for index, (name, copy) in enumerate(zip("ab", self.channel_copies, strict=True))
        )
        out.line(f"      {{geometry, {{{pointers}}}}},")
        output = f"static_cast<{CUTLASS_TYPES[self.stage.result.dtype]}*>(y), {{n, _1{{}}, m * n}}"
        if source is None:
            out.line(f"      {{{tree_arguments}, nullptr, {{n, _1{{}}, m * n}}, {output}}},")
        else:
            pointer = f"static_cast<{source.element} const*>({source.parameter})"
            strides = f"{{{source.leading}, _1{{}}, {source.batch}}}"
            out.line(f"      {{{tree_arguments}, {pointer}, {strides},", f"C = {source.value.name}")
            out.line(f"       {output}}},")
        out.line("      hardware};")


def _steps(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """The strides of all dimensions but the channels; an extent of 1, whose stride says nothing, counts as dense."""
    found: list[int] = []
    dense = shape[1]
    for extent, stride in zip((shape[0], *shape[2:])[::-1], (strides[0], *strides[2:])[::-1], strict=True):
        found.append(stride if extent > 1 else dense)
        dense = found[-1] * extent
    return found[::-1]


def _product(stage: Stage) -> Stage:
    """The stage as a product; raises LinkHasNoRows for a tensor of the chain whose pixels do not lie evenly."""
    product = as_product(stage)
    if product is None:
        raise LinkHasNoRows(stage=stage.name)
    return replace(product, op=stage.op)


def emit_conv(stage: Stage, source: Assign | None) -> StageCode:
    """Tensor-core code of a conv stage; raises the errors of ``codegen`` and ``cuda``."""
    return ConvEmitter(stage, source).emit()
