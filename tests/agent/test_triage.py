from __future__ import annotations

import pytest

from agent.triage import roi


def test_near_the_speed_of_light_a_speedup_counts_as_it_is() -> None:
    assert roi(2.0, 1.0, 1.0, 4.0) == 2.0
    assert roi(2.0, 1.0, 1.0, None) == 2.0


def test_a_decade_beyond_a_gap_of_five_squares_the_speedup() -> None:
    assert roi(3.0, 1.0, 1.0, 50.0) == pytest.approx(9.0)


def test_risks_divide() -> None:
    assert roi(3.0, 1.5, 2.0, 1.0) == pytest.approx(1.0)


def test_far_from_the_speed_of_light_the_bold_idea_wins_and_near_it_the_safe_one() -> None:
    def bold_wins(gap: float) -> bool:
        return roi(3.0, 2.0, 1.5, gap) > roi(1.2, 1.0, 1.0, gap)

    assert bold_wins(50.0)
    assert not bold_wins(2.0)


@pytest.mark.parametrize("arguments", [(2.0, 0.9, 1.0), (2.0, 1.0, 0.5), (0.0, 1.0, 1.0)])
def test_it_refuses_what_is_no_risk_and_no_speedup(arguments: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match=r"risk|speedup"):
        roi(*arguments, 2.0)
