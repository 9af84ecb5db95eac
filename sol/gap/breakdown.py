"""A gap in factors. The product of the known ones and the remainder is the gap, whatever is known."""

from __future__ import annotations

from sol.gap.base import Part
from sol.gap.clock import Clock
from sol.gap.evidence import Evidence
from sol.gap.idle import Idle
from sol.gap.inside import Inside
from sol.gap.launches import Launches
from sol.gap.record import Gap
from sol.gap.traffic import Traffic

PARTS: tuple[Part, ...] = (Clock(), Launches(), Idle(), Traffic(), Inside())
"""In the order in which they are told; a new one is a file of its own and an entry here."""


def break_down(evidence: Evidence | None) -> Gap | None:
    """What the gap of a measured candidate is made of; None where there is no gap."""
    if evidence is None:
        return None
    return Gap.of(evidence.time_s / evidence.bounds.steering_s, (part.factor(evidence) for part in PARTS))
