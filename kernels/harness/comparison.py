"""How far an output is from the reference, by several measures at once. Runs only in the supervisor (torch on top).

Errors are measured against the float64 reference, with those of torch eager in the problem's own precision beside
them, where the reference's outputs lie: on the card, if they were left there. Outputs are gone through once, in pieces:
a large output costs neither several passes through memory nor copies of its size. It makes no checks; ``checks`` does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import torch
from torch import Tensor

from kernels.harness.arena import POISON_OF_INTEGERS
from kernels.harness.correctness import Errors, Tile
from kernels.harness.evaluation import Tolerance
from kernels.harness.pieces import TILE, Piece, add_tiles, each_piece, in_pieces, workers

EAGER_FACTOR = 4.0
"""A candidate may be this many times as far from float64 as torch eager is, where that is beyond the tolerance."""

_TINY = 1e-300
_WHOLE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Expected:
    """Reference outputs for one set of inputs: in the problem's own precision, and in float64.

    ``exact_note`` is empty where the float64 model ran; else it says why ``exact`` is the own-precision result.
    """

    own: list[Tensor]
    exact: list[Tensor]
    exact_note: str
    _eager: dict[Tolerance, Measures] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def scales(self) -> list[Scale]:
        """What errors of each output are measured by."""
        return [_scale(exact, own) for exact, own in zip(self.exact, self.own, strict=True)]

    def eager(self, tolerance: Tolerance) -> Measures:
        """Torch eager's own measures; measured once a tolerance."""
        if tolerance not in self._eager:
            self._eager[tolerance] = measure(self.own, self, tolerance, as_far_as_eager=False)
        return self._eager[tolerance]


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of one output where it has numbers: root mean square, largest magnitude, squared norms of whole and tiles.

    ``own_error`` is torch eager's largest error.
    """

    typical: float
    peak: float
    square: float
    tiles: Tensor
    own_error: float


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of ``Errors``, and of the output as a whole: ``worst`` is the index of the element that is farthest
    beyond what it is allowed, led by the number of the output; ``zero``: an output is all zero and its reference is
    not; ``reference_zero``: all of the reference is.
    """

    errors: Errors
    worst: tuple[int, ...]
    zero: bool
    reference_zero: bool

    @property
    def relative(self) -> float:
        return self.errors.relative

    @property
    def absolute(self) -> float:
        return self.errors.absolute

    @property
    def matched(self) -> float:
        return self.errors.matched

    @property
    def stray(self) -> int:
        return self.errors.stray


def measure(
    outputs: list[Tensor], expected: Expected, tolerance: Tolerance, *, as_far_as_eager: bool = True
) -> Measures:
    """The worst of each measure over all outputs.

    ``as_far_as_eager`` lets elements within four times eager's largest error match too; off, the tolerance around
    float64 alone decides (as when eager itself is measured).
    """
    if not as_far_as_eager:
        tolerance = replace(tolerance, against="float64")
    each = [
        _measure_one(number, *tensors, tolerance, as_far_as_eager)
        for number, tensors in enumerate(zip(outputs, expected.exact, expected.own, expected.scales, strict=True))
    ]
    errors = [one.errors for one in each]
    least = min(each, key=lambda one: one.matched)
    worst = max(each, key=lambda one: one.relative) if least.matched == 1.0 else least
    tiles = [one.tile for one in errors if one.tile is not None]
    return Measures(
        Errors(
            relative=max(one.relative for one in errors),
            elementwise=max(one.elementwise for one in errors),
            normwise=max(one.normwise for one in errors),
            absolute=max(one.absolute for one in errors),
            matched=least.matched,
            matched_own=min(one.matched_own for one in errors),
            matched_float64=min(one.matched_float64 for one in errors),
            stray=sum(one.stray for one in errors),
            unwritten=sum(one.unwritten for one in errors),
            tile=max(tiles, key=lambda tile: tile.error, default=None),
        ),
        worst=worst.worst,
        zero=any(one.zero and not one.reference_zero for one in each),
        reference_zero=all(one.reference_zero for one in each),
    )


def magnitude(expected: Expected) -> float:
    """The largest finite magnitude of any reference output; 0 where there is none."""
    return max((scale.peak for scale in expected.scales), default=0.0)


