"""Tiles, clusters, stages, registers and grids against the target's sizes.

Rules: tile, cluster (and the caution about its waste), schedule, shared-memory, registers, grid. Figures of sm_90a are
those of CUTLASS's sm90 builders: 227 KiB of shared memory a block, 232 registers a thread of a consumer warp group.
"""

from __future__ import annotations

import math
from dataclasses import replace

from kernels.dsl import conv_rules, grouped, sm80_resources
from kernels.dsl.conv_product import as_product
from kernels.dsl.errors import Cluster, Registers, Schedule, SharedMemory, Stages, Tile
from kernels.dsl.expressions import chain_values, loads
from kernels.dsl.ir import Stage, Value
from kernels.dsl.layouts import MATH_BYTES, TURNED_AT_ONCE
from kernels.dsl.maths import copied, promoted
from kernels.dsl.orientation import letters, multiplied_transposed
from kernels.dsl.plain import check_plain
from kernels.dsl.scope import Scope
from kernels.dsl.simd import Simd
from kernels.dsl.stages import Setting
from kernels.targets import Policy, Target

SHARED_MEMORY_SM90A = 227 * 1024
"""Bytes of shared memory a block can have."""
ACCUMULATORS_SM90A = 208
"""Accumulator registers a thread can have: 232 of a consumer warp group less 24 for addresses and the epilogue."""
_BARRIER_BYTES = 16
_EPILOGUE_SLACK = 2048
_STORES, _STORES_SLACK = 4, 1024
_IN_TURN = 1024
_IGNORED = ("cluster", "schedule", "stages", "swizzle", "raster")
"""Knobs of the tensor cores that math(f32) does not read."""
_HOST_BLOCK_BYTES = 256 * 2**20


def check_stage(stage: Stage, setting: Setting, scope: Scope) -> None:
    """Every resource rule on one stage."""
    if stage.op == "grouped_gemm" and setting.target is not Target.SM80:
        # One tile serves all: what it asks of memory and registers is the same for each product.
        stage = grouped.members(stage)[0]
    if stage.op == "conv" and setting.target is Target.HOST:
        _host_conv(stage, setting.simd, scope)
    if stage.op == "conv" and setting.target is Target.SM90A:
        _card_conv(stage, setting.policy, scope)
    if stage.op == "conv" and setting.target is Target.SM80:
        # Without a word on the tensor cores: no kernel here takes a convolution there.
        conv_rules.check_simt(replace(stage, written=stage.written | {"math"}), False, scope)
    if stage.op not in ("gemm", "bmm"):
        return
    if setting.target is Target.HOST:
        _host(stage, setting.simd, scope)
    elif setting.target is Target.SM90A and stage.attributes["math"] in MATH_BYTES:
        _tensor_core(stage, scope)
    elif setting.target is Target.SM90A:
        check_plain(stage, _IGNORED, scope)
    elif setting.target is Target.SM80:
        sm80_resources.check_stage(stage, scope)


def _list(*numbers: int) -> str:
    return ", ".join(map(str, numbers))


# host


def _host(stage: Stage, simd: Simd, scope: Scope) -> None:
    (m, n, k), size = stage.knobs["tile"], stage.attributes["acc"].bytes
    _host_micro(stage, simd, scope)
    block = size * k * max(m, n)
    if block > _HOST_BLOCK_BYTES:
        why = f"a packed block takes {block >> 20} MiB"
        mend = "make n·k and m·k smaller: a core's cache holds 1 or 2 MiB"
        scope.note(Tile(scope.place(stage, "tile"), found=_list(m, n, k), why=why, mend=mend))


