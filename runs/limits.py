"""What limits a candidate, in words and shares. Only factors with a source; what is left is one named remainder."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.harness.evaluation import Evaluation
from runs import figures
from sol.bounds.record import Bounds


@dataclass(frozen=True, slots=True)
class Share:
    """One stage's part of the instrumented call; ``library`` is None where nobody knows whose work it is."""

    stage: str
    seconds: float
    share: float
    library: bool | None


@dataclass(frozen=True, slots=True)
class Limits:
    """``words`` name the bound and what of it is reached; ``rest_s`` is the call's time outside every stage."""

    words: str
    shares: tuple[Share, ...]
    stage_s: float | None
    rest_s: float | None
    library_share: float | None


def _reach(bounds: Bounds, time_s: float) -> str:
    if bounds.bound_class == "compute":
        rate, peak, what = bounds.flops / time_s, bounds.flops / bounds.compute_s, "FLOP/s"
        amount = figures.scaled(bounds.flops, "FLOP")
    else:
        rate, peak, what = bounds.bytes / time_s, bounds.bytes / bounds.memory_s, "B/s"
        amount = figures.scaled(bounds.bytes, "B")
    other = bounds.memory_s if bounds.bound_class == "compute" else bounds.compute_s
    aside = "memory" if bounds.bound_class == "compute" else "arithmetic"
    return (
        f"{amount} in {figures.milliseconds_with_unit(time_s)} are {figures.scaled(rate, what)}, "
        f"{figures.percent(rate / peak)} of the bound's {figures.scaled(peak, what)}. "
        f"{aside.capitalize()} alone would take {figures.milliseconds_with_unit(other)}."
    )


def limits(bounds: Bounds | None, evaluation: Evaluation | None, time_s: float | None) -> Limits:
    """What can be said of this candidate. Without a time the bound still has its words."""
    if bounds is None:
        words = "No bound is known for this problem here, so nothing is said about what limits it."
    elif not time_s:
        other = "memory" if bounds.bound_class == "compute" else "compute"
        words = (
            f"The problem is {bounds.bound_class}-bound, not {other}-bound; this attempt has no time to compare."
        )
    else:
        words = f"{bounds.bound_class.capitalize()}-bound: {_reach(bounds, time_s)}"
    stages = evaluation.stages if evaluation is not None else ()
    total = sum(stage.seconds for stage in stages)
    shares = tuple(
        Share(stage.stage, stage.seconds, stage.seconds / total if total else 0.0, stage.library)
        for stage in sorted(stages, key=lambda stage: -stage.seconds)
    )
    return Limits(
        words=words,
        shares=shares,
        stage_s=total or None,
        rest_s=time_s - total if time_s and total else None,
        library_share=evaluation.library_share if evaluation is not None else None,
    )
