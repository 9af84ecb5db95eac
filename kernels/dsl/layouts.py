"""Types, sizes and layouts of tensors against what the target's loads and epilogues can do.

Rules: target, tensor-size, layout, alignment, major-ness, epilogue, and what the layouts of a and b ask of tile and
cluster. Tiles and memory besides are for ``resources``.
TMA reads a tensor with one contiguous side whose extent, rows and start are multiples of 16 bytes; tensors that the
epilogue reads are free of that, since it falls back to reading them element by element.
"""

from __future__ import annotations

from kernels.dsl import conv_rules, errors, grouped, reducing, sm80_loads
from kernels.dsl.conv_product import as_product
from kernels.dsl.errors import Alignment, Cluster, Epilogue, Layout, MajorNess, TensorSize, Tile
from kernels.dsl.expressions import chain_values
from kernels.dsl.ir import Stage, Value
from kernels.dsl.maths import WAYS, copied, element_bytes
from kernels.dsl.movement import pad_line
from kernels.dsl.ops import EPILOGUE_TYPES, TYPES
from kernels.dsl.orientation import contiguous_side, multiplied_transposed
from kernels.dsl.orientation import letter as letter_of
from kernels.dsl.scope import Scope
from kernels.dsl.stages import Setting
from kernels.dtypes import FP8, DType
from kernels.targets import Target

MATH_BYTES = {word: element_bytes(word) for word in (*WAYS, DType.F8E4M3, DType.F8E5M2) if word != "f32"}
"""Bytes of an element as the tensor cores read it."""
TURNED_AT_ONCE = 32
"""Elements of K of a tf32 operand that is not K-major, in one step of the mainloop that turns it."""
_TMA_BYTES = 16
_MOST_ELEMENTS = 2**40
_AXES = {"K": ((0, -1), (1, -2)), "M": ((0, -2),), "N": ((1, -1),)}
"""By letter: the operands that have that extent, and which dimension of theirs it is."""


def check_stage(stage: Stage, setting: Setting, scope: Scope) -> None:
    """Every layout rule on one stage."""
    if stage.op == "torch" or not _sizes(stage, scope) or not _types(stage, setting.target, scope):
        return
    if not reducing.check_stage(stage, setting.target, scope):
        return
    if stage.op == "grouped_gemm":
        grouped.check_chain(stage, scope)
        if setting.target is Target.SM90A:
            grouped.check_knobs(stage, scope)
            grouped.check_sides(stage, scope)
            _each(grouped.members(stage), scope)
        return
    if setting.target is Target.SM90A and stage.op in ("gemm", "bmm") and stage.attributes["math"] in MATH_BYTES:
        letters = "".join(
            _operand(stage, value, role, scope) for value, role in zip(stage.operands, "ab", strict=True)
        )
        _result(stage, scope)
        _epilogue(stage, scope)
        _columns(stage, letters, scope)
        _shares(stage, letters, scope)
        if stage.attributes["math"] == "tf32" and letters.strip("K"):
            _not_k_major(stage, letters, scope)
        elif stage.operands[0].dtype in FP8:
            _eight_bits(stage, letters, scope)
    if setting.target is Target.SM90A and stage.op == "conv" and stage.attributes["math"] in MATH_BYTES:
        product = as_product(stage) if conv_rules.check_tensor_core(stage, scope) else None
        if product is not None:
            _columns(product, "KK", scope)
            _shares(product, "KK", scope)
            conv_rules.check_depth(product, scope)
    if setting.target is Target.SM80 and stage.op in ("gemm", "bmm") and stage.attributes["math"] != "f32":
        sm80_loads.check_operands(stage, scope)
        _epilogue(stage, scope)


def _each(products: tuple[Stage, ...], scope: Scope) -> None:
    """What TMA reads and writes of every product of a grouped_gemm; what its tile asks once, since all share it."""
    if products[0].attributes["math"] not in MATH_BYTES:
        return
    sides = [
        "".join(_operand(product, value, role, scope) for value, role in zip(product.operands, "ab", strict=True))
        for product in products
    ]
    for product in products:
        _result(product, scope)
    _columns(products[0], sides[0], scope)
    _shares(products[0], sides[0], scope)


def _sizes(stage: Stage, scope: Scope) -> bool:
    for value in (*stage.operands, *chain_values(stage.chain), *stage.results):
        if not 1 <= value.elements <= _MOST_ELEMENTS:
            elements = value.elements
            scope.note(TensorSize(stage.span, name=value.name, found=list(value.shape), elements=elements))
            return False
    return True


