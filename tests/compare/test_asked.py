"""The address of a comparison: what it names, in which order, and everything that can be wrong with it."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from runs.comparing.asked import CANDIDATES, RUNS, asked, kind_of
from runs.comparing.errors import (
    BaselineNotChosen,
    BothKindsChosen,
    ComparisonRefused,
    NotANumber,
    TooFewChosen,
    TooManyChosen,
)


def test_the_baseline_comes_first_and_the_others_keep_their_order() -> None:
    found = asked(QueryDict("c=3&c=1&c=2&c=1&base=2"), CANDIDATES)
    assert found.keys == (2, 3, 1)
    assert (found.left, found.right) == (2, 3)
    assert not found.everything


def test_the_pair_whose_texts_are_compared_is_read() -> None:
    found = asked(QueryDict("c=3&c=1&c=2&left=2&right=1&code=y&whole=1&all=1"), CANDIDATES)
    assert (found.left, found.right, found.code) == (2, 1, "y")
    assert found.whole
    assert found.everything


@pytest.mark.parametrize(
    ("query", "error", "words"),
    [
        ("c=1", TooFewChosen, "only one candidate is chosen; 2 to 6"),
        ("c=1&c=1", TooFewChosen, "only one candidate"),
        ("c=1&c=2&c=3&c=4&c=5&c=6&c=7&c=8", TooManyChosen, "8 candidates are chosen; at most 6"),
        ("c=1&c=two", NotANumber, "'two' names no candidate"),
        ("c=1&c=-2", NotANumber, "'-2' names no candidate"),
        ("c=1&c=99999999999999999999999", NotANumber, "names no candidate"),
        ("c=1&c=2&base=3", BaselineNotChosen, "the baseline '3' is not among the chosen candidates; one of 1, 2"),
        ("c=1&c=2&right=x", BaselineNotChosen, "the right side 'x'"),
    ],
)
def test_what_is_wrong_is_said(query: str, error: type[ComparisonRefused], words: str) -> None:
    with pytest.raises(error) as told:
        asked(QueryDict(query), CANDIDATES)
    assert words in str(told.value)


def test_candidates_and_runs_are_never_mixed() -> None:
    with pytest.raises(BothKindsChosen):
        kind_of(QueryDict("c=1&c=2&r=1"))
    assert kind_of(QueryDict("r=1")) is RUNS
    assert kind_of(QueryDict("c=&r=")) is None


def test_taking_one_away_keeps_the_rest_of_the_address_and_drops_what_named_it() -> None:
    found = asked(QueryDict("r=1&r=2&r=3&base=3&all=1&page=2"), RUNS)
    assert found.without(3) == "?r=1&r=2&all=1"
    assert found.without(1) == "?r=3&r=2&base=3&all=1"
    assert asked(QueryDict("r=1&r=2"), RUNS).without(1) == ""


def test_the_attempts_of_attempt_fast_p_are_a_sensible_number_or_left_out() -> None:
    assert asked(QueryDict("r=1&r=2&n=3"), RUNS).attempts == 3
    for nonsense in ("0", "-1", "x", "10001", "2.5"):
        assert asked(QueryDict(f"r=1&r=2&n={nonsense}"), RUNS).attempts is None
