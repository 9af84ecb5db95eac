"""The validation part of a candidate's page: each check with its standing, each round with its errors, the worst tile.

Rows and coordinates over records; nothing is compared here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kernels.harness.correctness import RoundErrors, Tile
from kernels.harness.evaluation import Check, Evaluation

_RULES = {
    "kernelbench": "KernelBench’s rule at 1e−4, halves 1e−2; errors against float64",
    "kernelbench-v0.1": "KernelBench’s first rule, 1e−2; errors against float64",
    "strict": "against float64, scaled by the longest sum",
}
_WIDTH, _MOST_HEIGHT, _LEAST = 132.0, 96.0, 4.0


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check. ``standing`` is "holds", "fails", "recorded" (it decides nothing) or "not done"."""

    check: Check
    standing: str

    @property
    def told(self) -> bool:
        """Whether its note stands beside it: where something is wrong or missing."""
        return self.standing in ("fails", "not done")


@dataclass(frozen=True, slots=True)
class TileMap:
    """Where a tile lies in the last two dimensions of its output, as rectangles in pixels; ``label`` in words."""

    width: float
    height: float
    x: float
    y: float
    w: float
    h: float
    label: str


class ValidationPanel:
    """Of one evaluation; ``tolerance`` is the name of the run's profile."""

    def __init__(self, evaluation: Evaluation, tolerance: str) -> None:
        self.evaluation = evaluation
        self.rule = _RULES.get(tolerance, tolerance)
        self.tolerance = tolerance

    @cached_property
    def rows(self) -> list[CheckRow]:
        """Failed checks first, then those that decided, those that are kept beside them, those that were not done."""
        order = {"fails": 0, "holds": 1, "recorded": 2, "not done": 3}
        found = [CheckRow(check, _standing(check)) for check in self.evaluation.checks]
        return sorted(found, key=lambda row: order[row.standing])

    @property
    def counts(self) -> str:
        """``14 hold, 1 fails, 6 recorded, 1 not done``."""
        names = [row.standing for row in self.rows]
        held = names.count("holds")
        parts = [f"{held} hold{'s' if held == 1 else ''}"]
        parts += [f"{names.count(name)} {word}" for name, word in _OTHERS if name in names]
        return ", ".join(parts)

    @property
    def told(self) -> list[CheckRow]:
        """The checks that have something to say, in the order in which they were made."""
        return [CheckRow(check, _standing(check)) for check in self.evaluation.checks if check.note]

    @property
    def rounds(self) -> tuple[RoundErrors, ...]:
        """All rounds, those not done too."""
        return self.evaluation.rounds

    @cached_property
    def tile(self) -> tuple[RoundErrors, Tile] | None:
        """The worst tile of all rounds with its round; None where no round was compared."""
        found = [
            (round_, round_.errors.tile)
            for round_ in self.rounds
            if round_.errors is not None and round_.errors.tile is not None
        ]
        return max(found, key=lambda pair: pair[1].error, default=None)

    @cached_property
    def map(self) -> TileMap | None:
        """The worst tile drawn in its output."""
        return tile_map(self.tile[1]) if self.tile is not None else None


_OTHERS = (("fails", "failed"), ("recorded", "recorded"), ("not done", "not done"))


def _standing(check: Check) -> str:
    if not check.done:
        return "not done"
    if not check.passed:
        return "fails"
    return "recorded" if check.seen is not None and check.limit is None else "holds"


def tile_map(tile: Tile) -> TileMap:
    """The whole output as wide as there is room, in its own proportions as far as these can be seen."""
    rows, columns = (1, tile.columns[1]) if len(tile.shape) < 2 else tile.shape[-2:]
    if len(tile.shape) == 1:
        columns = tile.shape[0]
    height = min(max(_WIDTH * rows / max(columns, 1), 12.0), _MOST_HEIGHT)
    width = max(min(_WIDTH, height * columns / max(rows, 1)), 24.0)
    x, w = _span(tile.columns, columns, width)
    y, h = _span(tile.rows, rows, height)
    return TileMap(round(width, 1), round(height, 1), x, y, w, h, f"the worst tile, {tile.words}, in its output")


def _span(ends: tuple[int, int], extent: int, room: float) -> tuple[float, float]:
    """Start and length in pixels, never too small to be seen and never outside."""
    length = max((ends[1] - ends[0]) / max(extent, 1) * room, _LEAST)
    return round(min(ends[0] / max(extent, 1) * room, room - length), 1), round(length, 1)
