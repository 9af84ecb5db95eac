"""What a sample of runs shows: outputs that are zero, tiny, alike, random, not finite, or deaf to their inputs.

"Passes" is meant as ``torch.allclose`` with the reference's output as the expected one, rtol and atol alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from kernels.problems.sample import Sample
from sol.audit.problems.record import Flaw, ProblemFlaw, number
from sol.audit.record import Severity

STRICT, LOOSE = 1e-4, 1e-2
"""What FP32 results and reduced-precision results are usually compared with."""
_FALLING = 0.9
"""Magnitudes that fall to this and less where the extent doubles are expected to go on so."""
_RANDOM = 1e-3
"""Above this two runs differ by more than the order of sums."""


def flaws(sample: Sample, inputs: int) -> Iterator[ProblemFlaw]:
    """All flaws of a sample; ``inputs`` is how many tensors forward takes."""
    if not all(spread.finite for run in sample.runs for spread in run.outputs):
        yield _flaw(sample, Flaw.NOT_FINITE, Severity.SEVERE, 0.95, "an output holds NaN or infinity")
    random = _randomness(sample)
    if random is not None:
        yield random
    yield from _magnitude(sample, inputs, random is not None)
    yield from _dependence(sample, random is not None)


def _flaw(sample: Sample, flaw: Flaw, severity: Severity, sure: float, words: str, **figures: float) -> ProblemFlaw:
    if sample.is_whole:
        return ProblemFlaw(flaw, severity, sure, "run", words, figures)
    part = f"{words} (run with {sample.constant} = {sample.taken:,} of {sample.whole:,})"
    return ProblemFlaw(flaw, severity, sure * _trust(sample), "run", part, figures)


def _trust(sample: Sample) -> float:
    """How far a smaller extent speaks for the whole one."""
    if sample.coupled is False:
        return 0.98
    steady = sample.trend is not None and abs(sample.trend - 1) <= 0.1
    shrinking = sample.trend is not None and sample.trend < 1
    return 0.95 if steady or shrinking else 0.8


def _randomness(sample: Sample) -> ProblemFlaw | None:
    if sample.again.tolerance <= STRICT:
        scale = max((spread.largest for spread in sample.runs[0].outputs), default=0.0)
        if not scale or sample.again.largest / scale <= _RANDOM:
            return None
    rejected = [tolerance for tolerance in (STRICT, LOOSE) if sample.again.tolerance > tolerance]
    told = (
        f"an exact copy of the reference fails at {' and '.join(map(number, rejected))}"
        if rejected
        else "it passes"
    )
    return _flaw(
        sample,
        Flaw.LIVE_RANDOMNESS,
        Severity.SEVERE if rejected else Severity.SUSPECT,
        0.99,
        f"two runs on the same parameters and inputs differ by up to {number(sample.again.largest)}; {told}",
        largest_difference=sample.again.largest,
        least_tolerance=sample.again.tolerance,
    )


def _magnitude(sample: Sample, inputs: int, random: bool) -> Iterator[ProblemFlaw]:
    """The strongest of: exactly zero, zeros pass, one number passes, other inputs' results pass."""
    largest = max((spread.largest for run in sample.runs for spread in run.outputs), default=0.0)
    if largest == 0:
        yield _flaw(
            sample, Flaw.ZERO_OUTPUT, Severity.SEVERE, 0.97, f"all outputs of {_runs(sample)} are exactly 0"
        )
        return
    zeros = largest / (1 + largest)
    alike = max((_one_number(sample, place) for place in range(len(sample.runs[0].outputs))), default=0.0)
    for flaw, tolerance, words in (
        (Flaw.ZEROS_PASS, zeros, f"the largest magnitude of {_runs(sample)} is {number(largest)}"),
        (Flaw.CONSTANT_PASSES, alike, f"one number lies within {number(alike)} of every output of {_runs(sample)}"),
        (Flaw.INPUT_IMMATERIAL, sample.others.tolerance,
         f"with the same parameters, the results of other inputs lie within {number(sample.others.tolerance)}"),
    ):  # fmt: skip
        if tolerance > LOOSE or (flaw is Flaw.INPUT_IMMATERIAL and (not inputs or random or sample.others.none)):
            continue
        passes = STRICT if tolerance <= STRICT else LOOSE
        yield _flaw(
            sample,
            flaw,
            Severity.SEVERE if passes == STRICT else Severity.SUSPECT,
            0.95,
            f"{words}: passes at {number(passes)}",
            least_tolerance=tolerance,
            passes_at=passes,
            largest_magnitude=largest,
        )
        if passes == STRICT or flaw is not Flaw.ZEROS_PASS:
            return
        break
    yield from _expected(sample, largest)


def _expected(sample: Sample, largest: float) -> Iterator[ProblemFlaw]:
    """Zeros that are expected to pass at the whole extent, where magnitudes were seen to fall as it grows."""
    if sample.is_whole or not sample.coupled or not sample.trend or sample.trend > _FALLING:
        return
    whole = largest * math.pow(sample.trend, math.log2(sample.whole / sample.taken))
    passes = STRICT if whole <= STRICT else LOOSE
    if whole > LOOSE or largest <= passes:
        return
    yield _flaw(
        sample,
        Flaw.ZEROS_PASS,
        Severity.SEVERE if passes == STRICT else Severity.SUSPECT,
        0.7,
        f"the largest magnitude is {number(largest)} and falls to {number(sample.trend)} of itself where "
        f"{sample.constant} doubles: about {number(whole)} is expected at {sample.whole:,}, which passes at "
        f"{number(passes)}",
        expected_magnitude=whole,
        passes_at=passes,
    )


def _one_number(sample: Sample, place: int) -> float:
    """The least tolerance at which one number passes for all of an output, over all runs with the same parameters."""
    spreads = [run.outputs[place] for run in sample.runs if run.parameters == sample.runs[0].parameters]
    low, high = min(spread.least for spread in spreads), max(spread.most for spread in spreads)
    # |c - low|/(1 + |low|) = |high - c|/(1 + |high|) at the best c.
    return (high - low) / (2 + abs(low) + abs(high))


def _dependence(sample: Sample, random: bool) -> Iterator[ProblemFlaw]:
    """Inputs and parameters that change nothing, where the outputs are not all the same anyway."""
    if random or sample.others.none:
        if sample.others.none and any(spread.largest for spread in sample.runs[0].outputs):
            words = "other inputs, with the same parameters, give the same outputs to the last bit"
            yield _flaw(sample, Flaw.INPUT_IGNORED, Severity.SEVERE, 0.97, words)
        return
    for name, distance in sample.inputs.items():
        if distance.none:
            words = f"another {name}, with everything else the same, changes no output"
            yield _flaw(sample, Flaw.INPUT_IGNORED, Severity.SUSPECT, 0.95, words)
    for name, distance in (sample.ignored or {}).items():
        words = f"{name} has a gradient of zero, and shifted by half and more it changes outputs by no more than "
        yield _flaw(
            sample, Flaw.PARAMETER_IGNORED, Severity.INFO, 0.9, words + number(distance.largest),
            largest_difference=distance.largest,
        )  # fmt: skip


def _runs(sample: Sample) -> str:
    return f"{len(sample.runs)} runs" if len(sample.runs) > 1 else "one run"
