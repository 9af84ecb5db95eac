"""How each operation hands need on to its operands. A rule that cannot tell gives None: then all is needed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sol.bounds import demand_views
from sol.bounds.graph import Call, Value
from sol.bounds.known import kept_by
from sol.bounds.ops.attention import ATTENTIONS
from sol.bounds.ops.constructors import CONSTRUCTORS, RANDOM
from sol.bounds.ops.convolution import CONVOLUTIONS, describe
from sol.bounds.ops.matmul import MATMULS, operand_positions
from sol.bounds.ops.movement import COPIES
from sol.bounds.ops.normalisation import BATCH_NORMS, GROUP_NORMS, trains
from sol.bounds.ops.pointwise import PER_ELEMENT
from sol.bounds.ops.pooling import AVG_POOLS, MAX_POOLS, rank_of, window
from sol.bounds.ops.reductions import PER_INPUT
from sol.bounds.ops.softmax import SOFTMAXES
from sol.bounds.regions import Axis, Region, full, some, windows

Need = tuple[Value, Region]
NeedRule = Callable[[Call, dict[int, Region], bool], "list[Need] | None"]

NEEDS_NOTHING = CONSTRUCTORS | RANDOM
"""Operations whose operands give a shape and no values."""


def rule_for(op: str) -> NeedRule | None:
    """The rule of an operation by packet name."""
    return _RULES.get(op)


def _one(wanted: dict[int, Region]) -> Region | None:
    """The region of an operation whose first result alone is needed."""
    return wanted[0] if set(wanted) == {0} else None


def pointwise(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """The same region of each operand, broadcast axes in full."""
    region = _one(wanted)
    if region is None:
        return None
    return [
        (value, broadcast(region, call.out.shape, call.view.spec(value).shape))
        for value in dict.fromkeys(call.values)
    ]


def masked(call: Call, wanted: dict[int, Region], cautious: bool) -> list[Need] | None:
    """Of what a known mask covers, as much as it lets through."""
    needs = pointwise(call, wanted, cautious)
    if needs is None:
        return None
    found = []
    for value, region in needs:
        kept = kept_by(call, value) if call.view.spec(value).shape == call.out.shape else None
        share = 1.0 if kept is None else kept.share
        found.append((value, _let_through(call, value, region, share, cautious)))
    return found


def _let_through(call: Call, value: Value, region: Region, share: float, cautious: bool) -> Region:
    """That share of each row and column. Of what the graph computes only where the least is asked for: it may need
    all of its own operands for any share."""
    if not cautious and value[0] in call.view.producers:
        return region
    return Region(region.axes, share, True) if share < region.share else region


def broadcast(region: Region, made: tuple[int, ...], given: tuple[int, ...]) -> Region:
    """A result's region in an operand that was broadcast to it."""
    lead = len(made) - len(given)
    axes = tuple(
        region.axes[lead + place] if extent == made[lead + place] else None for place, extent in enumerate(given)
    )
    return region.along(axes) if made == given else Region(axes, region.share)


