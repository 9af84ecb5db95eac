"""The knobs: one row for an operation on a target, with legal values, the default's rule, and a line of documentation.

Reading a written knob against its row is done here; defaults that depend on sizes are in ``defaults``, and rules that
join several knobs (shared memory, registers) in ``resources``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from kernels.dsl.errors import DslError, KnobValue, RepeatedKnob, UnknownKnob
from kernels.dsl.maths import SPLITS
from kernels.dsl.ops import MOVING, ROW_STAGES, kernel_op
from kernels.dsl.printer import format_value
from kernels.dsl.scope import Failed, Scope
from kernels.dsl.syntax import Assign, Knob, Name, Number, Sequence
from kernels.targets import Target

KnobData: TypeAlias = "int | str | list[int]"


@dataclass(frozen=True, slots=True)
class KnobRow:
    """``form``: "ints" (``count`` integers within ``least`` and ``most``), "word" (one of ``words``), "count" (one
    integer, or a word that stands for 0), whose ``choices``, where given, are the only numbers."""

    name: str
    form: Literal["ints", "word", "count"]
    doc: str
    default: str
    count: int = 1
    least: int = 1
    most: int = 1
    words: tuple[str, ...] = ()
    choices: tuple[int, ...] = ()
    step: int = 1

    @property
    def legal(self) -> str:
        """The legal values in words."""
        if self.form == "word":
            return " | ".join(self.words)
        numbers = " | ".join(map(str, self.choices)) if self.choices else f"{self.least} to {self.most}"
        if self.step > 1:
            numbers += f" in steps of {self.step}"
        if self.form == "ints":
            return f"{self.count} integers, each {numbers}"
        return " | ".join([*self.words, numbers])


_AUTO = ("auto",)
_HOST_GEMM = (
    KnobRow(
        "tile", "ints", "cache block (m, n, k): A's m·k and B's k·n are packed", "by size and cache", 3, 1, 65536
    ),
    KnobRow("micro", "ints", "register tile (m, n); n a multiple of the vector", "by the CPU's vectors", 2, 1, 256),
    KnobRow(
        "stages", "count", "1 reads operands in place, 2 packs B, 3 packs A and B", "by size", choices=(1, 2, 3)
    ),
    KnobRow("threads", "count", "threads of the stage", "auto: all cores", most=64, words=_AUTO),
    KnobRow("split", "count", "parts of K, summed at the end", "1", most=256),
    KnobRow("math", "word", "how f32 data is multiplied: f16, bf16 round it", "f32", words=("f32", "bf16", "f16")),
    KnobRow("acc", "word", "type of the sums", "f32 (f64 for f64 operands)", words=("f32", "f64")),
    KnobRow("out", "word", "type of the result", "the operands' type", words=("f64", "f32", "f16", "bf16")),
)
_CONV_LAYOUT = KnobRow("layout", "word", "memory order of the result", "x's", words=("row_major", "channels_last"))
_HOST_CONV = (
    _CONV_LAYOUT,
    KnobRow("tile", "ints", "pixels a thread makes at once, and channels it sums at once", "by size", 2, 1, 65536),
    KnobRow(
        "micro", "ints", "register tile: (filters, pixels), channels_last (pixels, filters)", "by size", 2, 1, 256
    ),
    KnobRow("threads", "count", "threads of the stage", "auto: all cores", most=64, words=_AUTO),
    KnobRow("math", "word", "how f32 data is multiplied: f16, bf16 round it", "f32", words=("f32", "bf16", "f16")),
    KnobRow("acc", "word", "type of the sums", "f32 (f64 for f64 operands)", words=("f32", "f64")),
    KnobRow("out", "word", "type of the result", "the operands' type", words=("f64", "f32", "f16", "bf16")),
)
_HOST_MAP = (
    KnobRow("threads", "count", "threads of the stage", "auto: all cores", most=64, words=_AUTO),
    KnobRow("vector", "count", "elements a step", "auto", words=_AUTO, choices=(1, 2, 4, 8, 16, 32)),
)
_SM90A_GEMM = (
    KnobRow("tile", "ints", "block tile (m, n, k) of one thread block", "by size and type", 3, 1, 1024),
    KnobRow("cluster", "ints", "blocks (m, n) that share loads", "by the grid", 2, choices=(1, 2, 4, 8, 16)),
    KnobRow(
        "schedule",
        "word",
        "how warp groups share the work",
        "cooperative from 128 rows, else pingpong",
        words=("auto", "cooperative", "pingpong", "streamk"),
    ),
    KnobRow("stages", "count", "tiles of K in flight", "auto: as many as fit", least=2, most=32, words=_AUTO),
    KnobRow("swizzle", "count", "tiles in a column of the raster", "8", words=_AUTO, choices=(1, 2, 4, 8)),
    KnobRow("raster", "word", "side the grid runs along first", "CUTLASS's; m if turned", words=("auto", "m", "n")),
    KnobRow(
        "math",
        "word",
        "how f32 data is multiplied: f32 in a plain FMA kernel, tf32 as it lies, else from copies (any layout): "
        "rounded, or split into the sum of 3 or 6 products",
        "tf32 (policy strict: bf16x6 if large, else f32)",
        words=("f32", "tf32", "f16", "bf16", *SPLITS),
    ),
    KnobRow(
        "acc",
        "word",
        "type of the sums; f16 for f16 products alone; fast, for f8, tf32x3, bf16x6: truncated f32, half the registers",
        "f32 (tf32x3, bf16x6: fast)",
        words=("f32", "f16", "fast"),
    ),
    KnobRow("out", "word", "type of the result", "the operands' type (f8: f32)", words=("f32", "f16", "bf16")),
)
_SM90A_CONV = (
    _CONV_LAYOUT,
    *_SM90A_GEMM[:6],
    KnobRow(
        "math",
        "word",
        "f32 is a plain FMA kernel for any layout and type; the others read C innermost, f16 and bf16 of f32 data copy "
        "it so in front",
        "tf32 (f32 data) or the type, where they can be read so; else f32",
        words=("f32", "tf32", "f16", "bf16"),
    ),
    KnobRow("acc", "word", "type of the sums", "f32", words=("f32",)),
    KnobRow("out", "word", "type of the result", "the operands' type", words=("f32", "f16", "bf16")),
)
_SM90A_MAP = (
    KnobRow("threads", "count", "threads of a block", "256", least=32, most=1024, step=32),
    KnobRow("vector", "count", "elements a thread loads at once", "auto", words=_AUTO, choices=(1, 2, 4, 8)),
)
_SM90A_ROWS = (
    KnobRow("threads", "count", "threads of a row", "auto: by the row", least=32, most=1024, step=32, words=_AUTO),
    KnobRow("vector", "count", "elements a thread loads at once", "auto", words=_AUTO, choices=(1, 2, 4, 8)),
)

_SM80_BMM = (
    KnobRow("tile", "ints", "block tile (m, n, k) of one thread block", "by size and type", 3, 1, 1024),
    KnobRow("warps", "ints", "warps (m, n) that share the tile", "64×64 each", 2, choices=(1, 2, 4, 8)),
    KnobRow("stages", "count", "tiles of K in flight", "auto: up to 4", least=2, most=16, words=_AUTO),
    KnobRow("swizzle", "count", "tiles in a column of the raster", "8", choices=(1, 2, 4, 8)),
    KnobRow(
        "shared", "count", "KiB of a block: every card has 99, sm_86 and sm_89 no more", "99", choices=(99, 163)
    ),
    KnobRow(
        "math",
        "word",
        "how f32 is multiplied",
        "tf32 (policy strict: tf32x3 if large, else f32)",
        words=("f32", "tf32", "tf32x3", "f16", "bf16"),
    ),
    KnobRow("acc", "word", "type of the sums; f16 for f16 products alone", "f32", words=("f32", "f16")),
    KnobRow("out", "word", "type of the result", "the operands' type", words=("f32", "f16", "bf16")),
)
_SM80_CONV = (
    _CONV_LAYOUT,
    _SM80_BMM[0],
    KnobRow("math", "word", "a plain FMA kernel for any layout and type", "f32", words=("f32",)),
    KnobRow("acc", "word", "type of the sums", "f32", words=("f32",)),
    KnobRow("out", "word", "type of the result", "the operands' type", words=("f32", "f16", "bf16")),
)
_SM80_GEMM = (
    *_SM80_BMM,
    KnobRow("split", "count", "parts of K, summed at the end", "1", most=64),
    KnobRow("schedule", "word", "streamk spreads K evenly over the card", "auto", words=("auto", "streamk")),
)

KNOBS: dict[Target, dict[str, tuple[KnobRow, ...]]] = {
    Target.HOST: {
        **dict.fromkeys(("gemm", "bmm", "grouped_gemm"), _HOST_GEMM),
        "conv": _HOST_CONV,
        **dict.fromkeys(("map", "cast", "relayout", *ROW_STAGES.values()), _HOST_MAP),
        **dict.fromkeys(("pad", "pool"), _HOST_MAP[:1]),
    },
    Target.SM90A: {
        **dict.fromkeys(("gemm", "bmm", "grouped_gemm"), _SM90A_GEMM),
        "conv": _SM90A_CONV,
        **dict.fromkeys(("map", "cast", *MOVING), _SM90A_MAP),
        **dict.fromkeys(ROW_STAGES.values(), _SM90A_ROWS),
    },
    Target.SM80: {
        "gemm": _SM80_GEMM,
        "bmm": _SM80_BMM,
        "conv": _SM80_CONV,
        **dict.fromkeys(("map", "cast", *MOVING), _SM90A_MAP),
        **dict.fromkeys(ROW_STAGES.values(), _SM90A_ROWS),
    },
}
"""By target and operation, under the name that it has in the checked program."""


def knob_rows(op: str, target: Target) -> dict[str, KnobRow]:
    """The knobs of ``op`` on ``target`` by name; none for views and torch stages."""
    return {row.name: row for row in KNOBS.get(target, {}).get(kernel_op(op), ())}


def known_anywhere(op: str) -> list[str]:
    """Names of ``op``'s knobs on any target."""
    kernel = kernel_op(op)
    return sorted({row.name for by_op in KNOBS.values() for row in by_op.get(kernel, ())})


