"""Times of a card beside floors, without a card: what reports give, and that a time below its floor is told."""

from __future__ import annotations

from sol.bounds.devices import card
from tests.gpu import floors


def test_both_kinds_of_report_give_their_times() -> None:
    assert floors.timed({"figures": {"a": {"ours_ms": 2.0}, "b": {"failure": "wrong"}}}) == {"a": 2e-3}
    assert floors.timed({"cases": {"a": {"ms": 0.5}, "b": {"passed": True}}}) == {"a": 5e-4}


def test_a_time_below_its_floor_is_told_and_one_above_it_passes() -> None:
    rows = floors.compared({"map_f32": 1e-6, "grouped_f16": 1.0}, card("h200"))
    assert not rows["map_f32"]["passed"]
    assert rows["map_f32"]["share"] > 1
    assert rows["grouped_f16"]["passed"]
    assert 0 < rows["grouped_f16"]["share"] < 1
