"""The clock under load against the clock that the bound's rates go by."""

from __future__ import annotations

from typing import ClassVar

from sol.bounds import devices
from sol.bounds.record import Device
from sol.gap.base import Part
from sol.gap.evidence import Evidence
from sol.gap.record import Factor, FactorName


class Clock(Part):
    """Arithmetic takes as much longer as the clock is lower. A bound of memory does not go by this clock."""

    name: ClassVar[FactorName] = FactorName.CLOCK

    def factor(self, evidence: Evidence) -> Factor:
        """The bound's clock over the middle of the readings taken just after the candidate's calls."""
        device, conditions = evidence.device, evidence.timing.conditions
        if device is None:
            return self.unknown("the device that the bound was made for is not at hand")
        if not evidence.compute_bound:
            return self.unknown("memory sets the bound, and the clock that its rate goes by was not recorded")
        what, key = ("multiprocessor", "sm_clock") if evidence.on_card else ("cores'", "cpu_clock")
        found = getattr(conditions, key) if conditions is not None else None
        if found is None:
            reason = conditions.missing.get(key, "") if conditions is not None else ""
            return self.unknown(f"the {what} clock was not read{f': {reason}' if reason else ''}")
        bound_mhz = bound_clock_mhz(device, evidence)
        if bound_mhz is None:
            return self.unknown("the clock that the bound's rates were measured at was not recorded")
        middle = (found.low + found.high) / 2
        if middle <= 0:
            return self.unknown(f"the {what} clock was read as {middle:g} MHz")
        read = f"{middle:,.0f}" if found.low == found.high else f"{found.low:,.0f} – {found.high:,.0f}"
        words = f"{what} clock {read} MHz under load; the bound's rates are for {bound_mhz:,.0f} MHz"
        return self.known(bound_mhz / middle, words, "clock readings")


def bound_clock_mhz(device: Device, evidence: Evidence) -> float | None:
    """The clock of the rates that ``compute_s`` was made with: measured ones have their own, others the boost clock.

    A card's vector rates are its specification's even where its matrix rates were measured.
    """
    slowest = max(evidence.bounds.pipes, key=lambda part: part.seconds, default=None)
    specified = slowest is not None and slowest.pipe == "vector"
    facts = device.facts
    if device.source == "measured" and specified and "card" in facts:
        facts = devices.card(facts["card"]).facts
    key = "boost_clock_ghz" if device.source == "specification" or facts is not device.facts else "clock_ghz"
    return float(facts[key]) * 1e3 if key in facts else None
