"""How the rows of a reduce, softmax or norm are spread over threads and blocks."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.dsl.ir import Stage

_TRANSACTION = 16
_GROUPS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
_SPLIT_THREADS = 256
# An H100 has 132 SMs (114 as a PCIe card); eight blocks of 256 threads fill one.
_SMS = 132
_SPLIT_BLOCKS = 8 * _SMS
_SPLIT_BYTES = 64 * 1024
# A thread's part of a row, in bytes: 32 registers, half of what a thread of a block of 1,024 has.
_HELD_BYTES = 128
_HELD_LANES = 32


@dataclass(frozen=True, slots=True)
class RowSchedule:
    """``threads`` work on a row, ``rows`` rows share a block, a thread takes ``lanes`` elements at once.

    ``held`` vectors of a row stay in a thread's registers; with 0 the row is read again where it is needed twice.
    ``splits`` over 1 cut a row into that many parts, each a block's, joined by a second launch.
    """

    threads: int
    rows: int
    lanes: int
    held: int
    splits: int

    @property
    def block(self) -> int:
        """Threads of a block."""
        return self.threads * self.rows


def row_lanes(stage: Stage) -> int:
    """Elements a thread takes at once: what the knob asks for, or 16 bytes, halved until rows begin aligned."""
    x, columns = stage.operands[0], int(stage.attributes["columns"])
    most = _TRANSACTION // x.dtype.bytes
    most = min(int(stage.knobs["vector"]) or most, most)
    lanes = 1
    while lanes * 2 <= most and columns % (lanes * 2) == 0 and x.offset % (lanes * 2) == 0:
        lanes *= 2
    return lanes


def schedule_rows(stage: Stage) -> RowSchedule:
    """The schedule of a stage; raises KnobWithoutCode for a number of threads that no block has."""
    lanes, asked = row_lanes(stage), int(stage.knobs["threads"])
    if asked and (not 32 <= asked <= 1024 or asked % 32):
        legal = "auto or a multiple of 32 up to 1024"
        raise KnobWithoutCode(stage=stage.name, knob="threads", found=asked, legal=legal)
    rows, columns = int(stage.attributes["rows"]), int(stage.attributes["columns"])
    vectors, size = columns // lanes, stage.operands[0].dtype.bytes
    splits = _splits(rows, vectors, columns * size, asked or _SPLIT_THREADS)
    if splits > 1:
        return RowSchedule(asked or _SPLIT_THREADS, 1, lanes, 0, splits)
    most = min(_HELD_BYTES // (lanes * size), _HELD_LANES // lanes)
    # A few vectors a thread keep more loads in flight than threads alone; few rows need all the threads they can get.
    few = rows * -(-vectors // 4) < _SMS * 1024
    at_ease = 1 if few else 16 // lanes if lanes < 4 else 4
    threads = asked or next((each for each in _GROUPS if vectors <= each * at_ease), _GROUPS[-1])
    held = -(-vectors // threads)
    per_block = 1 if threads > 32 else 128 // threads
    return RowSchedule(threads, per_block, lanes, held if held <= most else 0, 1)


def _splits(rows: int, vectors: int, row_bytes: int, threads: int) -> int:
    """Blocks a row, 1 where the rows alone keep the card busy or are short."""
    if rows > _SMS or row_bytes < _SPLIT_BYTES:
        return 1
    return max(1, min(-(-_SPLIT_BLOCKS // rows), vectors // (2 * threads)))
