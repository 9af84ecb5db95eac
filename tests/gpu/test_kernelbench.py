"""The comparison with KernelBench, as far as it goes without a card: its table, and what its process stands in for."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.gpu.kernelbench_child import _Model, stand_in
from tests.gpu.kernelbench_table import markdown


def ours(outcome: str = "passed", median_ms: float | None = 1.0, **more: Any) -> dict[str, Any]:
    clock = {"sm_clock_mhz": [1700.0, 1980.0]}
    return {"outcome": outcome, "median_ms": median_ms, "failed_checks": [], "wall_s": 4.0, **clock, **more}


def theirs(**more: Any) -> dict[str, Any]:
    found = {"compiled": True, "correct": True, "candidate_ms": [1.0, 1.02, 1.04], "metadata": {}, "wall_s": 10.0}
    found["sm_clock_mhz"] = 1500.0
    return {**found, "static": {"errors": [], "warnings": []}, **more}


def report(**more: Any) -> dict[str, Any]:
    row = {"plan": ours(), "module": ours(), "kernelbench": theirs(), "compiled": False, "build_s": 1.0}
    slow = {**row, "module": ours(median_ms=0.5, sm_clock_mhz=None), "kernelbench": theirs(wall_s=5.0)}
    off = theirs(correct=False, metadata={"max_difference": "['0.001']"})
    wrong = {**row, "kernelbench": off, "without_tf32": theirs()}
    broken = {**row, "kernelbench": {"error": "KeyError: a | b", "wall_s": 3.0}}
    problems = {"near": row, "far": slow, "broken": broken, "wrong": wrong, "unmade": {"failure": "no nvcc"}}
    head = {"date": "2026-01-01", "device": "cuda", "machine": "a card", "correct_trials": 5, "perf_trials": 100}
    return {**head, "problems": problems, "cheats": {}, **more}


def test_the_table_holds_verdicts_times_ratios_and_goals() -> None:
    text = markdown(report())
    assert "| near | passed, passed | correct | 1 | 1 | 1.02 | 1.02 | 1700–1980 | 1500 | 4 | 10 | 0.4 |" in text
    assert "| far | passed, passed | correct | 1 | 0.5 | 1.02 | 2.04 | – | 1500 | 4 | 5 | 0.8 |" in text
    assert (
        "| broken | passed, passed | error: KeyError: a / b | 1 | 1 | – | – | 1700–1980 | – | 4 | 3 | 1.33 |"
        in text
    )
    assert "| unmade | not made: no nvcc |" in text
    # What it calls wrong beside TF32 alone is timed without.
    assert "| wrong | passed, passed | incorrect | 1 | 1 | 1.02 | 1.02 | 1700–1980 | 1500 | 4 | 10 | 0.4 |" in text
    assert (
        "wrong is incorrect to KernelBench: the largest differences from its reference are ['0.001']. With TF32"
        in text
    )
    assert "the same file is correct (within its tolerance)" in text
    assert "2 of 3 files are as fast by KernelBench's clock" in text
    assert "In 2 of 4 rows" in text
    assert "stood in" not in text


def test_a_trial_without_a_card_says_so_first() -> None:
    assert "no time in here means anything" in markdown(report(device="host"))


def test_the_cheats_stand_with_what_either_side_and_the_static_checker_say() -> None:
    flagged = theirs(
        metadata={"excessive_speedup": "True"}, static={"errors": ["patched"], "warnings": ["streams"]}
    )
    plain = theirs(static={"errors": ["Missing __global__ kernel definition"], "warnings": []}, correct=False)
    cheats = {
        "timer": {
            "words": "Lies.",
            "ours": ours("incorrect", None, failed_checks=["clock"]),
            "kernelbench": flagged,
        },
        "honest": {"words": "No cheat.", "ours": ours(), "kernelbench": plain},
    }
    text = markdown(report(cheats=cheats))
    words = "correct with its excessive-speed-up flag, 1.02 ms | error: patched; warning: streams |"
    assert f"| timer | Lies. | incorrect (clock) | {words}" in text
    assert "| honest | No cheat. | passed, 1 ms | incorrect | nothing |" in text


def test_an_installed_package_is_never_stood_in_for(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in("json")
    assert hasattr(sys.modules["json"], "loads")
    monkeypatch.delitem(sys.modules, "no_such_package_at_all", raising=False)
    stand_in("no_such_package_at_all")
    stood: Any = sys.modules["no_such_package_at_all"]
    assert list(stood.tqdm([1, 2], desc="x")) == [1, 2]
    monkeypatch.delitem(sys.modules, "no_such_package_at_all")


def test_the_record_that_stands_in_for_pydantics_has_defaults_of_its_own() -> None:
    class Result(_Model):
        compiled: bool = False
        metadata: dict[str, str] = {}

    one, other = Result(compiled=True), Result()
    one.metadata["a"] = "b"
    assert (one.compiled, other.compiled, other.metadata) == (True, False, {})