def _types(stage: Stage, target: Target, scope: Scope) -> bool:
    table = TYPES.get(target)
    if table is None:
        others = ", ".join(TYPES)
        mend = f"use torch stages alone, or a target that generates code: {others}"
        scope.note(errors.Target(stage.span, op=stage.op, found=stage.result.dtype, target=target, mend=mend))
        return False
    if stage.op not in table:
        mend = f"use a torch stage there; own stages of {target} are {', '.join(table)}"
        scope.note(errors.Target(stage.span, op=stage.op, found=stage.result.dtype, target=target, mend=mend))
        return False
    for value in (*stage.operands, *chain_values(stage.chain), stage.result):
        legal = table[stage.op] if value in stage.operands else table["map"]
        if stage.op not in ("map", "cast") and value not in stage.operands:
            # 8-bit floats are multiplied, mapped and cast; chains do not read them.
            legal = tuple(dtype for dtype in legal if dtype not in FP8)
        if value.dtype not in legal:
            mend = f"{stage.op} takes {', '.join(legal)} there: cast {value.name} first"
            scope.note(errors.Target(stage.span, op=stage.op, found=value.dtype, target=target, mend=mend))
            return False
    return True


def _operand(stage: Stage, value: Value, role: str, scope: Scope) -> str:
    """Note what TMA cannot read; the letter of the contiguous side, "" where there is none.

    What is copied in front may lie in any way; the copy is K-major.
    """
    math = stage.attributes["math"]
    if copied(math, value.dtype):
        return "K"
    rows, columns = value.shape[-2:]
    down, along = value.strides[-2:]
    unit = _TMA_BYTES // MATH_BYTES[math]
    side, letter = contiguous_side(value), letter_of(value, role)
    if side == "columns":
        extent, pitch = columns, down if rows > 1 else 0
    elif side == "rows":
        extent, pitch = rows, along if columns > 1 else 0
    else:
        what = f"{value.name} has no contiguous side (its strides are {list(value.strides)})"
        scope.note(Layout(stage.span, found=list(value.strides), what=what, mend=f"copy it: c = map({value.name})"))
        return ""
    batch = value.strides[0] if len(value.shape) == 3 and value.shape[0] > 1 else 0
    facts = [
        (extent, f"{letter} = {extent} is the contiguous extent of {value.name}"),
        (pitch, f"rows of {value.name} begin every {pitch} elements"),
        (batch, f"matrices of {value.name} begin every {batch} elements"),
        (value.offset, f"{value.name} begins at element {value.offset} of {value.storage}"),
    ]
    for found, fact in facts:
        if found % unit:
            what = f"{fact}, and TMA needs multiples of {unit} for {math} (16 bytes)"
            scope.note(Alignment(stage.span, found=found, what=what, mend=_pad(stage, letter, extent, unit)))
            break
    return letter