def matmul(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """Rows of the left factor and columns of the right one."""
    region = _one(wanted)
    if region is None or call.op in ("outer", "addr", "addbmm"):
        return None
    left_at, right_at = operand_positions(call.op)
    linear = call.op == "linear"
    left, right = call.value(left_at, "input"), call.value(right_at, "weight")
    if left is None or right is None:
        return None
    left_shape, right_shape = call.view.spec(left).shape, call.view.spec(right).shape
    if len(left_shape) < 2 or len(right_shape) < 2:
        return None
    batch, rows, columns = region.axes[:-2], region.axes[-2], region.axes[-1]
    share = region.share
    if region.spread and not may_be_triangular(call, left_shape, right_shape):
        share = 1.0  # some of every row and column takes all rows and columns
    left_lead = batch[len(batch) - (len(left_shape) - 2) :] if len(left_shape) > 2 else ()
    needs = [(left, Region((*_fit(left_lead, left_shape), rows, None), share))]
    if linear:
        needs.append((right, Region((columns, None), share)))
    else:
        right_lead = batch[len(batch) - (len(right_shape) - 2) :] if len(right_shape) > 2 else ()
        needs.append((right, Region((*_fit(right_lead, right_shape), None, columns), share)))
    for value in dict.fromkeys(call.values):
        if value not in (left, right):
            needs.append((value, broadcast(region, call.out.shape, call.view.spec(value).shape)))
    return needs


def may_be_triangular(call: Call, *factors: tuple[int, ...]) -> bool:
    """Whether both factors are square, and inputs or parameters: data may hold triangles that no graph shows."""
    given = all(value[0] not in call.view.producers for value in call.values[-2:])
    return given and all(shape[-1] == shape[-2] for shape in factors)


def _fit(lead: tuple[Axis, ...], shape: tuple[int, ...]) -> tuple[Axis, ...]:
    return tuple(
        axis if axis is None or len(axis) == extent else None for axis, extent in zip(lead, shape, strict=False)
    )


def convolution(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """Samples one for one; along each spatial axis what the windows touch; of the weight, the channels made."""
    region = _one(wanted)
    given, weight = call.value(0, "input"), call.value(1, "weight")
    if region is None or given is None or weight is None:
        return None
    conv = describe(call)
    rank = len(conv.kernel)
    made = region.axes[-rank:]
    spatial = tuple(
        _transposed_axis(conv.spatial_in[a], conv.spatial_out[a], conv.kernel[a], conv.stride[a], conv.padding[a],
                         conv.dilation[a])
        if conv.transposed
        else windows(conv.spatial_in[a], conv.spatial_out[a], conv.kernel[a], conv.stride[a], conv.padding[a],
                     conv.dilation[a], made[a])
        for a in range(rank)
    )  # fmt: skip
    lead = region.axes[: len(region.axes) - rank - 1]
    channels = region.axes[-rank - 1]
    needs: list[Need] = [(given, Region((*lead, None, *spatial), region.share))]
    weight_axes: tuple[Axis, ...] = (None,) * (rank + 2)
    if not conv.transposed:
        weight_axes = (channels, *(None,) * (rank + 1))
    needs.append((weight, Region(weight_axes)))
    bias = call.value(2, "bias")
    if bias is not None:
        needs.append((bias, Region((channels,))))
    return needs


def _transposed_axis(given: int, made: int, kernel: int, stride: int, padding: int, dilation: int) -> Axis:
    # An input pixel is needed where one of its taps lands inside the output.
    starts = np.arange(given)
    read = np.zeros(given, dtype=np.bool_)
    for tap in range(kernel):
        places = starts * stride - padding + tap * dilation
        read |= (places >= 0) & (places < made)
    return None if bool(read.all()) else read


def reduction(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """Reduced axes in full, the others as they are needed."""
    if call.op in ("max", "min") and len(call.operands) == 2:
        return pointwise(call, wanted, False)
    region = next(iter(wanted.values()))
    value, shape = call.values[0], call.first.shape
    made = call.out.shape
    if len(wanted) != 1 or region.is_full:
        return [(value, full(len(shape)))]
    reduced = call.axes()
    if len(made) == len(shape):
        axes = tuple(
            None if place in reduced or extent != made[place] else region.axes[place]
            for place, extent in enumerate(shape)
        )
    elif len(made) == len(shape) - len(reduced):
        left = iter(region.axes)
        axes = tuple(None if place in reduced else next(left) for place in range(len(shape)))
    else:
        return None
    return [(value, Region(axes, region.share))]


def softmax(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """Its own axis in full."""
    region = _one(wanted)
    axis = call.argument(1, "dim")
    if region is None or not isinstance(axis, int):
        return None
    rank = len(region.axes)
    axes = tuple(None if place == axis % rank else kept for place, kept in enumerate(region.axes))
    return [(call.values[0], Region(axes, region.share))]


def normalisation(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """Leading axes as they are needed, whatever the statistics span in full."""
    region = wanted.get(0)
    if region is None or len(wanted) != 1:
        return None
    spanned = len(call.integers(1, "normalized_shape", ()))
    keep = len(region.axes) - spanned if "layer_norm" in call.op else 1
    axes = (*region.axes[:keep], *(None,) * (len(region.axes) - keep))
    rest = [(value, full(len(call.view.spec(value).shape))) for value in dict.fromkeys(call.values[1:])]
    return [(call.values[0], Region(axes, region.share)), *rest]


def batch_norm(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """Training: channels as they are needed, without the running statistics. Otherwise element by element."""
    region = wanted.get(0)
    if region is None or len(region.axes) < 2:
        return None
    channel = region.axes[1]
    training = trains(call)
    axes = (None, channel, *(None,) * (len(region.axes) - 2)) if training else region.axes
    needs: list[Need] = [(call.values[0], Region(axes, region.share))]
    weight, bias, _place = BATCH_NORMS[call.op]
    used = [call.value(weight, "weight"), call.value(bias, "bias")]
    if not training:
        used += [call.value(3, "running_mean"), call.value(4, "running_var")]
    return [*needs, *((value, Region((channel,))) for value in used if value is not None)]


def pooling(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """Samples and channels one for one; along each spatial axis what the windows touch."""
    region = next(iter(wanted.values()))
    rank = rank_of(call.op)
    shape, made = call.first.shape[-rank:], call.out.shape[-rank:]
    kernel = window(call)
    dilation = call.integers(4, "dilation", (1,)) if call.op in MAX_POOLS else (1,)
    stride, padding = call.integers(2, "stride", kernel), call.integers(3, "padding", (0,))
    spread = [item * rank if len(item) == 1 else item for item in (stride, padding, dilation)]
    wanted_axes = region.axes[-rank:] if len(wanted) == 1 else (None,) * rank
    spatial = tuple(
        windows(shape[a], made[a], kernel[a], spread[0][a], spread[1][a], spread[2][a], wanted_axes[a])
        for a in range(rank)
    )
    lead = region.axes[:-rank] if len(wanted) == 1 else (None,) * (len(region.axes) - rank)
    return [(call.values[0], Region((*lead, *spatial), region.share))]


def attention(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """Batch, head and query rows as they are needed; of those heads all keys and values."""
    region = _one(wanted)
    if region is None:
        return None
    lead = region.axes[:-2]
    needs: list[Need] = []
    for place, name in enumerate(("query", "key", "value")):
        value = call.value(place, name)
        if value is None:
            return None
        rows = region.axes[-2] if place == 0 else None
        fits = _fit(lead, call.view.spec(value).shape)
        needs.append((value, Region((*fits, rows, None), region.share)))
    mask = call.value(3, "attn_mask")
    if mask is not None:
        needs.append((mask, full(len(call.view.spec(mask).shape))))
    return needs


def lookup(call: Call, wanted: dict[int, Region], cautious: bool) -> list[Need] | None:
    """All indices; of the table as many elements as come out, or, where indices may all be the same, one row."""
    table = call.first
    come_out = sum(region.elements(call.node.results[i].shape) for i, region in wanted.items())
    if call.op.startswith(("embedding", "_embedding")):
        indices = call.tensor(1, "indices")
        come_out = (indices.elements if indices is not None else 1) * table.shape[-1]
    if cautious:
        come_out = table.shape[-1] if call.op.startswith(("embedding", "_embedding")) else 1
    share = come_out / table.elements if table.elements else 1.0
    rest = [(value, full(len(call.view.spec(value).shape))) for value in dict.fromkeys(call.values[1:])]
    return [(call.values[0], some(len(table.shape), share)), *rest]


def picked_losses(call: Call, wanted: dict[int, Region], cautious: bool) -> list[Need] | None:
    """One log-probability a target."""
    target = call.tensor(1, "target")
    if target is None or len(call.values) < 2:
        return None
    table = call.first
    share = 1.0 if not table.elements else target.elements / table.elements
    return [(call.values[0], some(len(table.shape), share)), (call.values[1], full(len(target.shape)))]


def triangle(call: Call, wanted: dict[int, Region], cautious: bool) -> list[Need] | None:
    """The triangle that is kept; zeros need nothing."""
    region = _one(wanted)
    if region is None:
        return None
    rows, columns = call.out.shape[-2:]
    diagonal = int(call.number(1, "diagonal", 0))
    count = triangle_elements(rows, columns, diagonal, lower=call.op == "tril")
    share = count / (rows * columns) if rows * columns else 0.0
    return [(call.values[0], _let_through(call, call.values[0], region, share, cautious))]


def triangle_elements(rows: int, columns: int, diagonal: int, *, lower: bool) -> int:
    """Elements on and below (above) a diagonal of a matrix."""
    row = np.arange(rows, dtype=np.int64)
    below = int(np.clip(row + diagonal + 1, 0, columns).sum())
    if lower:
        return below
    return rows * columns - int(np.clip(row + diagonal, 0, columns).sum())


def diagonal_matrix(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """A vector made a diagonal is needed in full, and so is the diagonal of a matrix: as many elements."""
    given, made = call.first, call.out
    if len(made.shape) > len(given.shape):
        return None
    share = made.elements / given.elements if given.elements else 0.0
    return [(call.values[0], some(len(given.shape), share))]


def dropout(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """Element by element."""
    region = wanted.get(0)
    return [] if region is None else [(call.values[0], region)]


def elements_alike(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """As many elements as are needed of the result, wherever they lie."""
    region = _one(wanted)
    if region is None or math.prod(call.first.shape) != call.out.elements:
        return None
    share = region.elements(call.out.shape) / call.out.elements if call.out.elements else 1.0
    return [(call.values[0], some(len(call.first.shape), share))]


_RULES: dict[str, NeedRule] = {
    **dict.fromkeys(PER_ELEMENT, pointwise),
    **dict.fromkeys(("gelu",), pointwise),
    **dict.fromkeys(("where", "masked_fill", "mul"), masked),
    **dict.fromkeys(MATMULS, matmul),
    **dict.fromkeys(CONVOLUTIONS, convolution),
    **dict.fromkeys(PER_INPUT, reduction),
    **dict.fromkeys(("logsumexp",), reduction),
    **dict.fromkeys(SOFTMAXES, softmax),
    **dict.fromkeys(GROUP_NORMS, normalisation),
    **dict.fromkeys(BATCH_NORMS, batch_norm),
    **dict.fromkeys(MAX_POOLS | AVG_POOLS, pooling),
    **dict.fromkeys(ATTENTIONS, attention),
    **dict.fromkeys(("embedding", "embedding_bag", "_embedding_bag", "gather", "index_select", "index"), lookup),
    **dict.fromkeys(("nll_loss", "nll_loss_forward", "nll_loss2d", "nll_loss_nd"), picked_losses),
    **dict.fromkeys(("tril", "triu"), triangle),
    **dict.fromkeys(("diag", "diagonal", "diag_embed"), diagonal_matrix),
    **dict.fromkeys(("dropout", "native_dropout"), dropout),
    **dict.fromkeys(("roll", "pixel_shuffle", "pixel_unshuffle"), elements_alike),
    **dict.fromkeys(COPIES, pointwise),
    **demand_views.RULES,
}  # fmt: skip
