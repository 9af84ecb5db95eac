"""What the gap between a measured candidate and its bound is made of, and which times count.

Records in, records out: nothing is measured here, and what is not known stays None. ``standing`` is the one rule for
times that are too short to be true; ``breakdown`` splits the gap into factors, one file each.
"""

from __future__ import annotations

from sol.gap.breakdown import break_down
from sol.gap.evidence import Evidence
from sol.gap.record import Factor, FactorName, Gap
from sol.gap.standing import TimeStanding, counted, standing_of
from sol.gap.words import gap_words

__all__ = [
    "Evidence", "Factor", "FactorName", "Gap", "TimeStanding", "break_down", "counted", "gap_words", "standing_of",
]  # fmt: skip