def _pad(stage: Stage, letter: str, extent: int, unit: int) -> str:
    padded = -(-extent // unit) * unit
    pad = "copy it with map first"
    if padded != extent:
        more = padded - extent
        lines = [pad_line(stage.operands[place], axis, more) for place, axis in _AXES[letter]]
        pad = f"pad {letter} to {padded}: {', '.join(lines)}"
        if letter != "K":
            axis = len(stage.result.shape) - (1 if letter == "N" else 2)
            pad += f" (what the chain adds along {letter} too), and keep {stage.name}.slice({axis}, 0, {extent})"
    plain = stage.operands[0].dtype is DType.F32
    return pad + (", or write math(tf32x3), whose operands need no alignment, or math(f32)" if plain else "")


def _columns(stage: Stage, letters: str, scope: Scope) -> None:
    """B's tile in shared memory is whole swizzle atoms, or a part of one: 16 columns of 16-bit types, 32 of tf32.

    N-major 16-bit tiles are free of it, and a tf32 tile that is turned beside an M-major A is never a part. Found by
    compiling; CUTLASS says "Stride Divisibility Condition".
    """
    m, n, k = stage.knobs["tile"]
    size = MATH_BYTES[stage.attributes["math"]]
    if n % 8 or n == 24 or (size == 2 and letters[1:] != "K"):
        return
    whole, both_turned = 8 * size, size == 4 and letters == "MN"
    if n % whole and (whole % n or both_turned):
        done = "turned" if both_turned else "stored"
        why = f"n is {n}, and a tile of B for {stage.attributes['math']} is {done} {whole} columns at a time"
        parts = "" if both_turned else " or ".join(str(part) for part in (8, 16) if part < whole) + ", or "
        mend = f"write tile({m}, {-(-n // whole) * whole}, {k}); n is {parts}a multiple of {whole}"
        scope.note(Tile(scope.place(stage, "tile"), found=f"{m}, {n}, {k}", why=why, mend=mend))


def _shares(stage: Stage, letters: str, scope: Scope) -> None:
    """Blocks of a cluster load an equal share of a K-major tile each.

    Where the other operand is turned on the way, shares are whole groups of eight rows: parts of one compile, and give
    wrong sums on a card. Multiplied transposed, the K-major tile is the second, of n rows.
    """
    m, n, _ = stage.knobs["tile"]
    across, along = stage.knobs["cluster"]
    if across * along > 16:
        return
    transposed = multiplied_transposed(stage.operands, stage.attributes["math"])
    turned = stage.attributes["math"] == "tf32" and letters != "KK"
    for side, letter, extent, blocks in (("m", letters[:1], m, along), ("n", letters[1:], n, across)):
        if (transposed and side == "m") or (not transposed and letter != "K") or extent % 8:
            continue
        share, rest = divmod(extent, blocks)
        if rest or not share or (turned and share % 8):
            which = "whole groups of 8 rows" if turned else "equal"
            why = f"splits the tile's {side} of {extent} into {blocks} shares, which are not {which}"
            mend = f"make {side} of tile a multiple of {8 * blocks}, or write cluster(1, 1)"
            place = scope.place(stage, "cluster", "tile")
            scope.note(Cluster(place, found=f"{across}, {along}", why=why, mend=mend))


def _result(stage: Stage, scope: Scope) -> None:
    if stage.reduction is not None:
        return  # The product is not stored, and its reduction's few elements go there one by one.
    n, unit = stage.attributes["n"], _TMA_BYTES // stage.result.dtype.bytes
    if n % unit:
        needed = f"TMA needs multiples of {unit} for {stage.result.dtype} (16 bytes)"
        what = f"N = {n} is the contiguous extent of {stage.name}, and {needed}"
        scope.note(Alignment(stage.span, found=n, what=what, mend=_pad(stage, "N", n, unit)))


def _epilogue(stage: Stage, scope: Scope) -> None:
    for step in stage.chain:
        for value in chain_values((step,)):
            if value.dtype not in EPILOGUE_TYPES:
                legal = ", ".join(EPILOGUE_TYPES)
                what = f"{value.name} is {value.dtype}, and the epilogue of {stage.name} reads {legal}"
                mend = f"cast it first: t = cast({value.storage}, f32)"
                scope.note(Epilogue(step.span, found=value.dtype, what=what, mend=mend))


def _not_k_major(stage: Stage, letters: str, scope: Scope) -> None:
    """The tf32 instruction reads K-major operands; the mainloop that turns others has limits of its own."""
    turned = [value.name for value, letter in zip(stage.operands, letters, strict=False) if letter != "K"]
    names = " and ".join(turned)
    message = f"{names} is not K-major, as tf32 is read: it is turned on the way, at a price"
    if multiplied_transposed(stage.operands, stage.attributes["math"]):
        message += f"; {stage.name} is multiplied transposed, at no extra copy"
    scope.caution("major-ness", message, stage.span)
    stages = stage.knobs["stages"]
    if stages:
        what = f"stages({stages}) with {names}, which is not K-major: the mainloop that turns it sizes itself"
        mend = "write stages(auto), or a K-major operand"
        scope.note(MajorNess(scope.place(stage, "stages"), found=stages, what=what, mend=mend))
    _turned_depth(stage, letters, names, scope)


def _eight_bits(stage: Stage, letters: str, scope: Scope) -> None:
    """The instruction reads 8-bit operands K-major, and sums them exactly only in the mainloop that does so too."""
    for value, letter in zip(stage.operands, letters, strict=False):
        if letter in ("M", "N"):
            what = f"{value.name} is not K-major, as {value.dtype} is read"
            copy = f"c = map({value.name})" if letter == "M" else f"c = map({value.name}.T), and write c.T"
            scope.note(MajorNess(stage.span, found=letter, what=what, mend=f"copy it: {copy}"))


def _turned_depth(stage: Stage, letters: str, names: str, scope: Scope) -> None:
    """Operands are turned 32 elements of K at a time; B beside an M-major A in one such step.

    A k that no instruction takes is for ``resources`` to tell.
    """
    m, n, k = stage.knobs["tile"]
    place = scope.place(stage, "tile")
    if letters == "MN" and k != TURNED_AT_ONCE:
        what = f"a tile of K = {k} with {names}, neither of which is K-major: they are turned 32 elements at a time"
        scope.note(MajorNess(place, found=k, what=what, mend=f"write tile({m}, {n}, {TURNED_AT_ONCE})"))
    elif k % 8 == 0 and k % TURNED_AT_ONCE:
        why = f"k is {k}, and {names}, which is not K-major, is turned {TURNED_AT_ONCE} elements of K at a time"
        mend = f"write tile({m}, {n}, {-(-k // TURNED_AT_ONCE) * TURNED_AT_ONCE}), or a K-major operand"
        scope.note(Tile(place, found=f"{m}, {n}, {k}", why=why, mend=mend))