def moved(before: Expected, after: Expected) -> list[float]:
    """How far each output of the reference moved between two inputs: largest difference over largest magnitude."""
    found = []
    for old, new, scale in zip(before.exact, after.exact, after.scales, strict=True):
        old, new = _as_matrices(old), _as_matrices(new)
        gaps = [0.0]
        each_piece(new, partial(_add_gap, gaps, old, new))
        gap = max(gaps)
        found.append(gap / scale.peak if scale.peak else math.inf if gap else 0.0)
    return found


def _add_gap(gaps: list[float], old: Tensor, new: Tensor, piece: Piece) -> None:
    gaps.append(float((new[piece] - old[piece]).abs().nan_to_num(0.0, 0.0, 0.0).amax()))


def disagree(
    first: list[Tensor], again: list[Tensor], expected: Expected, tolerance: Tolerance
) -> tuple[float, int]:
    """Two calls on the same inputs: the largest finite difference, and how many elements differ by more than two right
    answers could (twice what each is allowed)."""
    found: list[tuple[float, int]] = [(0.0, 0)]
    for one, other, exact, scale in zip(first, again, expected.exact, expected.scales, strict=True):
        rule = _rule(tolerance, exact.dtype if one.is_floating_point() else one.dtype)
        matrices = [_as_matrices(tensor.to(exact.device)) for tensor in (one, other, exact)]
        each_piece(matrices[2], partial(_add_disagreement, found, matrices, scale, rule))
    return max(largest for largest, _ in found), sum(beyond for _, beyond in found)


def _add_disagreement(
    found: list[tuple[float, int]], matrices: list[Tensor], scale: Scale, rule: Tolerance, piece: Piece
) -> None:
    a, b, exact = matrices[0][piece].double(), matrices[1][piece].double(), matrices[2][piece]
    same = (a == b) | (a.isnan() & b.isnan())
    gap = (a - b).abs_()
    allowed = _allowed(exact, scale, rule).clamp_min_(EAGER_FACTOR * scale.own_error).mul_(2)
    # A difference that is no number is beyond every limit.
    beyond = int((~same & ~(gap <= allowed)).sum())
    found.append((float(gap.nan_to_num_(0.0, 0.0, 0.0).amax()), beyond))


# --- one output -------------------------------------------------------------------------------------------------------


def _measure_one(
    number: int, seen: Tensor, exact: Tensor, own: Tensor, scale: Scale, tolerance: Tolerance, as_far_as_eager: bool
) -> Measures:
    shape = tuple(exact.shape)
    if exact.numel() == 0:
        return Measures(Errors(0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0, 0, None), (number,), False, True)
    slack = EAGER_FACTOR * scale.own_error if as_far_as_eager else 0.0
    tiles = torch.zeros_like(scale.tiles)
    tally = _Tally(seen, exact, own, scale, tolerance, slack, tiles)
    others = [_Tally(seen, exact, own, scale, tolerance, slack, tiles) for _ in range(workers(tally.exact) - 1)]
    in_pieces(tally.exact, [tally.add, *(other.add for other in others)])
    for other in others:
        tally.merge(other)
    count = exact.numel()
    square = float(tally.tiles.sum())
    return Measures(
        Errors(
            relative=_over(tally.largest, scale.peak),
            elementwise=tally.elementwise,
            normwise=_over(math.sqrt(square), math.sqrt(scale.square)),
            absolute=tally.largest,
            matched=tally.right / count,
            matched_own=tally.right_own / count,
            matched_float64=tally.right_float64 / count,
            stray=tally.stray,
            unwritten=tally.unwritten,
            tile=_worst_tile(number, shape, tally.tiles, scale),
        ),
        worst=(number, *_index(tally.worst, shape)),
        zero=not tally.nonzero,
        reference_zero=not bool(exact.any()),
    )


