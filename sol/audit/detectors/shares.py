"""Whose kernels took the time: the candidate's own, or a library's; and which of those defined were run."""

from __future__ import annotations

from collections.abc import Iterator

from sol.audit.base import Detector, Reading
from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick

FIG_LEAF_BELOW = 0.1
"""Own kernels with less than this share of the card's time are no more than a leaf."""

_HALF = 0.5


class Shares(Detector):
    """By the card's own record of a call, or by stages that were timed apart.

    μCUTLASS programs with torch stages are legal: a library's share is never severe by itself.
    """

    name = "shares"
    looks_at = "profile"
    tricks = (Trick.LIBRARY_ONLY, Trick.FIG_LEAF, Trick.NEVER_LAUNCHED)

    def look(self, reading: Reading) -> Iterator[Flag]:
        """Nothing where nothing was measured."""
        evaluation = reading.subject.evaluation
        if evaluation is None:
            return
        activity = evaluation.candidate.activity if evaluation.candidate is not None else None
        if activity is not None:
            own = activity.own_share
            if own is not None:
                yield from self._share(own, "of the kernels' time on the card is in its own")
            ran = {kernel.name for kernel in activity.kernels if kernel.kind == "kernel"}
            yield from self._defined(reading, ran)
        elif evaluation.library_share is not None:
            yield from self._share(1 - evaluation.library_share, "of the stages' time is in its own")

    def _share(self, own: float, words: str) -> Iterator[Flag]:
        said = f"{100 * own:.3g} % {words}"
        if own == 0:
            yield self.flag(Trick.LIBRARY_ONLY, Severity.SUSPECT, 0.8, said, own_share=own)
        elif own < FIG_LEAF_BELOW:
            yield self.flag(Trick.FIG_LEAF, Severity.SUSPECT, 0.7, said, own_share=own)
        elif own < _HALF:
            yield self.flag(Trick.FIG_LEAF, Severity.INFO, 0.4, said, own_share=own)

    def _defined(self, reading: Reading, ran: set[str]) -> Iterator[Flag]:
        kernels = [kernel for unit in reading.cxx for kernel in unit.kernels]
        if not kernels or not ran:
            return
        seen = [kernel for kernel in kernels if any(kernel.name in name for name in ran)]
        if not seen:
            words = f"of {len(kernels)} kernels in its text none was run in a call"
            figures = {"defined": float(len(kernels)), "run": 0.0}
            yield self.flag(Trick.NEVER_LAUNCHED, Severity.SEVERE, 0.85, words, kernels[0].place, **figures)
