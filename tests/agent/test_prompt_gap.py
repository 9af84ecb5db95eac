"""What the parent's gap is made of stands in the SOL report of a prompt, and with steering off nowhere."""

from __future__ import annotations

from dataclasses import replace

from agent.prompts import compose
from agent.steps import Measured
from sol.gap.record import Factor, FactorName, Gap
from tests.agent.driving import settings
from tests.agent.prompting import ask_for, blocks, history_of

GAP = Gap.of(3.0, [Factor(FactorName.LAUNCHES, 1.5, "2 ms of 3 ms in 2 kernels", "kernel activity")])
HISTORY = tuple(replace(event, gap=GAP) if isinstance(event, Measured) else event for event in history_of(1))


def test_the_report_tells_the_parent_s_factors() -> None:
    report = blocks(compose(settings(), HISTORY, ask_for("attempt")))["SOL report"]
    assert report.startswith("compute: 1 GFLOP = 1 ms")
    assert "- Outside of kernels: 1.5× (2 ms of 3 ms in 2 kernels; from the kernel activity)" in report
    assert "- Not told apart: 2×" in report


def test_with_steering_off_nothing_is_told() -> None:
    prompt = compose(replace(settings(), steering=False), HISTORY, ask_for("attempt"))
    assert "Outside of kernels" not in prompt.system + prompt.user


def test_without_a_known_gap_the_report_is_the_bounds_alone() -> None:
    report = blocks(compose(settings(), history_of(1), ask_for("attempt")))["SOL report"]
    assert report.strip() == "compute: 1 GFLOP = 1 ms"