class _Tally:
    """Sums and maxima over the pieces of one output."""

    def __init__(
        self,
        seen: Tensor,
        exact: Tensor,
        own: Tensor,
        scale: Scale,
        tolerance: Tolerance,
        slack: float,
        tiles: Tensor,
    ) -> None:
        self.seen, self.exact, self.own = map(_as_matrices, (seen.to(exact.device), exact, own))
        self.scale = scale
        self.rule = _rule(tolerance, own.dtype)
        self.slack = slack
        self.tiles = tiles
        self.right = self.right_own = self.right_float64 = self.stray = self.unwritten = self.worst = 0
        self.largest, self.elementwise, self._excess = 0.0, 0.0, -math.inf
        self.nonzero = False

    def merge(self, other: _Tally) -> None:
        """Take over what another has of other pieces of the same output; ``tiles`` are shared anyway."""
        for name in ("right", "right_own", "right_float64", "stray", "unwritten"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest = max(self.largest, other.largest)
        self.elementwise = max(self.elementwise, other.elementwise)
        self.nonzero = self.nonzero or other.nonzero
        # Of equals the first in the output, as one thread would find it.
        if (other._excess, -other.worst) > (self._excess, -self.worst):
            self._excess, self.worst = other._excess, other.worst

    def add(self, piece: Piece) -> None:
        """One piece, as ``pieces`` cuts them."""
        exact, own, seen = self.exact[piece], self.own[piece].double(), self.seen[piece].double()
        error = (seen - exact).abs_()
        gap = (seen - own).abs_()
        allowed = _allowed(exact, self.scale, self.rule)
        if self.rule.absolute:
            # torch.allclose(reference, candidate) scales with the candidate.
            near_own = gap <= seen.abs().mul_(self.rule.relative).add_(self.rule.absolute)
        else:
            near_own = gap <= allowed
        odd = not math.isfinite(float(error.amax()) + float(gap.amax()))
        if odd:
            near_own = torch.where(gap.isfinite(), near_own, seen == own)
        near = error <= allowed
        right = error <= allowed.clamp_min_(self.slack)
        if self.rule.against == "own":
            right |= near_own
        size = exact.abs()
        if odd:
            right, near, error, size = self._odd(exact, own, seen, right, near, error, size)
        self.nonzero = self.nonzero or bool(seen.any())
        self._count(piece, right, near_own, near)
        self.largest = max(self.largest, float(error.amax()))
        self._place(piece, error, allowed, right)
        self.elementwise = max(
            self.elementwise, float((error / size.clamp_min_(max(self.scale.typical, _TINY))).amax())
        )
        add_tiles(self.tiles, piece, error.square_())

    def _odd(self, exact: Tensor, own: Tensor, seen: Tensor, right: Tensor, near: Tensor, error: Tensor,
             size: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
        """A piece in which something is NaN or infinite: right where the reference has the same."""
        numbers = torch.isfinite(exact) & torch.isfinite(own)
        error = error.nan_to_num_(nan=math.inf, posinf=math.inf)
        same = (seen == own) | (seen.isnan() & own.isnan())
        wide = torch.isfinite(exact)
        right = torch.where(numbers, right, same | (wide & right))
        near = torch.where(numbers, near, same | (wide & near))
        self.stray += int((numbers & ~torch.isfinite(seen)).sum())
        zero = torch.zeros_like(error)
        return right, near, torch.where(numbers, error, zero), torch.where(numbers, size, zero)

    def _count(self, piece: Piece, right: Tensor, near_own: Tensor, near: Tensor) -> None:
        count = right.numel()
        found = int(right.sum())
        self.right += found
        self.right_own += int(near_own.sum())
        self.right_float64 += int(near.sum())
        if found < count:
            self.unwritten += _unwritten(self.seen[piece], ~right)

    def _place(self, piece: Piece, error: Tensor, allowed: Tensor, right: Tensor) -> None:
        """Where an element is farthest beyond what it is allowed; one that is not right comes before those that are."""
        excess = (error - allowed).nan_to_num_(nan=0.0, posinf=1e300)
        if not bool(right.all()):
            excess = torch.where(right, -1.0, excess.clamp_min_(0.0))
        if float(excess.amax()) > self._excess:
            self._excess = float(excess.amax())
            batch, row, column = _index(int(excess.reshape(-1).argmax()), tuple(excess.shape))
            first = [part.start or 0 for part in piece]
            _, rows, columns = self.exact.shape
            self.worst = ((first[0] + batch) * rows + first[1] + row) * columns + first[2] + column


def _rule(tolerance: Tolerance, dtype: torch.dtype) -> Tolerance:
    """The tolerance for elements of a type: whole numbers must be equal."""
    if dtype.is_floating_point:
        return tolerance
    return Tolerance(tolerance.name, 0.0, 0.0, tolerance.against)


def _allowed(exact: Tensor, scale: Scale, rule: Tolerance) -> Tensor:
    size = exact.abs()
    if rule.absolute == 0:
        # Without an absolute part, an element that cancellation made small is held to the typical magnitude.
        size.clamp_min_(scale.typical)
    return size.mul_(rule.relative).add_(rule.absolute)


def _scale(exact: Tensor, own: Tensor) -> Scale:
    exact, own = _as_matrices(exact), _as_matrices(own)
    batch, rows, columns = exact.shape
    tiles = torch.zeros(batch, -(-rows // TILE), -(-columns // TILE), dtype=torch.float64, device=exact.device)
    found: list[tuple[int, float, float]] = [(0, 0.0, 0.0)]

    def look(piece: Piece) -> None:
        x, o = exact[piece], own[piece].double()
        gap, size, count = (o - x).abs_(), x.abs(), x.numel()
        if not math.isfinite(float(gap.amax())):
            numbers = torch.isfinite(x) & torch.isfinite(o)
            count = int(numbers.sum())
            gap, size = (torch.where(numbers, t, torch.zeros_like(t)) for t in (gap, size))
        found.append((count, float(size.amax()), float(gap.amax())))
        add_tiles(tiles, piece, size.square_())

    each_piece(exact, look)
    count, peak, error = sum(n for n, _, _ in found), max(p for _, p, _ in found), max(e for _, _, e in found)
    square = float(tiles.sum())
    return Scale(math.sqrt(square / count) if count else 0.0, peak, square, tiles, error)


def _unwritten(seen: Tensor, wrong: Tensor) -> int:
    """How many wrong elements still hold the poison that every output is filled with before a call."""
    bits = seen.view(_WHOLE[seen.element_size()])
    pattern = bytes([POISON_OF_INTEGERS]) * seen.element_size()
    poison = -1 if seen.is_floating_point() else int.from_bytes(pattern, "little", signed=True)
    return int(((bits == poison) & wrong).sum())


# --- pieces and tiles -------------------------------------------------------------------------------------------------


def _as_matrices(tensor: Tensor) -> Tensor:
    """A view of three dimensions: leading ones as one, rows, columns; what has one dimension is one row."""
    if tensor.dim() < 2:
        return tensor.reshape(1, 1, -1)
    return tensor.reshape(math.prod(tensor.shape[:-2]), *tensor.shape[-2:])


def _worst_tile(number: int, shape: tuple[int, ...], tiles: Tensor, scale: Scale) -> Tile:
    rows, columns = (1, math.prod(shape)) if len(shape) < 2 else shape[-2:]
    high = torch.full((tiles.shape[1], 1), float(TILE), dtype=torch.float64)
    wide = torch.full((1, tiles.shape[2]), float(TILE), dtype=torch.float64)
    high[-1], wide[:, -1] = rows - (len(high) - 1) * TILE, columns - (tiles.shape[2] - 1) * TILE
    floor = high * wide * scale.typical**2
    shares = tiles.cpu() / scale.tiles.cpu().maximum(floor).clamp_min_(_TINY)
    batch, i, j = _index(int(shares.reshape(-1).argmax()), tuple(shares.shape))
    leading = _index(batch, shape[:-2]) if len(shape) > 2 else ()
    ranges = (i * TILE, min((i + 1) * TILE, rows)), (j * TILE, min((j + 1) * TILE, columns))
    return Tile(number, shape, leading, *ranges, math.sqrt(float(shares[batch, i, j])))


def _over(error: float, size: float) -> float:
    return error / size if size else (0.0 if error == 0 else math.inf)


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index: list[int] = []
    for extent in reversed(shape):
        flat, position = divmod(flat, extent)
        index.append(position)
    return tuple(reversed(index))