def _host_micro(stage: Stage, simd: Simd, scope: Scope) -> None:
    """The register tile of a product or a convolution: whole vectors, all in registers."""
    rows, columns = stage.knobs["micro"]
    lanes = max(1, simd.lanes * 4 // stage.attributes["acc"].bytes)
    if columns % lanes:
        why = f"n of micro is {columns}, and a vector of {simd.name} holds {lanes} {stage.attributes['acc']}"
        mend = f"write micro({rows}, {-(-columns // lanes) * lanes})"
        found = _list(*stage.knobs["tile"])
        scope.note(Tile(scope.place(stage, "micro"), found=found, why=why, mend=mend))
    else:
        _host_registers(stage, simd, rows, columns, columns // lanes, scope)


def _host_conv(stage: Stage, simd: Simd, scope: Scope) -> None:
    _host_micro(stage, simd, scope)
    pixels, depth = stage.knobs["tile"]
    kernel, channels = stage.attributes["kernel"], stage.attributes["channels"] // stage.attributes["groups"]
    block = stage.attributes["acc"].bytes * pixels * min(depth, channels) * (kernel[0] if len(kernel) == 3 else 1)
    if block > _HOST_BLOCK_BYTES:
        why = f"a block of the input takes {block >> 20} MiB"
        mend = "make pixels·channels smaller: a core's cache holds 1 or 2 MiB"
        scope.note(Tile(scope.place(stage, "tile"), found=_list(pixels, depth), why=why, mend=mend))


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


def _card_conv(stage: Stage, policy: Policy, scope: Scope) -> None:
    """The plain kernel's own rules, or those of the product that it is on the tensor cores."""
    if stage.attributes["math"] == "f32":
        conv_rules.check_simt(stage, policy is Policy.STRICT, scope)
        return
    product = as_product(stage)
    if product is not None and product.attributes["math"] in MATH_BYTES:
        _tensor_core(product, scope)


def _tensor_core(stage: Stage, scope: Scope) -> None:
    two_groups = stage.knobs["schedule"] != "pingpong"
    if two_groups and stage.knobs["tile"][0] == 64:
        scope.note(Schedule(scope.place(stage, "schedule", "tile"), found=stage.knobs["schedule"], rows=64))
    elif _tile_shape(stage, two_groups, scope):
        _accumulators(stage, 256 if two_groups else 128, scope)
        _shared_memory(stage, scope)
        _stages(stage, scope)
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
    most = ACCUMULATORS_SM90A * threads // m // 32 * 32
    if need <= ACCUMULATORS_SM90A < 2 * need and promoted(stage.attributes["math"], stage.knobs["acc"]):
        message = (
            f"the sums of a {m}×{n} tile are kept twice: some spill; {most // 2} columns fit, or write acc(fast)"
        )
        scope.caution("registers", message, scope.place(stage, "tile"))
    if need > ACCUMULATORS_SM90A:
        what = f"the sums of a {m}×{n} tile"
        have = f"{ACCUMULATORS_SM90A} for them"
        if stage.knobs["schedule"] == "streamk":
            have += ", so that no block fits on an SM, and stream-K needs one that does"
        need_text = f"{need} a thread of {threads}"
        mend = f"tile({m}, {most}, …) fits"
        scope.note(
            Registers(scope.place(stage, "tile"), found=need, what=what, need=need_text, have=have, mend=mend)
        )


def settled_schedule(stage: Stage) -> str:
    """The schedule, ``auto`` settled as CUTLASS does: two consumer warp groups where each has 64 rows of the tile."""
    written = str(stage.knobs["schedule"])
    if written != "auto":
        return written
    return "cooperative" if stage.knobs["tile"][0] >= 128 else "pingpong"


def epilogue_bytes(stage: Stage) -> int:
    """Shared memory of CUTLASS's TMA epilogue: parts of the result on their way out, and of C on its way in.

    C is the first full tensor of the chain; it shares the result's buffers where the element sizes agree
    (sm90_get_tma_dispatch_policy). A product that is reduced has buffers of f32 instead, in which warps meet, and C has
    its own. Rounding up to the alignment of 128 bytes is left out.
    """
    tile: list[int] = stage.knobs["tile"]
    m, n, _ = tile
    rows, columns = min(m, 64 if stage.knobs["schedule"] == "pingpong" else 128), math.gcd(min(n, 32), n)
    part, parts = rows * columns, (m // rows) * (n // columns)
    out = 4 if stage.reduction else stage.result.dtype.bytes
    stored = min(parts, 2)
    source = _source(stage)
    if source is None:
        return stored * part * out
    if source.dtype.bytes != out:
        return stored * part * out + min(parts, 4) * part * source.dtype.bytes
    shared = max(min(parts, 4), stored + 1) * part * out
    return shared + stored * part * out if stage.reduction else shared


def _source(stage: Stage) -> Value | None:
    """What the epilogue reads through TMA as C: the first full tensor of the chain."""
    full = [value for value in chain_values(stage.chain) if value.strides[-1] == 1 and value.strides[-2] > 0]
    return full[0] if full and stage.attributes["m"] != 1 else None


def store_stages(stage: Stage) -> int:
    """Parts of a cooperative product's result that leave at once: 4, or 0 where CUTLASS's own number (2) has to do.

    Only a result that shares its buffers with nothing has more, and only where no stage of the mainloop goes for it.
    """
    m, n, _ = stage.knobs["tile"]
    parts = m // 128 * (n // 32)
    if settled_schedule(stage) == "pingpong" or stage.reduction or _source(stage) is not None or parts < _STORES:
        return 0
    part = 128 * 32 * stage.result.dtype.bytes
    rest = SHARED_MEMORY_SM90A - epilogue_bytes(stage) - (_STORES - 2) * part - _vector_bytes(stage) - _STORES_SLACK
    if stage.knobs["stages"]:
        stages = int(stage.knobs["stages"])
    else:
        stages = (SHARED_MEMORY_SM90A - epilogue_bytes(stage) - _EPILOGUE_SLACK) // stage_bytes(stage)
    return _STORES if rest >= stages * stage_bytes(stage) else 0


def _vector_bytes(stage: Stage) -> int:
    """At most what a chain's rows and columns take of shared memory, those of each link by themselves.

    Each is rounded up to an alignment of 128 bytes.
    """
    longest = max(stage.knobs["tile"][:2])
    vectors = [value for step in stage.chain for value in loads(step.expr) if 0 in value.strides[-2:]]
    return sum(-(-longest * value.dtype.bytes // 128) * 128 for value in vectors)


def stage_bytes(stage: Stage) -> int:
    """Shared memory of one tile of K: A's part, B's part and a barrier."""
    m, n, k = stage.knobs["tile"]
    return int((m + n) * k * MATH_BYTES[stage.attributes["math"]]) + _BARRIER_BYTES


def _fits_in_turn(stage: Stage, stages: int) -> bool:
    """Whether CUTLASS is sure to lay that many stages of a small K-major tile of b side by side.

    Where one has less than 1024 elements, all together must have a multiple of that, or divide it.
    """
    _, n, k = stage.knobs["tile"]
    sides = letters(stage.operands)
    math = stage.attributes["math"]
    k_major = (
        sides[1:] == "K" or copied(math, stage.operands[0].dtype) or multiplied_transposed(stage.operands, math)
    )
    together = n * k * stages
    return not k_major or n * k >= _IN_TURN or together % _IN_TURN == 0 or _IN_TURN % together == 0


def settled_stages(stage: Stage) -> int:
    """The stages of a tile that CUTLASS's own count might not fit; 0 where that count is right, or the program's own.

    Two kilobytes are kept for what an epilogue takes beside ``epilogue_bytes``.
    """
    if stage.knobs["stages"] or all(_fits_in_turn(stage, count) for count in (3, 5)):
        return 0
    most = (SHARED_MEMORY_SM90A - epilogue_bytes(stage) - _EPILOGUE_SLACK) // stage_bytes(stage)
    return next((count for count in range(most, 1, -1) if _fits_in_turn(stage, count)), 2)


def _stages(stage: Stage, scope: Scope) -> None:
    """Refused is what was seen to fail: tiles whose rows are whole swizzle atoms of 128 bytes.

    CUTLASS says "Shape Divisibility Condition".
    """
    written, (_, n, k) = stage.knobs["stages"], stage.knobs["tile"]
    if written and k * MATH_BYTES[stage.attributes["math"]] % 128 == 0 and not _fits_in_turn(stage, written):
        legal = [count for count in range(2, 33) if _fits_in_turn(stage, count)]
        why = f"a tile of b has {n}×{k} elements, and CUTLASS lays out whole {_IN_TURN} of them"
        mend = f"write stages(auto), or {', '.join(map(str, legal[:4]))}, ..."
        scope.note(Stages(scope.place(stage, "stages"), found=written, why=why, mend=mend))


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
