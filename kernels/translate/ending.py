"""Which reduction ends a product's stage: ``gemm(x, w.T) >> relu() >> reduce(sum, dim=1)``.

It looks at nodes alone. Any other reduction is a row stage: see ``rows``.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.dtypes import DType
from kernels.problems.inspection import Node
from kernels.targets import Target
from kernels.translate import tma
from kernels.translate.work import FLOATS, Work, base, is_ref

RESHAPES = frozenset({"view", "reshape", "_unsafe_view", "flatten", "unsqueeze", "squeeze"})
"""Operations that keep the order of the elements."""
_LINKS: dict[str, tuple[str, ...]] = {
    "sum": ("reduce(sum{})",),
    "mean": ("reduce(mean{})",),
    "max": ("reduce(max{})",),
    "min": ("reduce(min{})",),
    "sumsq": ("square()", "reduce(sum{})"),
    "norm1": ("abs()", "reduce(sum{})"),
}
"""By kind of a row node; the rest of the link's arguments is left open."""


@dataclass(frozen=True, slots=True)
class End:
    """``members`` are the nodes behind the product and its chain, the reduction last; ``links`` say it in the program,
    where the product's dimension ``axis`` goes."""

    members: tuple[str, ...]
    links: tuple[str, ...]
    axis: int


def find_end(work: Work, root: str, result: str, target: Target) -> End | None:
    """The reduction that alone reads ``result``, what the product ``root`` and its chain give.

    Between them may stand views that keep the last dimension. None where there is none, or where the target does not
    reduce a product as it multiplies it.
    """
    product = work.by_name[root].results[0].shape
    members: list[str] = []
    at = result
    while len(work.users[at]) == 1 and at not in work.returned:
        node = work.by_name[work.users[at][0]]
        members.append(node.name)
        if base(node.op) == "row_reduce":
            found = _end(work, node, product, tuple(members))
            return found if found is not None and _possible(work, root, target) else None
        if base(node.op) not in RESHAPES:
            break
        at = node.name
    return None


def _end(work: Work, node: Node, product: tuple[int, ...], members: tuple[str, ...]) -> End | None:
    source, kind, axes, keepdim = node.args
    shape, rank = work.spec(source).shape, len(product)
    if kind not in _LINKS or len(axes) != 1 or not is_ref(source):
        return None
    if shape == product and axes[0] >= rank - 2:
        axis, kept = axes[0], ", keepdim=true" if keepdim else ""
    elif axes[0] == len(shape) - 1 and shape[-1] == product[-1]:
        axis, kept = rank - 1, ""
    else:
        return None
    links = tuple(text.format(f", dim={axis}{kept}") for text in _LINKS[kind])
    return End(members, links, axis) if product[axis] > 1 else None


def _possible(work: Work, root: str, target: Target) -> bool:
    """Whether the target has an epilogue that reduces, however the program's policy lets FP32 data be multiplied."""
    node = work.by_name[root]
    left, right = (work.spec(arg).shape for arg in node.args[:2])
    dtype = node.results[0].dtype
    if target is not Target.SM90A or dtype not in FLOATS:
        return target is Target.HOST
    batch = left[0] if len(left) == 3 else 1
    return dtype is not DType.F32 or tma.split_pays(batch, left[-2], right[-1], left[-1])


def shown(shape: tuple[int, ...], end: End) -> tuple[int, ...]:
    """The extents of the stage's result, of a product of ``shape``."""
    kept = (1,) if "keepdim" in end.links[-1] else ()
    return (*shape[: end.axis], *kept, *shape[end.axis + 1 :])
