"""Our matrix FLOPs against torch's own counter, over the problems of this project."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.problems.files import find_problems, own_directory
from kernels.problems.inspection import Inspection
from kernels.records import loads
from sol.bounds import count
from sol.bounds.crosscheck import NOT_RETURNED, WITHOUT_FORMULA, compare
from tests.sol.graphs import Sketch, gemm

RECORDS = Path(__file__).parent.parent / "problems" / "data"


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_the_own_problems_count_as_torch_counts_them() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.sol.flop_counter", str(own_directory()), "--size=cpu"],
        capture_output=True,
        text=True,
        check=True,
    )
    counted = {form["problem"]: form["flops"] for form in map(json.loads, done.stdout.splitlines())}
    assert len(counted) == len(find_problems(own_directory())) >= 32
    for name, flops in counted.items():
        record = RECORDS / f"{name.partition('_')[2]}.json"
        result = compare(name, count(loads(record.read_text(encoding="utf-8"), Inspection)), flops)
        assert result.unexplained == 0, (name, result)


def test_a_product_without_a_formula_of_torchs_is_a_listed_reason() -> None:
    sketch = Sketch()
    a, x = sketch.input("a", 6, 4), sketch.input("x", 4)
    found = compare("any", count(sketch.done(sketch.op("mv", a, x, shape=(6,)))), 0)
    assert (found.ours, found.unexplained) == (48, 0)
    assert "no formula" in found.reasons[0]


def test_any_other_difference_is_unexplained() -> None:
    assert compare("any", count(gemm(4, 5, 6)), 239).unexplained == 1


def test_what_is_not_returned_is_taken_off_by_name() -> None:
    assert compare("36_LSTMHn", count(gemm(4, 5, 6)), 240 + 51_200).unexplained == 0


def test_every_listed_reason_says_something() -> None:
    assert all(WITHOUT_FORMULA.values())
    assert all(flops > 0 and words for flops, words in NOT_RETURNED.values())