def read_knobs(stage: Assign, op: str, target: Target, scope: Scope) -> dict[str, KnobData]:
    """What the stage sets itself, by name; errors are noted and their knobs left out, and so is ``auto`` where it
    only means the default."""
    rows = knob_rows(op, target)
    written: dict[str, KnobData] = {}
    seen: set[str] = set()
    for knob in stage.knobs:
        if knob.name in seen:
            scope.note(RepeatedKnob(knob.span, found=knob.name))
        elif knob.name in rows and _says_auto(knob) and "auto" not in rows[knob.name].words:
            pass
        elif knob.name in rows:
            try:
                written[knob.name] = _read(knob, rows[knob.name], scope)
            except Failed:
                continue
        elif knob.name in known_anywhere(op):
            message = f"{op} has no knob {knob.name} on {target}: ignored there"
            scope.caution("knob-ignored", message, knob.span)
        else:
            scope.note(_unknown(knob, op))
        seen.add(knob.name)
        scope.knob_places.setdefault((stage.target, knob.name), knob.span)
    return written


def _says_auto(knob: Knob) -> bool:
    return len(knob.args) == 1 and isinstance(knob.args[0], Name) and knob.args[0].text == "auto"


def _unknown(knob: Knob, op: str) -> DslError:
    legal = ", ".join(known_anywhere(op)) or "none"
    return UnknownKnob(knob.span, op=op, found=knob.name, legal=legal)


def _read(knob: Knob, row: KnobRow, scope: Scope) -> KnobData:
    args = knob.args
    if len(args) == 1 and isinstance(args[0], Sequence):
        args = args[0].items
    values = [arg.value if isinstance(arg, Number) else arg.text if isinstance(arg, Name) else None for arg in args]
    found = ", ".join(map(format_value, args))
    if row.form == "word" and len(values) == 1 and values[0] in row.words:
        return str(values[0])
    if row.form == "count" and len(values) == 1:
        if values[0] in row.words:
            return 0
        if _is_number(values[0], row):
            return int(str(values[0]))
    if row.form == "ints" and len(values) == row.count and all(_is_number(value, row) for value in values):
        return [int(str(value)) for value in values]
    raise scope.fail(KnobValue(knob.span, knob=row.name, found=found, legal=row.legal))


def _is_number(value: int | float | str | None, row: KnobRow) -> bool:
    if not isinstance(value, int):
        return False
    if row.choices:
        return value in row.choices
    return row.least <= value <= row.most and value % row.step == 0
