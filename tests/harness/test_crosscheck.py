"""The decision on repeated calls, with a scripted child and a scripted count of processor time."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace
from typing import Any

import pytest

from kernels.harness import crosscheck


class Scripted:
    """A child whose calls are counted as ``per_call_ns`` of processor time on each of ``threads``."""

    def __init__(self, per_call_ns: int, threads: int = 1) -> None:
        self.layout = SimpleNamespace(warmup_slot=9)
        self.per_call_ns = per_call_ns
        self.used = dict.fromkeys(range(threads), 5_000_000_000)
        self.asked = 0
        self.waits_s = 0.0

    def pids(self) -> list[int]:
        return [1]

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        assert message["do"] == "repeat"
        self.asked += 1
        time.sleep(self.waits_s)
        for thread in self.used:
            self.used[thread] += self.per_call_ns * message["calls"]
        return {}


def decide(child: Any, monkeypatch: pytest.MonkeyPatch, samples: list[float]) -> Any:
    monkeypatch.setattr(crosscheck, "_processor_ns", lambda pids: dict(child.used))
    return crosscheck.repeats_check(child, samples, shared=True)


def test_calls_that_use_what_they_said_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    child = Scripted(1_000_000)
    assert decide(child, monkeypatch, [1e-3]).passed
    assert child.asked == 1


def test_a_busy_machine_accuses_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the wall clock calls came out quick when they were timed; the cores were wanted by others since."""
    child = Scripted(1_000_000)
    child.waits_s = 0.3
    assert decide(child, monkeypatch, [1e-3]).passed


@pytest.mark.parametrize("threads", [1, 2])
def test_a_clock_that_tells_a_tenth_fails(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    child = Scripted(10_000_000, threads)
    check = decide(child, monkeypatch, [1e-3])
    assert check.failed
    assert check.seen == pytest.approx(0.5)
    assert check.limit == pytest.approx(0.12)


def test_without_counts_the_check_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    child = Scripted(1)
    child.used = {}
    assert not decide(child, monkeypatch, [1e-3]).done


def test_processor_time_bounds_the_wall_time_from_below() -> None:
    before = {1: 0, 2: 100}
    after = {1: 4_000_000_000, 2: 1_000_000_100, 3: 1_000_000_000}
    assert crosscheck.least_seconds(before, after, 2) == 4.0
    assert crosscheck.least_seconds(before, {1: 3_000_000_000, 2: 3_000_000_100, 3: 3_000_000_000}, 2) == 4.5


def test_this_process_has_a_count_that_grows() -> None:
    before = crosscheck._processor_ns([os.getpid()])
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    after = crosscheck._processor_ns([os.getpid()])
    assert crosscheck.least_seconds(before, after, 1) >= 0.04
