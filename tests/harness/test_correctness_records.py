"""Records of correctness: what cannot be stored, what older records become, and the words of reasons and tiles."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernels.harness.correctness import CHECK_REASONS, IncorrectReason, Tile, reason_of
from kernels.harness.evaluation import (
    EAGER,
    Check,
    Evaluation,
    ImpossibleEvaluation,
    Outcome,
    StageShare,
    Timing,
)
from kernels.records import from_json, to_json

HELD = Check("finite", 0.0, 0.0, True)
FAILED = Check("finite", 1.0, 0.0, False, "round 1")
SKIPPED = Check("scaled inputs", None, None, False, "it raised", done=False)
TIMED = Timing("candidate", 2.0, 1.5, 3.0, 1.0, 3, (1.0, 2.0, 4.0), "by hand")
NEVER_FAIL = {
    "weights", "deterministic", "matched share, own precision", "matched share, float64", "norm-wise relative error",
    "element-wise relative error", "max absolute error", "worst tile", "steady over time", "activity against events",
}  # fmt: skip


def record(outcome: Outcome, **fields: Any) -> Evaluation:
    given: dict[str, Any] = {
        "detail": "", "checks": (), "candidate": None, "baselines": (), "once_s": None, "stages": (), "machine": None,
        "isolation": None, "wall_s": 1.0,
    }  # fmt: skip
    return Evaluation(outcome=outcome, **{**given, **fields})


PASSED = record(Outcome.PASSED, checks=(HELD, SKIPPED), candidate=TIMED)
INCORRECT = record(Outcome.INCORRECT, checks=(FAILED,), reason=IncorrectReason.NOT_FINITE)


@pytest.mark.parametrize(
    ("of", "fields", "said"),
    [
        (PASSED, {"candidate": None}, "no time"),
        (PASSED, {"checks": ()}, "none was done"),
        (PASSED, {"checks": (SKIPPED,)}, "none was done"),
        (PASSED, {"checks": (HELD, FAILED)}, "a check failed"),
        (PASSED, {"reason": IncorrectReason.VALUES}, "with a reason"),
        (INCORRECT, {"reason": None}, "no reason"),
        (INCORRECT, {"checks": (HELD, SKIPPED)}, "no check failed"),
        (INCORRECT, {"candidate": TIMED}, "there are times"),
        (INCORRECT, {"baselines": (replace(TIMED, subject=EAGER),)}, "there are times"),
        (INCORRECT, {"stages": (StageShare("y", 1.0, False),)}, "there are times"),
        (record(Outcome.CRASH), {"candidate": TIMED}, "there are times"),
        (record(Outcome.CRASH), {"reason": IncorrectReason.VALUES}, "with a reason"),
    ],
)
def test_an_evaluation_that_contradicts_itself_cannot_be_made(
    of: Evaluation, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(ImpossibleEvaluation, match=said):
        replace(of, **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"median_s": math.nan},
        {"median_s": 0.0},
        {"minimum_s": -1.0},
        {"q3_s": math.inf},
        {"samples": (1.0, 0.0, 4.0)},
        {"samples": (1.0, 2.0)},
        {"count": 4},
        {"q1_s": 2.5},
        {"q3_s": 1.9},
        {"minimum_s": 1.7},
    ],
)
def test_a_time_that_is_none_cannot_be_stored(fields: dict[str, Any]) -> None:
    with pytest.raises(ImpossibleEvaluation):
        replace(TIMED, **fields)


def test_quartiles_of_equal_samples_may_be_off_by_a_rounding() -> None:
    assert replace(TIMED, q1_s=2.0 * (1 + 1e-15)).q1_s > TIMED.median_s


def test_a_check_that_was_not_done_cannot_have_passed_and_says_why() -> None:
    for fields in ({"passed": True}, {"note": ""}):
        with pytest.raises(ImpossibleEvaluation):
            replace(SKIPPED, **fields)
    assert not SKIPPED.failed


@pytest.mark.parametrize("of", [PASSED, INCORRECT])
def test_a_record_comes_back_as_it_was(of: Evaluation) -> None:
    assert from_json(to_json(of), Evaluation) == of


def test_a_record_from_before_reasons_and_before_done_still_loads() -> None:
    form = to_json(replace(INCORRECT, checks=(Check("matched share", 0.5, 1.0, False), FAILED)))
    for name in ("conditions", "absent", "spent_s", "reason", "rounds"):
        del form[name]
    old = {"name": "scaled inputs", "seen": None, "limit": None, "passed": True, "note": "not done: it raised"}
    form["checks"] = [{k: v for k, v in check.items() if k != "done"} for check in form["checks"]] + [old]
    loaded = from_json(form, Evaluation)
    assert loaded.reason is IncorrectReason.NOT_FINITE
    assert loaded.checks[-1] == SKIPPED
    assert loaded.rounds == ()


def test_a_new_record_without_its_reason_is_refused_by_the_loader_too() -> None:
    form = {**to_json(INCORRECT), "reason": None}
    with pytest.raises(Exception, match="structuring Evaluation"):
        from_json(form, Evaluation)


def test_of_several_reasons_the_one_nearest_the_cause_counts() -> None:
    assert reason_of(["matched share", "finite", "every element written"]) is IncorrectReason.NOT_WRITTEN
    assert reason_of(["matched share", "follows the inputs"]) is IncorrectReason.STALE
    assert reason_of(["timed outputs", "clock agreement"]) is IncorrectReason.TIMED_OUTPUTS
    assert reason_of(["a name from long ago"]) is IncorrectReason.VALUES


def test_every_check_that_can_fail_has_a_reason_and_every_reason_a_check() -> None:
    """Names are read from the calls of Check(...) in the harness."""
    names = set()
    for path in (Path(__file__).parents[2] / "kernels" / "harness").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Check" and node.args:
                name = node.args[0]
                names |= {name.value} if isinstance(name, ast.Constant) else set()
    assert "matched share" in names
    assert names - NEVER_FAIL <= set(CHECK_REASONS)
    assert set(CHECK_REASONS.values()) == set(IncorrectReason)
    assert len({reason.words for reason in IncorrectReason}) == len(IncorrectReason)


@pytest.mark.parametrize(
    ("tile", "said"),
    [
        (Tile(0, (512, 512), (), (64, 128), (0, 64), 1.0), "rows 64–127, columns 0–63 of output 0"),
        (Tile(1, (2, 3, 8, 1), (1, 2), (0, 8), (0, 1), 1.0), "rows 0–7, column 0 of output 1[1, 2]"),
        (Tile(0, (100,), (), (0, 1), (64, 100), 1.0), "elements 64–99 of output 0"),
        (Tile(0, (), (), (0, 1), (0, 1), 1.0), "output 0"),
    ],
)
def test_a_tile_is_named_as_people_count(tile: Tile, said: str) -> None:
    assert tile.words == said
