"""What the outputs cannot depend on: inputs and parameters that nothing reads, elements that strides jump over."""

from __future__ import annotations

from collections.abc import Iterator

from kernels.dtypes import DType
from sol.audit.problems.record import Flaw, ProblemFlaw
from sol.audit.record import Severity
from sol.bounds.demand import demand
from sol.bounds.graph import GraphView
from sol.bounds.ops.normalisation import BATCH_NORMS
from sol.bounds.regions import Region, kept

_LOOKUPS = frozenset({"embedding", "embedding_bag", "_embedding_bag", "gather", "index_select", "index"})


def flaws(view: GraphView) -> Iterator[ProblemFlaw]:
    """Unused inputs and parameters, each by name, and inputs of which a part is unread."""
    needed = demand(view)
    for name, spec in view.sources.items():
        if not spec.elements:
            continue
        region = needed.get((name, 0))
        if region is None:
            if name in view.inputs or not _is_statistic(view, name):
                yield _ignored(view, name, spec.elements)
        elif name in view.inputs and region.elements(spec.shape) < spec.elements and not _is_looked_up(view, name):
            yield _unread(name, spec.shape, region)


def _is_statistic(view: GraphView, name: str) -> bool:
    """Running statistics and counters: written in training, read outside of it; whole numbers and masks are none of
    what is learned."""
    if view.sources[name].dtype in (DType.I64, DType.I32, DType.BOOL):
        return True
    users = view.users.get((name, 0), [])
    if any(view.call(user).op in BATCH_NORMS for user in users):
        return True
    return name.endswith(("running_mean", "running_var"))


def _is_looked_up(view: GraphView, name: str) -> bool:
    return any(view.call(user).op in _LOOKUPS for user in view.users.get((name, 0), []))


def _ignored(view: GraphView, name: str, elements: int) -> ProblemFlaw:
    is_input = name in view.inputs
    return ProblemFlaw(
        Flaw.INPUT_IGNORED if is_input else Flaw.PARAMETER_IGNORED,
        Severity.SUSPECT if is_input else Severity.INFO,
        0.99,
        "graph",
        f"no output depends on the {'input' if is_input else 'parameter'} {name} ({elements:,} elements)",
        {"elements": float(elements)},
    )


def _unread(name: str, shape: tuple[int, ...], region: Region) -> ProblemFlaw:
    whole = 1
    for extent in shape:
        whole *= extent
    read = region.elements(shape)
    parts = [
        f"{extent - kept(axis, extent):,} of {extent:,} places along axis {place}"
        for place, (axis, extent) in enumerate(zip(region.axes, shape, strict=True))
        if axis is not None
    ]
    what = " and ".join(parts) if parts else f"{whole - read:,} of its {whole:,} elements"
    return ProblemFlaw(
        Flaw.UNREAD_ELEMENTS,
        Severity.INFO,
        0.9,
        "graph",
        f"of the input {name}, {what} are never read ({1 - read / whole:.3g} of it)",
        {"unread_elements": float(whole - read), "unread_share": 1 - read / whole},
    )
