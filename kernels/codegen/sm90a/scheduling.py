"""Which tiles run when: the scheduler's own arguments, and how many of the card's SMs are asked for."""

from __future__ import annotations

import math

from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.writer import SourceWriter
from kernels.dsl.ir import Stage

_RASTER = {"auto": "Heuristic", "m": "AlongM", "n": "AlongN"}
_SMS_OF_A_GPC = 18
"""What CUTLASS takes a cluster of SMs (GPC) to have, so that of other clusters fewer blocks run than there are SMs."""

MULTIPROCESSORS = """
// The number of SMs of the current device; asked for once a device.
inline int multiprocessors(int device) {
  static int known[64] = {};
  if (device < 0 || device >= 64) { return cutlass::KernelHardwareInfo::query_device_multiprocessor_count(device); }
  if (known[device] == 0) {
    known[device] = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(device);
  }
  return known[device];
}
"""

_IN_STEP = """
// So many SMs finish in as few waves as all of them, where that leaves at most an eighth idle: the tiles of a wave are
// then whole rows of clusters and stay in step, so that more of what they read is in L2, and the others save power.
inline int in_step(int64_t rows, int64_t columns, int64_t batch, int sms) {
  constexpr int64_t high = size<0>(Tile{}) * size<0>(Cluster{}), wide = size<1>(Tile{}) * size<1>(Cluster{});
  int64_t clusters = ceil_div(rows, high) * ceil_div(columns, wide) * batch;
  int64_t at_once = sms / size(Cluster{});
  if (clusters <= at_once || at_once == 0) { return sms; }
  int64_t enough = ceil_div(clusters, ceil_div(clusters, at_once));
  return 8 * enough >= 7 * at_once ? int(enough * size(Cluster{})) : sms;
}
"""


def _in_step(stage: Stage) -> bool:
    """Whether the number of SMs is chosen: stream-K shares its last wave out, and wants all, as a convolution does."""
    if stage.op == "conv" or stage.knobs["schedule"] == "streamk":
        return False
    blocks: int = math.prod(stage.knobs["cluster"])
    return _SMS_OF_A_GPC % blocks == 0


def write_multiprocessors(out: SourceWriter, stage: Stage) -> None:
    """The functions that ``write_hardware`` calls; ``Tile`` and ``Cluster`` are written ahead of them."""
    out.lines(MULTIPROCESSORS)
    if _in_step(stage):
        out.lines(_IN_STEP)


def write_hardware(out: SourceWriter, stage: Stage, extents: tuple[str, str, str]) -> None:
    """What CUTLASS is told of the card; ``extents``: rows, columns and number of the products, as CUTLASS has them."""
    out.lines("  cutlass::KernelHardwareInfo hardware;\n  cudaGetDevice(&hardware.device_id);")
    sms = "multiprocessors(hardware.device_id)"
    wanted = f"in_step({', '.join(extents)}, {sms})" if _in_step(stage) else sms
    out.line(f"  hardware.sm_count = {wanted};")


def write_scheduling(out: SourceWriter, stage: Stage, origins: Origins) -> None:
    """The scheduler's arguments that the program set; raises KnobWithoutCode for a raster that CUTLASS has not."""
    raster, swizzle = str(stage.knobs["raster"]), int(stage.knobs["swizzle"])
    if raster not in _RASTER:
        raise KnobWithoutCode(stage=stage.name, knob="raster", found=raster, legal="auto, m or n")
    if raster != "auto":
        tag = f"cutlass::gemm::kernel::detail::RasterOrderOptions::{_RASTER[raster]}"
        out.line("  arguments.scheduler.raster_order =", origins.note("raster"), origins.knob("raster"))
        out.line(f"      {tag};", mu=origins.knob("raster"))
    if swizzle:
        note, mu = origins.note("swizzle"), origins.knob("swizzle")
        out.line(f"  arguments.scheduler.max_swizzle_size = {swizzle};", note, mu)
