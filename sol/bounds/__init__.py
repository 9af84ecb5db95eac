"""How fast a problem could be on a device: its work, its two bounds, and how far a measured time is from them."""

from __future__ import annotations

from sol.bounds.bound import bound
from sol.bounds.count import count
from sol.bounds.devices import card
from sol.bounds.errors import HostPeaksUnavailable, UnknownCard
from sol.bounds.record import Bounds, Device, Work, WorkItem
from sol.bounds.score import SolScoreWithheld, Withheld, gap, sol_score

__all__ = [
    "Bounds", "Device", "HostPeaksUnavailable", "SolScoreWithheld", "UnknownCard", "Withheld", "Work", "WorkItem",
    "bound", "card", "count", "gap", "sol_score",
]  # fmt: skip
