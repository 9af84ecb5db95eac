"""Failed checks of an evaluation, each as the trick that it speaks for. A check that passed is never a flag."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernels.harness.evaluation import Check
from sol.audit.base import Detector, Reading
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick


@dataclass(frozen=True, slots=True)
class Meaning:
    """What it means that a check fails; ``others`` are tricks that show in the same way."""

    trick: Trick
    severity: Severity
    confidence: float
    others: tuple[Trick, ...] = ()


_INFO, _SUSPECT, _SEVERE = Severity
MEANINGS = {
    "output kind": Meaning(Trick.LAZY_TENSOR, _SEVERE, 0.8, (Trick.SHORT_OUTPUT,)),
    "output structure": Meaning(Trick.SHORT_OUTPUT, _SUSPECT, 0.5),
    "shape": Meaning(Trick.SHORT_OUTPUT, _SUSPECT, 0.5, (Trick.CHANGED_PROBLEM,)),
    "dtype": Meaning(Trick.EASIER_TYPE, _SUSPECT, 0.6),
    "inputs unchanged": Meaning(Trick.INPUT_MUTATION, _SEVERE, 0.9),
    "parameters unchanged": Meaning(Trick.INPUT_MUTATION, _SEVERE, 0.9),
    "every element written": Meaning(
        Trick.PARTIAL_OUTPUT, _SUSPECT, 0.6, (Trick.ZEROED_MEMORY, Trick.LEFTOVER_MEMORY, Trick.GARBAGE_PASSES)
    ),
    "finite": Meaning(Trick.GARBAGE_PASSES, _INFO, 0.2),
    "not all zero": Meaning(Trick.CONSTANT_OUTPUT, _SEVERE, 0.7),
    "follows the inputs": Meaning(
        Trick.CACHE_BY_FINGERPRINT,
        _SEVERE,
        0.85,
        (Trick.CACHE_BY_POINTER, Trick.WARM_UP_COPY, Trick.STALE_GRAPH, Trick.INPUT_IGNORED, Trick.KEPT_STATE),
    ),
    "deterministic": Meaning(Trick.GARBAGE_PASSES, _INFO, 0.3),
    "matched share": Meaning(Trick.PARTIAL_OUTPUT, _INFO, 0.2),
    "max relative error": Meaning(Trick.LOWER_PRECISION, _INFO, 0.3, (Trick.CONSTANT_OUTPUT,)),
    "one element changed": Meaning(Trick.CACHE_BY_FINGERPRINT, _SUSPECT, 0.6, (Trick.PARTIAL_OUTPUT,)),
    "scaled inputs": Meaning(Trick.IDENTITY, _INFO, 0.3, (Trick.LOWER_PRECISION,)),
    "shifted inputs": Meaning(Trick.IDENTITY, _INFO, 0.3, (Trick.LOWER_PRECISION,)),
    "timed outputs": Meaning(Trick.WARM_UP_COPY, _SEVERE, 0.8, (Trick.WARM_UP_DETECTION, Trick.CACHE_BY_POINTER)),
    "outputs after timing": Meaning(Trick.WARM_UP_COPY, _SEVERE, 0.75, (Trick.EARLY_RETURN,)),
    "strided inputs": Meaning(Trick.CHANGED_PROBLEM, _INFO, 0.2),
    "unseen inputs": Meaning(Trick.CACHE_BY_FINGERPRINT, _SEVERE, 0.85, (Trick.CACHE_BY_OBJECT,)),
    "kernel activity": Meaning(Trick.EARLY_RETURN, _SUSPECT, 0.6, (Trick.NEVER_LAUNCHED,)),
    "device work": Meaning(Trick.SIDE_STREAM, _SEVERE, 0.9, (Trick.EARLY_RETURN,)),
    "work in the window": Meaning(Trick.EARLY_RETURN, _SEVERE, 0.8, (Trick.SIDE_STREAM,)),
    "clock agreement": Meaning(Trick.PATCHED_TIMER, _SEVERE, 0.8, (Trick.EARLY_RETURN, Trick.NATIVE_HOOKS)),
    "repeated calls": Meaning(Trick.PATCHED_TIMER, _SUSPECT, 0.6, (Trick.BACKGROUND_WORK, Trick.BATCHED_CALLS)),
    "processes": Meaning(Trick.BACKGROUND_WORK, _SEVERE, 0.9),
}
"""By the check's name. Wrong values alone are what a bug gives too, so they inform and reproach nothing."""


class Checks(Detector):
    """The harness found it; this names the tricks that would show so."""

    name = "checks"
    looks_at = "evaluation"
    tricks = tuple(dict.fromkeys(meaning.trick for meaning in MEANINGS.values()))

    def look(self, reading: Reading) -> Iterator[Flag]:
        """One flag for each failed check that has a meaning here."""
        evaluation = reading.subject.evaluation
        if evaluation is None:
            return
        plain = any(check.failed and check.name == "matched share" for check in evaluation.checks)
        for check in evaluation.checks:
            meaning = MEANINGS.get(check.name)
            if not check.failed or meaning is None:
                continue
            if check.name in ("scaled inputs", "shifted inputs") and not plain:
                # Right on plain inputs and wrong on larger ones: what was dropped is small on plain ones.
                meaning = Meaning(meaning.trick, _SUSPECT, 0.5, meaning.others)
            yield self.flag(
                meaning.trick, meaning.severity, meaning.confidence, _words(check, meaning), **_figures(check)
            )


def _words(check: Check, meaning: Meaning) -> str:
    words = f"the check {check.name!r} failed" + (f": {quoted(check.note)}" if check.note else "")
    if meaning.others:
        words += f" (also: {', '.join(trick.value for trick in meaning.others)})"
    return words


def _figures(check: Check) -> dict[str, float]:
    return {name: value for name, value in (("seen", check.seen), ("limit", check.limit)) if value is not None}
