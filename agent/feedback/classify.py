"""The bottleneck, once for a candidate, by two votes; where they differ the analytic one stands.

The analytic vote compares arithmetic intensity with the ridge, each pipe at its own rate: that is the ratio of the
bound's compute time to its memory time. The profiled vote compares what the kernels sustained, weighted by duration.
"""

from __future__ import annotations

from agent.feedback.case import Case
from agent.feedback.record import Bottleneck, Classification, Vote
from kernels.profiling.digest import BUSY_PCT, percent
from sol.bounds.record import Bounds

NEAR_RIDGE = 1.25
"""Within this factor of the ridge both pipes matter (ours)."""
LAUNCH_S = {True: 4e-6, False: 2e-6}
"""Below this bound starting the work takes as long as doing it (ours): a launch on a card, waking threads on a host."""


def classify(case: Case) -> Classification:
    """The classification of a candidate. MIXED where nobody could vote, so that every tool looks."""
    analytic, profiled = analytic_vote(case.evidence.bounds, case.on_card), profiled_vote(case)
    if analytic.kind is not None:
        if profiled.kind is None:
            words = f"{analytic.kind.value} by the bound alone: {profiled.words}"
        elif profiled.kind is analytic.kind:
            words = f"{analytic.kind.value}: the bound and the counters agree"
        else:
            words = (
                f"{analytic.kind.value} by the bound, which counts where the two differ; by the counters the kernels "
                f"as they are now are {profiled.kind.value}-limited"
            )
        return Classification(analytic.kind, analytic, profiled, words)
    if profiled.kind is not None:
        words = f"{profiled.kind.value} by the counters alone: {analytic.words}"
        return Classification(profiled.kind, analytic, profiled, words)
    words = f"not known ({analytic.words}; {profiled.words}), so every tool looked"
    return Classification(Bottleneck.MIXED, analytic, profiled, words)


def analytic_vote(bounds: Bounds | None, on_card: bool) -> Vote:
    """By intensity against the ridge; latency where the whole bound is shorter than starting the work."""
    if bounds is None:
        return Vote(None, "no bounds are known")
    if bounds.steering_s < LAUNCH_S[on_card]:
        return Vote(
            Bottleneck.LATENCY,
            f"the bound of {bounds.steering_s * 1e6:.3g} µs is below the {LAUNCH_S[on_card] * 1e6:g} µs of a start",
        )
    words = f"intensity {bounds.intensity:.3g} FLOP/B, ridge {bounds.ridge:.3g} FLOP/B"
    if bounds.memory_s <= 0:
        return Vote(Bottleneck.COMPUTE, f"{words}; nothing is moved")
    ratio = bounds.compute_s / bounds.memory_s
    words += f"; at the pipes' own rates compute takes {ratio:.3g}x as long as memory"
    if ratio >= NEAR_RIDGE:
        return Vote(Bottleneck.COMPUTE, words)
    return Vote(Bottleneck.MEMORY if ratio <= 1 / NEAR_RIDGE else Bottleneck.MIXED, words)


def profiled_vote(case: Case) -> Vote:
    """By what the kernels sustained of their peaks: under 60 percent of both is latency, over 60 of both is mixed."""
    if not case.kernels:
        return Vote(None, "there is no profile")
    total, compute, memory = 0.0, 0.0, 0.0
    for kernel in case.kernels:
        speed = kernel.speed
        if kernel.duration_s and speed.compute_pct is not None and speed.memory_pct is not None:
            total += kernel.duration_s
            compute += kernel.duration_s * speed.compute_pct
            memory += kernel.duration_s * speed.memory_pct
    if not total:
        return Vote(None, "the profile has no throughputs")
    compute, memory = compute / total, memory / total
    words = f"compute {percent(compute)} and memory {percent(memory)} of their peaks, by duration"
    if compute < BUSY_PCT and memory < BUSY_PCT:
        return Vote(Bottleneck.LATENCY, words)
    if compute >= BUSY_PCT and memory >= BUSY_PCT:
        return Vote(Bottleneck.MIXED, words)
    return Vote(Bottleneck.COMPUTE if compute > memory else Bottleneck.MEMORY, words)
