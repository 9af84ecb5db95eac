"""Tiles, clusters, stages, registers and grids against the target's sizes.

Rules: tile, cluster (and the caution about its waste), schedule, shared-memory, registers, grid. Figures of sm_90a are
those of CUTLASS's sm90 builders: 227 KiB of shared memory a block, 232 registers a thread of a consumer warp group.
"""

from __future__ import annotations

import math

from kernels.dsl.errors import Cluster, Grid, Registers, Schedule, SharedMemory, Tile
from kernels.dsl.expressions import chain_values
from kernels.dsl.ir import Stage
from kernels.dsl.layouts import MATH_BYTES, TURNED_AT_ONCE
from kernels.dsl.orientation import letters, multiplied_transposed
from kernels.dsl.scope import Scope
from kernels.dsl.simd import Simd
from kernels.dsl.stages import Setting
from kernels.targets import Target

SHARED_MEMORY_SM90A = 227 * 1024
"""Bytes of shared memory a block can have."""
ACCUMULATORS_SM90A = 208
"""Accumulator registers a thread can have: 232 of a consumer warp group less 24 for addresses and the epilogue."""
GRID_LIMIT = 65535
_BARRIER_BYTES = 16
_SIMT_ROWS = 128
_HOST_BLOCK_BYTES = 256 * 2**20


def check_stage(stage: Stage, setting: Setting, scope: Scope) -> None:
    """Every resource rule on one stage."""
    if stage.op not in ("gemm", "bmm"):
        return
    if setting.target is Target.HOST:
        _host(stage, setting.simd, scope)
    elif setting.target is Target.SM90A and stage.attributes["math"] in MATH_BYTES:
        _tensor_core(stage, scope)
    elif setting.target is Target.SM90A:
        _simt(stage, scope)


def _list(*numbers: int) -> str:
    return ", ".join(map(str, numbers))


# host


