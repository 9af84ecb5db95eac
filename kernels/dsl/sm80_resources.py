"""Tiles, warps, stages, registers, shared memory and grids of products on sm_80.

Rules: tile, warps, stages, registers, shared-memory, grid. Figures are those of CUTLASS 2.x's multistage kernels: each
warp multiplies a part of the tile, and a thread block holds all stages of both operands in shared memory.
"""

from __future__ import annotations

from kernels.dsl.errors import Grid, Registers, SharedMemory, Stages, Tile, Warps
from kernels.dsl.ir import Stage
from kernels.dsl.orientation import contiguous_side, letters
from kernels.dsl.plain import GRID_LIMIT, check_plain
from kernels.dsl.scope import Scope
from kernels.dsl.sm80_defaults import LARGE_SHARED, MOST_THREADS, SMALL_SHARED, warps_of
from kernels.dsl.sm80_loads import legal_stages
from kernels.dtypes import DType

_SIDES = (32, 64, 128, 256)
_LEAST_WARP = (16, 32)
_CONGRUOUS = 64
"""16-bit elements of a row that lie side by side along m or n: how wide CUTLASS's layout in shared memory is."""
_REGISTERS = 255
"""Most registers a thread can have."""
_REGISTERS_OF_AN_SM = 65536
_THREADS_OF_AN_SM = 2048
_SHARED_OF_AN_SM = 228 * 1024
"""The most that any card has which these programs run on: an H100."""
_ADDRESSES = 24
"""Registers beside the sums, at the least."""
_VECTOR = 16
_PADDING = 32
_IGNORED = ("warps", "stages", "swizzle", "schedule", "split", "shared")
"""Knobs of the tensor cores that math(f32) does not read."""


def check_stage(stage: Stage, scope: Scope) -> None:
    """Every resource rule on one gemm or bmm."""
    if stage.attributes["math"] == "f32":
        check_plain(stage, _IGNORED, scope)
        return
    if _tile(stage, scope) and _warps(stage, scope):
        _registers(stage, scope)
        _shared_memory(stage, scope)
    _stages(stage, scope)
    _division(stage, scope)
    _grid(stage, scope)


def threads(stage: Stage) -> int:
    """Threads of a block."""
    warps: list[int] = stage.knobs["warps"]
    return 32 * warps[0] * warps[1]


def stage_bytes(stage: Stage) -> int:
    """Shared memory of one tile of K: A's part and B's part, as they are stored."""
    m, n, k = stage.knobs["tile"]
    return int(m + n) * int(k) * stage.operands[0].dtype.bytes


def block_bytes(stage: Stage) -> int:
    """Shared memory of a block: of all stages, or of the epilogue, which comes after them in the same place.

    The epilogue exchanges eight rows a warp of the tile's height at a time, twice as many where sums are FP32, in rows
    with a padding of 32 bytes (``epilogue/threadblock/epilogue_base.h``; its sizes were read from compiled kernels).
    """
    acc: int = stage.attributes["acc"].bytes
    rows = 8 * int(stage.knobs["warps"][0]) * (2 if acc == 4 else 1)
    epilogue = rows * (int(stage.knobs["tile"][1]) * acc + _PADDING) + _VECTOR
    return max(int(stage.knobs["stages"]) * stage_bytes(stage), epilogue)


def blocks_an_sm(stage: Stage) -> int:
    """The most blocks that a multiprocessor holds at once, on any card."""
    count = threads(stage)
    return max(
        1,
        min(
            _THREADS_OF_AN_SM // count,
            _SHARED_OF_AN_SM // block_bytes(stage),
            _REGISTERS_OF_AN_SM // (_least_registers(stage) * count),
        ),
    )


def _least_registers(stage: Stage) -> int:
    """Registers of a thread: its sums, and the least of addresses."""
    m, n, _ = stage.knobs["tile"]
    sums: int = m * n * stage.attributes["acc"].bytes // 4
    return sums // threads(stage) + _ADDRESSES


