"""How the rows of a reduce, softmax or norm are spread over threads and blocks."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.codegen.cuda.expression import chain_loads
from kernels.codegen.cuda.row_states import KINDS
from kernels.codegen.row_space import RowSpace, operand_steps, prologue_steps, result_steps, row_space
from kernels.dsl.ir import Stage

_TRANSACTION = 16
_GROUPS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
_SPLIT_THREADS = 256
# Of a block that reduces rows too long to hold: measured, 512 with 8 loads under way are the fastest by a little.
_LONG_THREADS = 512
# An H100 has 132 SMs (114 as a PCIe card); eight blocks of 256 threads fill one, or four of 512.
_SMS = 132
_SPLIT_BLOCKS = 8 * _SMS
# Of blocks that reduce a long row together: measured, as many as are at work at once are the fastest.
_JOINT_THREADS, _JOINT_BLOCKS = 512, 4 * _SMS
# With as many blocks a row, at most one in so many SMs is idle.
_EVEN = 16
_SPLIT_BYTES = 64 * 1024
# Rows of one block each up to this size are still in the L2 cache (50 MB) when they are read again.
_CACHED_BYTES = 128 * 1024
# A thread's part of a row, in bytes: 32 registers, half of what a thread of a block of 1,024 has.
_HELD_BYTES = 128
_HELD_LANES = 32
# Rows of at least this many bytes are worth single elements at both ends, so that the rest is loaded 16 bytes at once.
_RAGGED_BYTES = 1024
_SHARED_BYTES = 48 * 1024
# Neighbouring rows are read at least this far, so that memory's sectors of 32 bytes are used whole.
_LEAST_ACROSS = 64


@dataclass(frozen=True, slots=True)
class RowSchedule:
    """``threads`` work on a row, ``rows`` rows share a block, a thread takes ``lanes`` elements at once.

    ``held`` vectors of a row stay in a thread's registers; with 0 the row is read again where it is needed twice.
    ``splits`` over 1 cut a row into that many parts, each a block's, joined by a second launch. ``ragged`` rows begin
    and end between vectors: what is left at both ends is taken element by element.
    """

    threads: int
    rows: int
    lanes: int
    held: int
    splits: int
    ragged: bool = False

    @property
    def block(self) -> int:
        """Threads of a block."""
        return self.threads * self.rows


@dataclass(frozen=True, slots=True)
class LaneSchedule:
    """For rows that lie side by side: a thread takes ``lanes`` rows, ``across`` threads the rows next to them.

    ``along`` threads share the elements of a row, ``splits`` blocks too where over 1; ``held`` as in RowSchedule.
    """

    across: int
    along: int
    lanes: int
    held: int
    splits: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.across * self.along


def space_of(stage: Stage) -> RowSpace:
    """The stage's rows, cut so that weight, bias, what the chain loads and a reduction's result step evenly.

    The result of a reduction follows them as an operand; what x's elements are computed from comes last.
    """
    steps = operand_steps(stage, chain_loads(stage.chain))
    result = [result_steps(stage, stage.result)] if stage.op == "reduce" else []
    return row_space(stage, [*steps, *result, *prologue_steps(stage)])


def row_lanes(stage: Stage, space: RowSpace) -> tuple[int, bool]:
    """Elements a thread takes at once, and whether rows are ragged.

    That is what the knob asks for, or 16 bytes, halved until pieces of rows begin aligned; long rows of one piece may
    begin anywhere.
    """
    x, columns = stage.operands[0], int(stage.attributes["columns"])
    aligned = widest = _most_lanes(stage)
    while x.offset % widest:
        widest //= 2
    piece = space.reduced[-1].extent if space.reduced else 1
    aligned = widest
    while piece % aligned:
        aligned //= 2
    if aligned < widest and len(space.reduced) == 1 and columns * x.dtype.bytes >= _RAGGED_BYTES:
        return widest, True
    return aligned, False


def _most_lanes(stage: Stage) -> int:
    most = _TRANSACTION // stage.operands[0].dtype.bytes
    asked = min(int(stage.knobs["vector"]) or most, most)
    return 1 << (asked.bit_length() - 1)


def _asked_threads(stage: Stage) -> int:
    asked = int(stage.knobs["threads"])
    if asked and (not 32 <= asked <= 1024 or asked % 32):
        legal = "auto or a multiple of 32 up to 1024"
        raise KnobWithoutCode(stage=stage.name, knob="threads", found=asked, legal=legal)
    return asked


def schedule_rows(stage: Stage) -> RowSchedule:
    """The schedule of rows that lie in pieces; raises KnobWithoutCode for a number of threads that no block has."""
    (lanes, ragged), asked = row_lanes(stage, space_of(stage)), _asked_threads(stage)
    rows, columns = int(stage.attributes["rows"]), int(stage.attributes["columns"])
    vectors, size = columns // lanes, stage.operands[0].dtype.bytes
    most = min(_HELD_BYTES // (lanes * size), _HELD_LANES // lanes)
    fits = vectors <= most * (asked or _GROUPS[-1]) or columns * size <= _CACHED_BYTES
    full = _SMS if fits else (4 if stage.op == "reduce" else 16) * _SMS
    joint = stage.op == "reduce" and rows * (vectors // (2 * _JOINT_THREADS)) >= _JOINT_BLOCKS
    together = asked or (_JOINT_THREADS if joint else _SPLIT_THREADS)
    splits = _splits(rows, vectors, columns * size, together, full)
    at_once = _JOINT_BLOCKS * _JOINT_THREADS // (together * rows)
    if joint and splits > at_once >= _EVEN:
        splits = at_once
    if splits > 1:
        return RowSchedule(together, 1, lanes, 0, splits, ragged)
    # A few vectors a thread keep more loads in flight than threads alone; few rows need all the threads they can get.
    few = rows * -(-vectors // 4) < _SMS * 1024
    at_ease = 1 if few else 16 // lanes if lanes < 4 else 4
    if not few and lanes >= 4 and vectors > 256 * at_ease:
        # Several blocks an SM, of half the threads, keep it busy while one of them waits for its row.
        at_ease = min(8, most)
    threads = asked or next((each for each in _GROUPS if vectors <= each * at_ease), _GROUPS[-1])
    if not asked and stage.op == "reduce" and vectors > threads * most:
        threads = _LONG_THREADS
    held = -(-vectors // threads)
    per_block = 1 if threads > 32 else 128 // threads
    return RowSchedule(threads, per_block, lanes, held if held <= most else 0, 1, ragged)


def _splits(rows: int, vectors: int, row_bytes: int, threads: int, full: int) -> int:
    """Blocks a row, 1 where more than ``full`` rows keep the card busy alone, or rows are short.

    Rows too long for a block's registers and for the cache come from memory twice in any case, so they are cut to
    spread them evenly; what is reduced is read once, so there a few blocks an SM are enough.
    """
    if rows > full or row_bytes < _SPLIT_BYTES:
        return 1
    filling = min(-(-_SPLIT_BLOCKS // rows), vectors // (2 * threads))
    evening = min(-(-4 * _SPLIT_BLOCKS // rows), vectors // (16 * threads))
    return max(1, filling, evening)


def batch_of(schedule: RowSchedule, reduces: bool, streams: int) -> int:
    """Vectors that a thread loads before it takes them in, of rows that it does not hold; ``streams`` are the tensors
    that elements are computed from, 0 where they are x's own. Where blocks take turns with a row that several tensors
    make, each has half as many: more registers there would mean fewer threads on an SM.
    """
    if schedule.lanes <= 2 or (reduces and schedule.splits == 1 and not streams):
        return 8
    return 2 if reduces and schedule.splits > 1 and streams > 1 else 4


def schedule_lanes(stage: Stage) -> LaneSchedule:
    """The schedule of rows that lie side by side; raises KnobWithoutCode as ``schedule_rows``."""
    x, asked, space = stage.operands[0], _asked_threads(stage), space_of(stage)
    columns, lanes = int(stage.attributes["columns"]), _most_lanes(stage)
    while x.offset % lanes or space.kept[-1].extent % lanes:
        lanes //= 2
    state = KINDS[stage.attributes["kind"]].state.bytes
    vectors = int(stage.attributes["rows"]) // lanes
    threads = asked or 256
    while threads * lanes * state > _SHARED_BYTES:
        lanes //= 2
        vectors *= 2
    short = 1 << (max(1, columns // 4).bit_length() - 1)
    across = min(vectors, max(32, threads // short))
    # Blocks share what is next to each other evenly.
    across = -(-vectors // -(-vectors // across))
    held = min(_HELD_BYTES // (lanes * x.dtype.bytes), _HELD_LANES // lanes, 8)
    if stage.op != "reduce" and columns > held * (threads // across):
        across, threads = _gather_in(across, threads, lanes, columns, held, state, x.dtype.bytes, bool(asked))
    along = max(1, threads // across)
    holds = stage.op != "reduce" and columns <= held * along
    blocks = -(-vectors // across)
    splits = 1
    if blocks < (_SMS if holds else 2 * _SMS):
        splits = max(1, min(-(-_SPLIT_BLOCKS // blocks), columns // (8 * along)))
    return LaneSchedule(across, along, lanes, -(-columns // along) if holds and splits == 1 else 0, splits)


def _power_up_to(count: int) -> int:
    """The largest power of two that is not above ``count``."""
    return 1 << (max(1, count).bit_length() - 1)


def _gather_in(
    across: int, threads: int, lanes: int, columns: int, held: int, state: int, size: int, fixed: bool
) -> tuple[int, int]:
    """Fewer threads across and more in all, where that lets rows stay in registers; else what was there."""
    least = max(1, _LEAST_ACROSS // (lanes * size))
    most = threads if fixed else min(1024, _power_up_to(_SHARED_BYTES // (lanes * state)))
    wide, many = across, threads
    while wide > least and columns > held * (many // wide):
        wide //= 2
    while many < most and columns > held * (many // wide):
        many *= 2
    return (wide, many) if columns <= held * (many // wide) else (across, threads)
