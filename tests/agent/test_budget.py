from __future__ import annotations

from agent.budget import Budget
from agent.history import Standing
from agent.steps import Finish, FinishReason


def standing(
    attempts: int = 5, best_s: float | None = 2e-3, baseline_s: float | None = 3e-3, idle: int = 0
) -> Standing:
    return Standing(attempts, 1e-3, None if best_s is None else 1, best_s, baseline_s, idle)


def test_it_goes_on_while_no_rule_holds() -> None:
    assert Budget(12, 0.25, 16).stop(standing()) is None


def test_it_stops_near_the_speed_of_light_and_says_how_near() -> None:
    finish = Budget(12, 0.25, 16).stop(standing(best_s=1.18e-3))
    assert finish == Finish(FinishReason.NEAR_SOL, "within 25 % of SOL: 1.18×")


def test_near_begins_exactly_at_one_plus_epsilon() -> None:
    assert Budget(12, 1.0, None).stop(standing(best_s=2e-3)) is not None
    assert Budget(12, 1.0, None).stop(standing(best_s=2.001e-3)) is None


def test_it_stops_without_progress() -> None:
    finish = Budget(40, 0.25, 16).stop(standing(attempts=20, idle=16))
    assert finish == Finish(FinishReason.NO_PROGRESS, "16 attempts without progress")
    assert Budget(40, 0.25, 16).stop(standing(attempts=20, idle=15)) is None


def test_neither_rule_stops_behind_the_baseline() -> None:
    assert Budget(40, 0.25, 16).stop(standing(best_s=1.1e-3, baseline_s=1e-3, idle=30)) is None
    assert Budget(40, 0.25, 16).stop(standing(best_s=1.1e-3, baseline_s=None, idle=30)) is None
    assert Budget(40, 0.25, 16).stop(standing(best_s=None, idle=30)) is None


def test_it_stops_when_the_attempts_are_spent() -> None:
    finish = Budget(12, None, None).stop(standing(attempts=12, best_s=None))
    assert finish == Finish(FinishReason.ATTEMPTS_SPENT, "12 of 12 attempts used")
    assert Budget(1, None, None).stop(standing(attempts=1)) == Finish(
        FinishReason.ATTEMPTS_SPENT, "1 of 1 attempt used"
    )


def test_a_rule_that_is_off_never_stops() -> None:
    assert Budget(40, None, None).stop(standing(best_s=1e-3, idle=39, attempts=39)) is None