def _host(stage: Stage, simd: Simd, scope: Scope) -> None:
    (m, n, k), (rows, columns) = stage.knobs["tile"], stage.knobs["micro"]
    size = stage.attributes["acc"].bytes
    lanes = max(1, simd.lanes * 4 // size)
    if columns % lanes:
        why = f"n of micro is {columns}, and a vector of {simd.name} holds {lanes} {stage.attributes['acc']}"
        mend = f"write micro({rows}, {-(-columns // lanes) * lanes})"
        scope.note(Tile(scope.place(stage, "micro"), found=_list(m, n, k), why=why, mend=mend))
    else:
        _host_registers(stage, simd, rows, columns, columns // lanes, scope)
    block = size * k * max(m, n)
    if block > _HOST_BLOCK_BYTES:
        why = f"a packed block takes {block >> 20} MiB"
        mend = "make n·k and m·k smaller: a core's cache holds 1 or 2 MiB"
        scope.note(Tile(scope.place(stage, "tile"), found=_list(m, n, k), why=why, mend=mend))


def _host_registers(stage: Stage, simd: Simd, rows: int, columns: int, vectors: int, scope: Scope) -> None:
    """Sums, one row of B and one element of A stay in registers."""
    need = rows * vectors + vectors + 1
    if need > simd.registers:
        fits = (simd.registers - 1 - vectors) // vectors
        mend = f"micro({fits}, {columns}) fits" if fits >= 1 else f"write micro({simd.micro[0]}, {simd.micro[1]})"
        what = f"the sums and operands of micro({rows}, {columns})"
        have = f"{simd.registers} in {simd.name}"
        scope.note(Registers(scope.place(stage, "micro"), found=need, what=what, need=need, have=have, mend=mend))


# sm_90a, tensor cores


def _tensor_core(stage: Stage, scope: Scope) -> None:
    two_groups = stage.knobs["schedule"] != "pingpong"
    if two_groups and stage.knobs["tile"][0] == 64:
        scope.note(Schedule(scope.place(stage, "schedule", "tile"), found=stage.knobs["schedule"], rows=64))
    elif _tile_shape(stage, two_groups, scope):
        _accumulators(stage, 256 if two_groups else 128, scope)
        _shared_memory(stage, scope)
    _cluster(stage, scope)


def _tile_shape(stage: Stage, two_groups: bool, scope: Scope) -> bool:
    m, n, k = stage.knobs["tile"]
    size = MATH_BYTES[stage.attributes["math"]]
    rows = 128 if two_groups else 64
    mend = ""
    if m % rows or m > 256:
        why = f"m is {m}, and schedule({stage.knobs['schedule']}) works on {rows} rows at a time"
        mend = f"m is {' or '.join(str(rows * i) for i in range(1, 256 // rows + 1))}"
    elif n % 8 or n > 256:
        why, mend = f"n is {n}, and the instruction's width is a multiple of 8", "n is a multiple of 8 up to 256"
    elif n == 24:
        why, mend = "n is 24, which the epilogue cannot store in whole vectors", "n is 16 or 32"
    elif k * size % 32:
        why = f"k is {k}, which is {k * size} bytes, and an instruction reads 32 bytes of K"
        mend = f"k is a multiple of {32 // size}; {128 // size} is usual"
    if mend:
        scope.note(Tile(scope.place(stage, "tile"), found=_list(m, n, k), why=why, mend=mend))
    return not mend


def _accumulators(stage: Stage, threads: int, scope: Scope) -> None:
    m, n, _ = stage.knobs["tile"]
    need = m * n // threads
    if need > ACCUMULATORS_SM90A:
        most = ACCUMULATORS_SM90A * threads // m // 32 * 32
        what = f"the sums of a {m}×{n} tile"
        have = f"{ACCUMULATORS_SM90A} for them"
        need_text = f"{need} a thread of {threads}"
        mend = f"tile({m}, {most}, …) fits"
        scope.note(
            Registers(scope.place(stage, "tile"), found=need, what=what, need=need_text, have=have, mend=mend)
        )


def epilogue_bytes(stage: Stage) -> int:
    """Shared memory of CUTLASS's TMA epilogue: parts of the result on their way out, and of C on its way in.

    C is the first full tensor of the chain; it shares the result's buffers where the element sizes agree
    (sm90_get_tma_dispatch_policy). Rounding up to the alignment of 128 bytes is left out.
    """
    tile: list[int] = stage.knobs["tile"]
    m, n, _ = tile
    rows, columns = min(m, 64 if stage.knobs["schedule"] == "pingpong" else 128), math.gcd(min(n, 32), n)
    part, parts = rows * columns, (m // rows) * (n // columns)
    out = stage.result.dtype.bytes
    stored = min(parts, 2)
    full = [value for value in chain_values(stage.chain) if value.strides[-1] == 1 and value.strides[-2] > 0]
    source = full[0] if full else None
    if source is None or stage.attributes["m"] == 1:
        return stored * part * out
    if source.dtype.bytes == out:
        return max(min(parts, 4), stored + 1) * part * out
    return stored * part * out + min(parts, 4) * part * source.dtype.bytes


def stage_bytes(stage: Stage) -> int:
    """Shared memory of one tile of K: A's part, B's part and a barrier."""
    m, n, k = stage.knobs["tile"]
    return int((m + n) * k * MATH_BYTES[stage.attributes["math"]]) + _BARRIER_BYTES


def _shared_memory(stage: Stage, scope: Scope) -> None:
    written = stage.knobs["stages"]
    need = (written or 2) * stage_bytes(stage) + epilogue_bytes(stage)
    if need <= SHARED_MEMORY_SM90A:
        return
    most = (SHARED_MEMORY_SM90A - epilogue_bytes(stage)) // stage_bytes(stage)
    m, n, k = stage.knobs["tile"]
    least = _least_depth(stage)
    less = max(least, k // 2 // least * least)
    part = "half of it" if 2 * less == k else "less"
    mend = f"stages({most}) fits" if most >= 2 else f"tile({m}, {n}, {less}) takes {part}"
    found = str(written) if written else "the least of 2"
    place, have = scope.place(stage, "stages", "tile"), f"{SHARED_MEMORY_SM90A:,}"
    scope.note(SharedMemory(place, found=found, need=f"{need:,}", have=have, mend=mend))


def _least_depth(stage: Stage) -> int:
    """What k is a multiple of: an instruction's 32 bytes, or a step of turning a tf32 operand."""
    math = stage.attributes["math"]
    turned = math == "tf32" and letters(stage.operands) != "KK"
    return TURNED_AT_ONCE if turned else 32 // MATH_BYTES[math]


def _cluster(stage: Stage, scope: Scope) -> None:
    m, n = stage.knobs["cluster"]
    place = scope.place(stage, "cluster")
    if m * n > 16:
        mend = "the product is at most 16 (more than 8 is not portable)"
        scope.note(Cluster(place, found=_list(m, n), why=f"has {m * n} blocks", mend=mend))
        return
    if m * n > 8:
        scope.caution(
            "cluster",
            f"a cluster of {m * n} blocks is not portable: a card may refuse it",
            scope.place(stage, "cluster"),
        )
    extents = stage.attributes["m"], stage.attributes["n"]
    if multiplied_transposed(stage.operands, stage.attributes["math"]):
        extents = extents[::-1]
    rows, columns = (-(-extent // side) for extent, side in zip(extents, stage.knobs["tile"][:2], strict=True))
    whole = -(-rows // m) * m * (-(-columns // n) * n)
    if whole > rows * columns:
        waste = 100 * (whole - rows * columns) / whole
        message = f"the grid of {rows}×{columns} blocks is rounded up to whole clusters: {waste:.0f} % of it idles"
        scope.caution("cluster", message, place)


# sm_90a, plain FP32


def _simt(stage: Stage, scope: Scope) -> None:
    """One block of fixed size a tile of the result, rows of tiles in y; a large batch takes several launches."""
    for knob in ("tile", "cluster", "schedule", "stages", "swizzle", "raster"):
        if knob in stage.written:
            message = f"math(f32) is a plain kernel with tiles of 128×128: {knob} is ignored"
            scope.caution("knob-ignored", message, scope.place(stage, knob))
    rows = -(-stage.attributes["m"] // _SIMT_ROWS)
    if rows > GRID_LIMIT:
        what = f"M = {stage.attributes['m']} of {stage.name}"
        mend = f"slice M into stages of {GRID_LIMIT * _SIMT_ROWS} rows, or write math(tf32)"
        scope.note(Grid(stage.span, found=rows, axis="y", what=what, limit=GRID_LIMIT, mend=mend))
