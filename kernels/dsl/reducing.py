"""The link that ends a product's chain: ``gemm(x, w.T) >> gelu() >> reduce(sum, dim=1)``.

It reads the link, and says which targets and knobs it stands with. A reduction of any other tensor is the stage
``reduce`` (see ``rows``).
"""

from __future__ import annotations

from kernels.dsl.arguments import truth
from kernels.dsl.errors import ArgumentError, Epilogue, KnobValue, Tile
from kernels.dsl.ir import Reduction, Stage
from kernels.dsl.orientation import multiplied_transposed
from kernels.dsl.printer import format_link, format_value
from kernels.dsl.resolve import among, integer
from kernels.dsl.rows import REDUCTIONS
from kernels.dsl.scope import Failed, Scope
from kernels.dsl.syntax import Argument, Assign, Link, Name
from kernels.targets import Target

NAME = "reduce"
"""The link's name, which is the stage's too."""
KINDS = ("sum", "mean", "max", "min")
"""What it does with a row or a column."""
USAGE = "reduce(sum, dim=1, keepdim=false)"
DOC = (
    f"{USAGE}: sum, mean, max or min of a gemm or bmm over its columns (the last dimension) or its "
    "rows; the product is not stored; the last link; host, and sm_90a's tensor cores without streamk; elsewhere the "
    "stage reduce"
)
"""For the reference."""

Shape = tuple[int, ...]
_SHARED_COLUMNS = 64
"""Columns of a tile from which on CUTLASS gives each of a warp's eight groups of lanes an equal share of a row."""


def split_chain(stage: Assign, shape: Shape, scope: Scope) -> tuple[tuple[Link, ...], Reduction | None]:
    """The links in front of the reduction, and the reduction where there is one; notes one that is not the last."""
    places = [index for index, link in enumerate(stage.chain) if link.name == NAME]
    if not places:
        return stage.chain, None
    for index in places:
        if index + 1 < len(stage.chain):
            refuse_place(stage, stage.chain[index], "is not the last link", scope)
    others = tuple(link for link in stage.chain if link.name != NAME)
    try:
        return others, _read(stage.chain[places[-1]], shape, scope)
    except Failed:
        return others, None


def refuse_place(stage: Assign, link: Link, why: str, scope: Scope) -> None:
    """Note a reduction where none can stand."""
    arguments = format_link(link).partition("(")[2]
    what = f"reduce in the chain of {stage.target} {why}"
    mend = f"it ends the chain of a gemm or bmm; else use the stage: r = reduce({stage.target}, {arguments}"
    scope.note(Epilogue(link.span, found=link.name, what=what, mend=mend))


def reduced(shape: Shape, reduction: Reduction) -> Shape:
    """The result's shape, of a product of ``shape``."""
    axis = reduction.axis
    return (*shape[:axis], *((1,) if reduction.keepdim else ()), *shape[axis + 1 :])


def check_stage(stage: Stage, target: Target, scope: Scope) -> bool:
    """Whether the target reduces in a product's epilogue; notes what it or the knobs do not allow."""
    reduction = stage.reduction
    if reduction is None:
        return True
    if target is Target.HOST:
        _check_host(stage, scope)
        return True
    if target is Target.SM90A and stage.attributes["math"] != "f32":
        _check_card(stage, scope)
        return True
    text = reduction.text.partition("(")[2]
    what = f"the epilogue of {stage.op} on {target} does not reduce"
    mend = f"end the chain before it, and use the stage: r = reduce({stage.name}, {text}"
    if target is Target.SM90A:
        what += ", multiplied by math(f32)"
        mend += "; or multiply on the tensor cores, with math(bf16x6) or math(tf32)"
    scope.note(Epilogue(reduction.span, found=reduction.text, what=what, mend=mend))
    return False


def _check_host(stage: Stage, scope: Scope) -> None:
    if stage.knobs["split"] != 1:
        legal = "1 in front of a reduction, which works on whole sums"
        place = scope.place(stage, "split")
        scope.note(KnobValue(place, knob="split", found=stage.knobs["split"], legal=legal))
    _check_tile(stage, scope)


