"""Operands of a convolution copied into the workspace in front of it: channels innermost, in the type multiplied.

Copied are FP32 tensors multiplied as f16 or bf16, and the weight of a transposed convolution, whose taps come out in
reverse order. A copy is dense [outer, *positions, channels], its channels filled up with zeros to 16 bytes; so neither
alignment nor layout is asked of what it is made from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.layout import CUTLASS_TYPES, TMA_BYTES
from kernels.codegen.cuda.writer import SourceWriter
from kernels.dsl.ir import Value
from kernels.dtypes import DType

_ALIGNMENT = 256

COPY_KERNEL = """
// Positions (images and pixels, or filters and taps) by channels, with any strides; the copy has whole vectors of them.
struct Positions {
  uint32_t extent[Dims + 1];
  int64_t step[Dims + 1], channels, padded, channel;
};

constexpr int CopyThreads = 256, CopyPositions = 2048 / CopyChannels;

// ChannelsInner: they lie side by side in x, else positions do.
template <bool ChannelsInner, class From, class To>
__global__ void __launch_bounds__(CopyThreads) copy_channels(From const* __restrict__ x, To* __restrict__ y,
                                                             Positions p, uint32_t positions) {
  __shared__ float tile[CopyChannels][CopyPositions + 1];
  __shared__ int64_t places[CopyPositions];
  uint32_t first_position = blockIdx.x * CopyPositions;
  int first_channel = int(blockIdx.y) * CopyChannels;
  if (threadIdx.x < CopyPositions) {
    uint32_t position = first_position + threadIdx.x;
    int64_t place = 0;
#pragma unroll
    for (int a = Dims; a >= 0; --a) {
      place += int64_t(position % p.extent[a]) * p.step[a];
      position /= p.extent[a];
    }
    places[threadIdx.x] = place;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < CopyPositions * CopyChannels; i += CopyThreads) {
    int c = ChannelsInner ? i % CopyChannels : i / CopyPositions;
    int at = ChannelsInner ? i / CopyChannels : i % CopyPositions;
    bool inside = first_position + at < positions && first_channel + c < p.channels;
    tile[c][at] = inside ? float(x[places[at] + (first_channel + c) * p.channel]) : 0.0f;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < CopyPositions * CopyChannels; i += CopyThreads) {
    int c = i % CopyChannels, at = i / CopyChannels;
    if (first_position + at < positions && first_channel + c < p.padded) {
      y[int64_t(first_position + at) * p.padded + first_channel + c] = To(tile[c][at]);
    }
  }
}

template <bool ChannelsInner, class From, class To>
void launch_copy(From const* x, To* y, Positions p, cudaStream_t on) {
  uint32_t positions = 1;
  for (int a = 0; a <= Dims; ++a) { positions *= p.extent[a]; }
  dim3 grid{unsigned((positions + CopyPositions - 1) / CopyPositions),
            unsigned((p.padded + CopyChannels - 1) / CopyChannels), 1};
  auto copy = copy_channels<ChannelsInner, From, To>;
  copy<<<grid, CopyThreads, 0, on>>>(x, y, p, positions);
}
"""
"""``launch_copy``; needs ``Dims``, the spatial dimensions, and ``CopyChannels``, of a block: 8, 16, 32 or 64."""


def block_channels(channels: int) -> int:
    """Channels that a block copies at once: no more than there are, and at most 64."""
    return next((each for each in (8, 16, 32) if channels <= each), 64)


@dataclass(frozen=True, slots=True)
class ChannelsCopy:
    """The copy of ``value``, parameter ``role`` of the function; ``start`` and ``end`` are bytes into the workspace.

    ``turned`` says that the value is the weight of a transposed convolution: [C, K, *kernel], taps to be reversed.
    """

    value: Value
    role: str
    dtype: DType
    start: int
    turned: bool = False

    @property
    def _outer(self) -> int:
        return 1 if self.turned else 0

    @property
    def _inner(self) -> int:
        return 0 if self.turned else 1

    @property
    def padded(self) -> int:
        """Channels of the copy."""
        lanes = TMA_BYTES // self.dtype.bytes
        return -(-self.value.shape[self._inner] // lanes) * lanes

    @property
    def end(self) -> int:
        shape = self.value.shape
        size = shape[self._outer] * math.prod(shape[2:]) * self.padded * self.dtype.bytes
        return self.start + -(-size // _ALIGNMENT) * _ALIGNMENT

    @property
    def text(self) -> str:
        """What was done to it."""
        parts = ["channels last", "taps reversed" if self.turned else ""]
        parts.append(f"rounded to {self.dtype.value}" if self.dtype is not self.value.dtype else "")
        return ", ".join(part for part in parts if part)

    def declare(self, arguments: Arguments) -> None:
        """The run-time sizes that ``write_launch`` reads."""
        value = self.value
        arguments.size(f"copied_{self.role}", value.shape[self._inner])
        arguments.size(f"from_{self.role}_outer", value.strides[self._outer])
        arguments.size(f"from_{self.role}_channel", value.strides[self._inner])
        for axis, stride in enumerate(value.strides[2:]):
            arguments.size(f"from_{self.role}_step{axis}", stride)
        arguments.size(f"offset_{self.role}", self.start)

    def write_launch(self, out: SourceWriter, outer: str, extents: list[str], channels: str, mu: int) -> None:
        """Launch the copy; declares ``copy_<role>``. ``outer`` and ``extents`` are the sizes of its positions."""
        role, element = self.role, CUTLASS_TYPES[self.dtype]
        source = CUTLASS_TYPES[self.value.dtype]
        steps = [f"from_{role}_step{axis}" for axis in range(len(extents))]
        first = f"static_cast<{source} const*>({role})"
        if self.turned:
            first += "".join(f" + ({extent} - 1) * {step}" for extent, step in zip(extents, steps, strict=True))
            steps = [f"-{step}" for step in steps]
        out.line(f"  auto* copy_{role} = reinterpret_cast<{element}*>(", f"{self.value.name}, {self.text}", mu)
        out.line(f"      static_cast<char*>(workspace) + offset_{role});")
        inner = "true" if self.value.strides[self._inner] == 1 else "false"
        out.line(f"  launch_copy<{inner}>({first}, copy_{role},")
        counts = ", ".join(f"uint32_t({name})" for name in (outer, *extents))
        positions = f"{{{counts}}}, {{{', '.join([f'from_{role}_outer', *steps])}}}"
        out.line(f"      Positions{{{positions}, copied_{role}, {channels}, from_{role}_channel}}, on);")
