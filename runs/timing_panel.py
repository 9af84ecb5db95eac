"""The timing part of a candidate's page: each subject with its speedup, the machine's state, the card's own record.

Sentences and rows over records; nothing is computed here that was not measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kernels.harness.evaluation import EAGER, Check, Evaluation, Timing
from kernels.harness.measures import Activity, Conditions, KernelActivity, Range
from runs import figures
from runs.charts.distribution import Series, distribution

_CLOCKS = "clock agreement"
_TREND = "steady over time"
_SPAN = "activity against events"
_NAMES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """One line of the table of times. ``timing`` is None where it was not measured, ``why`` says why."""

    name: str
    timing: Timing | None
    why: str = ""
    speedup: float | None = None

    @property
    def wrong(self) -> bool:
        """Whether its outputs miss the tolerance that the candidate is held to."""
        return self.timing is not None and self.timing.agrees is False

    @property
    def note(self) -> str:
        """What is to be said of it beside its numbers."""
        if self.timing is None:
            return f"not measured: {self.why}"
        parts = [self.timing.settings] if self.timing.settings else []
        if self.wrong:
            parts.append(f"its outputs miss the tolerance: {self.timing.agrees_note}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Fact:
    """A measured figure in words, or None with the reason."""

    name: str
    text: str | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One kernel of the card's record with its share of the call's device time, 0 to 1."""

    kernel: KernelActivity
    share: float | None

    @property
    def whose(self) -> str:
        """Whose it is, in a word."""
        if self.kernel.kind != "kernel":
            return self.kernel.kind
        return "own" if self.kernel.own else "library"


class TimingPanel:
    """Of one evaluation. ``held`` says why its time does not count; empty where it does."""

    def __init__(self, evaluation: Evaluation, held: str = "") -> None:
        self.evaluation = evaluation
        self.held = held

    @property
    def own(self) -> Timing | None:
        """The candidate's times."""
        return self.evaluation.candidate

    @cached_property
    def rows(self) -> list[SubjectRow]:
        """The candidate, then its baselines, then those that were asked for and not measured."""
        e = self.evaluation
        if e.candidate is None:
            return []
        found = [SubjectRow("this kernel", e.candidate)]
        # A time that is held is evidence, and no speedup over anything.
        found += [
            SubjectRow(t.subject, t, speedup=None if self.held else e.speedup(t.subject)) for t in e.baselines
        ]
        found += [SubjectRow(name, None, why) for name, why in e.absent.items()]
        if e.baseline(EAGER) is None and EAGER not in e.absent:
            found.insert(1, SubjectRow(EAGER, None, "not measured in this call"))
        return found

    @property
    def measured(self) -> list[SubjectRow]:
        """Baselines with a time."""
        return [row for row in self.rows[1:] if row.timing is not None]

    @cached_property
    def chart(self) -> dict[str, Any] | None:
        """All subjects' calls on one axis; None where there is no baseline to compare with."""
        timed = [row for row in self.rows if row.timing is not None]
        if len(timed) < 2:
            return None
        return distribution(
            [
                Series(row.name, row.timing.samples, row.timing.q1_s, row.timing.median_s, row.timing.q3_s, i == 0)
                for i, row in enumerate(timed)
                if row.timing is not None
            ]
        )

    @property
    def cautions(self) -> tuple[str, ...]:
        """What speaks against the times."""
        conditions = self.evaluation.conditions
        held = (self.held,) if self.held else ()
        return (*held, *(conditions.cautions if conditions is not None else ()))

    @cached_property
    def facts(self) -> list[Fact]:
        """Spread, clocks, energy and the machine's state, each with its unit."""
        t = self.own
        if t is None:
            return []
        found = [
            Fact("Spread", None if t.spread is None else f"{figures.percent(t.spread)} from quartile to quartile"),
            _checked("First and last calls", self._check(_TREND), _trend),
            _checked("Host bracket", self._check(_CLOCKS), _bracket),
        ]
        if self._check(_SPAN) is not None:
            found.append(_checked("Activity against events", self._check(_SPAN), _span))
        energy = None if t.energy_j is None else _joules(t.energy_j)
        found.append(Fact("Energy a call", energy, t.missing.get("energy", "")))
        if t.activity is None:
            found.append(Fact("Kernel activity", None, t.missing.get("activity", "")))
        if t.conditions is not None:
            found += _conditions(t.conditions)
        return found

    def _check(self, name: str) -> Check | None:
        return next((check for check in self.evaluation.checks if check.name == name), None)

    # --- the card's record ----------------------------------------------------------------------

    @property
    def activity(self) -> Activity | None:
        """What the card did in a call."""
        return self.own.activity if self.own is not None else None

    @cached_property
    def kernels(self) -> list[KernelRow]:
        """Its kernels, the longest first."""
        found = self.activity
        return [KernelRow(k, found.share(k)) for k in found.kernels[:_NAMES_SHOWN]] if found is not None else []

    @property
    def more_kernels(self) -> int:
        """Kernels that the table leaves out."""
        return max(len(self.activity.kernels) - _NAMES_SHOWN, 0) if self.activity is not None else 0