def _text(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _tile(stage: Stage, scope: Scope) -> bool:
    """Powers of two, which CUTLASS's thread maps split evenly: their divisions round down without a word."""
    m, n, k = stage.knobs["tile"]
    dtype = stage.operands[0].dtype
    depths = (64 // dtype.bytes, 128 // dtype.bytes)
    why = mend = ""
    if m not in _SIDES or n not in _SIDES:
        side, found = ("m", m) if m not in _SIDES else ("n", n)
        why, mend = f"{side} is {found}, and warps share a side evenly", f"m and n are {_text(list(_SIDES))}"
    elif k not in depths:
        why = f"k is {k}, which is {k * dtype.bytes} bytes of {dtype}, and a row of a tile is 64 or 128 bytes"
        mend = f"k is {depths[0]} or {depths[1]}"
    elif dtype.bytes == 2 and (narrow := _narrow(stage)):
        why = f"{narrow} is 32, and 16-bit operands that lie along {narrow} are stored {_CONGRUOUS} at a time"
        mend = f"{narrow} is {_CONGRUOUS} or more; or relayout the operand to lie along k"
    if mend:
        scope.note(Tile(scope.place(stage, "tile"), found=_text([m, n, k]), why=why, mend=mend))
    return not mend


def _narrow(stage: Stage) -> str:
    """The side of the tile that an operand lies along and that is too small for its layout; "" where neither is.

    Found on a card: such a kernel compiles, and its results are wrong.
    """
    sides = zip("mn", letters(stage.operands[:2]), stage.knobs["tile"], strict=False)
    return next((side for side, letter, extent in sides if letter != "K" and extent < _CONGRUOUS), "")


def _warps(stage: Stage, scope: Scope) -> bool:
    (m, n, k), (down, across) = stage.knobs["tile"], stage.knobs["warps"]
    height, width = _LEAST_WARP
    turned = stage.operands[0].dtype.bytes == 2 and letters(stage.operands[:2])[:1] == "M"
    why = ""
    least = min(m, n) * k * stage.operands[0].dtype.bytes // _VECTOR
    if m // down < height or n // across < width:
        part = f"{m / down:g}×{n / across:g}"
        why = f"splits a tile of {m}×{n} into parts of {part}, and a warp takes {height}×{width} or more"
    elif turned and m // down < _CONGRUOUS // 2:
        why = (
            f"gives a warp {m // down} rows, and 16-bit rows that lie along m are read {_CONGRUOUS // 2} at a time"
        )
    elif threads(stage) > least:
        why = f"has {threads(stage)} threads, and {min(m, n)}×{k} of an operand are {least} loads of 16 bytes"
    elif threads(stage) > MOST_THREADS:
        why = f"has {threads(stage)} threads, and with 255 registers each no more than {MOST_THREADS} fit on an SM"
    if why:
        fits = [warps for warps in _candidates(m, n) if 32 * warps[0] * warps[1] <= min(least, MOST_THREADS)]
        fits = [warps for warps in fits if m // warps[0] >= (_CONGRUOUS // 2 if turned else height)]
        mend = f"warps({_text(fits[0])}) fits" if fits else "make the tile larger"
        scope.note(Warps(scope.place(stage, "warps", "tile"), found=_text([down, across]), why=why, mend=mend))
    return not why


def _candidates(m: int, n: int) -> list[list[int]]:
    return [warps_of([m, n]), [2, 1], [1, 2], [1, 1]]


def _registers(stage: Stage, scope: Scope) -> None:
    m, n, k = stage.knobs["tile"]
    need, count = _least_registers(stage), threads(stage)
    have = min(_REGISTERS, _REGISTERS_OF_AN_SM // count)
    if need > have:
        what = f"the sums and addresses of a {m}×{n} tile in {count} threads"
        place = scope.place(stage, "tile", "warps")
        usual = warps_of([m, n])
        mend = f"warps({_text(usual)}) fits" if m * n < 256 * 256 else f"write tile(256, 128, {k})"
        limit = f"{have} a thread, so no block fits on an SM"
        scope.note(Registers(place, found=need, what=what, need=f"{need} a thread", have=limit, mend=mend))


def _shared_memory(stage: Stage, scope: Scope) -> None:
    kib = int(stage.knobs["shared"])
    need, have, stages = block_bytes(stage), kib * 1024, int(stage.knobs["stages"])
    place = scope.place(stage, "stages", "shared", "tile")
    if need > have:
        least, _ = legal_stages(stage.operands) if _readable(stage) else (2, 2)
        most = have // stage_bytes(stage)
        m, n, k = stage.knobs["tile"]
        mend = f"stages({most}) fits" if most >= least else f"a smaller tile than ({m}, {n}, {k})"
        if kib == SMALL_SHARED and need <= LARGE_SHARED * 1024:
            mend += f", and shared({LARGE_SHARED}) does where the card is an A100 or newer (not sm_86 or sm_89)"
        scope.note(SharedMemory(place, found=str(stages), need=f"{need:,}", have=f"{have:,}", mend=mend))
    elif need > SMALL_SHARED * 1024:
        message = (
            f"{need:,} bytes of shared memory: sm_86 and sm_89 have {SMALL_SHARED * 1024:,}, and refuse to start it"
        )
        scope.caution("shared-memory", message, place)


def _readable(stage: Stage) -> bool:
    return all(contiguous_side(value) for value in stage.operands)


def _stages(stage: Stage, scope: Scope) -> None:
    if not _readable(stage):
        return
    least, most = legal_stages(stage.operands)
    found, dtype = int(stage.knobs["stages"]), stage.operands[0].dtype
    if found < least:
        why = "the pipeline of two stages multiplies f32 data as f16" if dtype is DType.F32 else "it has none"
        scope.note(
            Stages(scope.place(stage, "stages"), found=found, why=why, mend=f"write stages({least}) or more")
        )
    elif found > most:
        why = f"{dtype} operands whose rows are no multiple of 4 bytes are loaded through registers, in two stages"
        mend = "write stages(2), or pad K, M or N to an even number"
        scope.note(Stages(scope.place(stage, "stages"), found=found, why=why, mend=mend))


def _division(stage: Stage, scope: Scope) -> None:
    split = int(stage.knobs.get("split", 1))
    if split == 1:
        return
    if stage.knobs["schedule"] == "streamk":
        message = f"split({split}) divides K already: schedule(streamk) is ignored"
        scope.caution("knob-ignored", message, scope.place(stage, "schedule"))
    k, depth = stage.attributes["k"], stage.knobs["tile"][2]
    tiles = -(-k // depth)
    if split > tiles:
        message = f"K = {k} has {tiles} tile(s) of {depth}: split({split}) makes {tiles} part(s)"
        scope.caution("knob-ignored", message, scope.place(stage, "split"))


def _grid(stage: Stage, scope: Scope) -> None:
    """Blocks along N are the grid's y, those of a batch its z."""
    columns = -(-stage.attributes["n"] // stage.knobs["tile"][1])
    if columns > GRID_LIMIT * int(stage.knobs["swizzle"]):
        what = f"N = {stage.attributes['n']} of {stage.name}"
        mend = f"slice N into stages of {GRID_LIMIT * stage.knobs['tile'][1]} columns"
        scope.note(Grid(stage.span, found=columns, axis="y", what=what, limit=GRID_LIMIT, mend=mend))
    batch = stage.attributes.get("batch", 1)
    if batch > GRID_LIMIT:
        what, mend = f"a batch of {batch}", f"slice it into stages of {GRID_LIMIT} matrices"
        if stage.operands[0].dtype is DType.F32:
            mend += ", or write math(f32)"
        scope.note(Grid(stage.span, found=batch, axis="z", what=what, limit=GRID_LIMIT, mend=mend))
