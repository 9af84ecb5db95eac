"""The decision on repeated calls, with a scripted child and a clock that only its runs move."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kernels.harness import crosscheck
from kernels.harness.crosscheck import repeats_check
from kernels.harness.evaluation import Check

NOW = SimpleNamespace(seconds=0.0)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    NOW.seconds = 0.0
    own = SimpleNamespace(perf_counter=lambda: NOW.seconds, monotonic=lambda: NOW.seconds)
    monkeypatch.setattr(crosscheck, "time", own)


class Scripted:
    """A child each of whose runs takes the next of ``seconds``, the last one over and over."""

    def __init__(self, *seconds: float) -> None:
        self.layout = SimpleNamespace(warmup_slot=9)
        self.seconds = list(seconds)
        self.calls: list[int] = []

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        assert message["do"] == "repeat"
        self.calls.append(message["calls"])
        NOW.seconds += self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0]
        return {}


def decide(child: Any, median_s: float, others: float | None = 0.0) -> Check:
    return repeats_check(child, [median_s] * 3, lambda: others)


def test_one_run_that_takes_what_was_said_is_enough() -> None:
    child = Scripted(0.0)
    assert decide(child, 1e-3).passed
    assert child.calls == [2]


def test_short_calls_come_in_runs_and_long_ones_alone() -> None:
    short, long = Scripted(0.0), Scripted(0.0)
    assert decide(short, 1e-6).passed
    assert decide(long, 0.1).passed
    assert (short.calls, long.calls) == ([200], [1])


def test_one_quick_run_among_slow_ones_proves_that_it_can() -> None:
    child = Scripted(0.05, 0.05, 0.05, 0.0)
    assert decide(child, 1e-3).passed
    assert len(child.calls) == 4


def test_runs_that_all_took_too_long_fail() -> None:
    child = Scripted(0.3)
    check = decide(child, 1e-3)
    assert check.failed
    assert len(child.calls) == 4
    assert check.seen is not None
    assert check.seen == pytest.approx(0.3)
    assert check.limit == 2 * 2e-3 + 1e-3


@pytest.mark.parametrize(("share", "words"), [(0.6, "had 60 %"), (None, "an unknown part")])
def test_where_others_had_the_cores_nobody_is_accused(share: float | None, words: str) -> None:
    check = decide(Scripted(0.3), 1e-3, share)
    assert not check.done
    assert not check.failed
    assert words in check.note


def test_on_a_card_the_cores_do_not_matter() -> None:
    child: Any = Scripted(0.3)
    assert repeats_check(child, [1e-3]).failed


class OnACard(Scripted):
    """A child whose host takes ``launch`` seconds to launch a call that keeps the card busy for ``work``."""

    FLUSH = 1e-4

    def __init__(self, launch: float, work: float) -> None:
        super().__init__(0.0)
        self.launch, self.work = launch, work
        self.flushes: list[int] = []

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        super().ask(message)
        self.flushes.append(message["flushes"])
        calls, ready = message["calls"], message["flushes"] * self.FLUSH
        for number in range(calls):
            ready = max(ready, (number + 1) * self.launch) + self.work
        NOW.seconds += ready
        return {}


def test_calls_that_wait_for_their_launches_are_timed_behind_flushes() -> None:
    child: Any = OnACard(launch=24e-6, work=9e-6)
    check = repeats_check(child, [9e-6] * 3, launched=True)
    assert check.passed
    assert check.seen == pytest.approx(200 * 9e-6, rel=0.05)
    assert "as the host launches them" in check.note
    assert set(child.flushes) == {0, 200}


def test_calls_that_the_card_takes_longer_for_than_said_fail_behind_flushes_too() -> None:
    child: Any = OnACard(launch=24e-6, work=90e-6)
    check = repeats_check(child, [9e-6] * 3, launched=True)
    assert check.failed
    assert check.seen == pytest.approx(200 * 90e-6, rel=0.05)


def test_quick_runs_need_no_flushes() -> None:
    child: Any = OnACard(launch=5e-6, work=9e-6)
    assert repeats_check(child, [9e-6] * 3, launched=True).passed
    assert child.flushes == [0]