def _checked(name: str, check: Check | None, words: Any) -> Fact:
    if check is None or check.seen is None:
        return Fact(name, None, check.note if check is not None else "not recorded in this evaluation")
    return Fact(name, words(check))


def _trend(check: Check) -> str:
    assert check.seen is not None
    return f"last over first quarter {figures.ratio(check.seen)}"


def _bracket(check: Check) -> str:
    assert check.seen is not None
    return f"{figures.milliseconds_with_unit(check.seen)} a block beyond the calls"


def _span(check: Check) -> str:
    assert check.seen is not None
    return f"{figures.ratio(check.seen)} of the events' median"


def _joules(joules: float) -> str:
    """0.142 J, 81.4 mJ."""
    if joules >= 0.1:
        return f"{figures.significant(joules)}{figures.THIN}J"
    return f"{figures.significant(joules * 1e3)}{figures.THIN}mJ"


def _conditions(c: Conditions) -> list[Fact]:
    card = c.throttle is not None or c.sm_clock is not None or "sm_clock" in c.missing
    clocks = (
        [
            ("Multiprocessor clock", c.sm_clock, "sm_clock", "MHz"),
            ("Memory clock", c.memory_clock, "memory_clock", "MHz"),
        ]
        if card
        else [("Cores' clock", c.cpu_clock, "cpu_clock", "MHz")]
    )
    found = [Fact(name, _range(value, unit), c.missing.get(key, "")) for name, value, key, unit in clocks]
    if card:
        throttle = None if c.throttle is None else ", ".join(c.throttle) or "nothing"
        found.append(Fact("Clocks held back by", throttle, c.missing.get("throttle", "")))
        found.append(Fact("Power", _range(c.power, "W"), c.missing.get("power", "")))
        others = None if c.others is None else figures.counted(c.others, "process", "processes")
        found.append(Fact("Others on the card", others, c.missing.get("others", "")))
    found.append(Fact("Temperature", _range(c.temperature, "°C"), c.missing.get("temperature", "")))
    share = None if c.others_share is None else f"{figures.percent(c.others_share)} of the cores' time"
    found.append(Fact("Other processes", share, c.missing.get("others_share", "too little time to tell")))
    found.append(Fact("Load average", _range(c.load, ""), c.missing.get("load", "")))
    return found


def _range(value: Range | None, unit: str) -> str | None:
    """Clocks and degrees come in whole ones."""
    if value is None:
        return None
    whole = unit in ("MHz", "°C")
    low, high = (f"{v:,.0f}" if whole else figures.significant(v) for v in (value.low, value.high))
    text = low if low == high else f"{low} – {high}"
    return f"{text}{figures.THIN}{unit}" if unit else text