def _check_card(stage: Stage, scope: Scope) -> None:
    """CUTLASS's nodes reduce whole tiles; stream-K may end a tile in parts.

    From 64 columns on, lanes share a row by exchanging halves of it (``Sm90RowReduction``, "Swap Shuffle"): other
    widths than multiples of 64 compile and are joined wrong, or do not fit the memory in which warps meet.
    """
    knobs = stage.knobs
    if knobs["schedule"] == "streamk":
        legal = "cooperative or pingpong in front of a reduction, which works on whole tiles"
        place = scope.place(stage, "schedule")
        scope.note(KnobValue(place, knob="schedule", found=knobs["schedule"], legal=legal))
    m, n, k = knobs["tile"]
    if n > _SHARED_COLUMNS and n % _SHARED_COLUMNS and _over_rows(stage):
        why = f"n is {n}, and a reduction over the tile's m shares its rows in steps of {_SHARED_COLUMNS}"
        mend = f"write tile({m}, {n // _SHARED_COLUMNS * _SHARED_COLUMNS}, {k}); n may be less than 64 too"
        scope.note(Tile(scope.place(stage, "tile"), found=f"{m}, {n}, {k}", why=why, mend=mend))


def _over_rows(stage: Stage) -> bool:
    """Whether what CUTLASS is given on sm_90a is reduced over its rows, so that one row is left."""
    reduction = stage.reduction
    columns_go = reduction is not None and reduction.axis == len(stage.operands[0].shape) - 1
    return columns_go == multiplied_transposed(stage.operands, stage.attributes["math"])


def _check_tile(stage: Stage, scope: Scope) -> None:
    """Each register tile has a partial result of its own, whatever thread works on it: blocks are whole tiles."""
    (m, n, k), (rows, columns) = stage.knobs["tile"], stage.knobs["micro"]
    if m % rows or n % columns:
        why = f"a reduction works on whole register tiles of {rows}, {columns}"
        mend = f"write tile({-(-m // rows) * rows}, {-(-n // columns) * columns}, {k})"
        scope.note(Tile(scope.place(stage, "tile", "micro"), found=f"{m}, {n}, {k}", why=why, mend=mend))


def _read(link: Link, shape: Shape, scope: Scope) -> Reduction:
    given = _given(link, scope)
    rank = len(shape)
    dim = integer(given["dim"], scope) if "dim" in given else -1
    axis = dim % rank
    if not -rank <= dim < rank or axis < rank - 2:
        what = f"dim is {dim}, and a product of {rank} dimensions is reduced over its columns or its rows"
        mend = f"write dim={rank - 1} or dim={rank - 2}; other dimensions are for the stage reduce"
        raise scope.fail(ArgumentError(given["dim"].span, found=dim, what=what, mend=mend))
    keepdim = truth("keepdim", given.get("keepdim"), False, scope)
    return Reduction(_kind(given["kind"], scope), axis, keepdim, format_link(link), link.span)


def _given(link: Link, scope: Scope) -> dict[str, Argument]:
    if len(link.args) != 1:
        what = f"the link reduce takes one value by position and got {len(link.args)}"
        raise scope.fail(ArgumentError(link.span, what=what, mend=f"write {USAGE}"))
    given = {"kind": link.args[0]}
    for keyword in link.kwargs:
        if keyword.name not in ("dim", "keepdim"):
            what = f"the link reduce has no argument {keyword.name!r}"
            raise scope.fail(ArgumentError(keyword.span, found=keyword.name, what=what, mend=f"write {USAGE}"))
        if keyword.name in given:
            what = f"reduce got {keyword.name!r} twice"
            raise scope.fail(ArgumentError(keyword.span, what=what, mend="keep one of them"))
        given[keyword.name] = keyword.value
    return given


def _kind(node: Argument, scope: Scope) -> str:
    found = format_value(node)
    if isinstance(node, Name) and found in KINDS:
        return found
    mend = among(found, list(KINDS), f"write {', '.join(KINDS)}")
    if found in REDUCTIONS:
        mend += f", or end the chain and use the stage reduce(…, {found})"
    raise scope.fail(ArgumentError(node.span, found=found, what=f"the link reduce knows no {found!r}", mend=mend))
