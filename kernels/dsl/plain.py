"""What the plain FP32 product of the CUDA cores (``codegen.cuda.simt``) asks of its tile and its grid, on every card.

Each thread sums eight by eight results; rows of tiles lie along x of the grid, columns along y, and a large batch takes
several launches.
"""

from __future__ import annotations

from kernels.dsl.errors import Grid, Tile
from kernels.dsl.ir import Stage
from kernels.dsl.scope import Scope

GRID_LIMIT = 65535
_SHARED_BYTES = 48 * 1024


def check_plain(stage: Stage, ignored: tuple[str, ...], scope: Scope) -> None:
    """The rules ``tile`` and ``grid``; a caution for each of the ``ignored`` knobs that the program wrote."""
    for knob in ignored:
        if knob in stage.written:
            message = f"math(f32) is a plain kernel on the CUDA cores: {knob} is ignored"
            scope.caution("knob-ignored", message, scope.place(stage, knob))
    m, n, k = stage.knobs["tile"]
    whole = m % 8 == 0 and n % 8 == 0
    if not whole or not 32 <= m * n // 64 <= 512 or (m + n + 8) * k * 4 > _SHARED_BYTES:
        why = "math(f32) works on 8×8 sums a thread, in 32 to 512 threads and 48 KiB of shared memory"
        mend = "m and n are multiples of 8, m·n is 2,048 to 32,768 and (m + n + 8)·k at most 12,288"
        scope.note(Tile(scope.place(stage, "tile"), found=f"{m}, {n}, {k}", why=why, mend=mend))
        return
    columns = -(-stage.attributes["n"] // n)
    if columns > GRID_LIMIT:
        what, mend = (
            f"N = {stage.attributes['n']} of {stage.name}",
            f"slice N into stages of {GRID_LIMIT * n} columns",
        )
        scope.note(Grid(stage.span, found=columns, axis="y", what=what, limit=GRID_LIMIT, mend=mend))
