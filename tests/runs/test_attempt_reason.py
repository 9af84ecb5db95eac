"""The reason of an incorrect attempt as a column: what old rows are filled with, and what no row can hold."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError

from kernels.harness.correctness import IncorrectReason
from kernels.harness.evaluation import Outcome
from kernels.models import Evaluation
from runs.models import Attempt
from tests.runs.worlds import Script, drain, failed, make_run

fill = import_module("runs.migrations.0010_attempt_reason").fill


@pytest.fixture
def incorrect(script: Script) -> Attempt:
    script.results = [failed(Outcome.INCORRECT, "values are off")]
    make_run(attempts=1)
    drain()
    return Attempt.objects.get()


def test_the_evaluations_reason_is_the_attempts(incorrect: Attempt) -> None:
    assert incorrect.incorrect_reason is IncorrectReason.VALUES


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"reason": "stale"}, IncorrectReason.STALE),
        ({"reason": None, "checks": [("finite", False), ("shape", True)]}, IncorrectReason.NOT_FINITE),
        ({"reason": None, "checks": [("finite", True), ("something older", False)]}, IncorrectReason.VALUES),
    ],
)
def test_old_rows_are_filled_from_their_records(
    incorrect: Attempt, changed: dict[str, Any], reason: IncorrectReason
) -> None:
    record = {**incorrect.evaluation.record, **changed}  # type: ignore[union-attr]
    if "checks" in changed:
        record["checks"] = [{"name": name, "passed": passed} for name, passed in changed["checks"]]
    Evaluation.objects.update(record=record)
    Attempt.objects.update(reason="")
    fill(apps, None)
    incorrect.refresh_from_db()
    assert incorrect.incorrect_reason is reason


def test_rows_without_a_record_and_of_other_outcomes_stay_blank(incorrect: Attempt) -> None:
    Attempt.objects.update(reason="", outcome=Outcome.CRASH)
    fill(apps, None)
    incorrect.refresh_from_db()
    assert incorrect.incorrect_reason is None
    Attempt.objects.update(outcome=Outcome.INCORRECT, evaluation=None)
    fill(apps, None)
    incorrect.refresh_from_db()
    assert incorrect.incorrect_reason is None


def test_no_other_outcome_can_have_a_reason(incorrect: Attempt) -> None:
    with pytest.raises(IntegrityError, match="reason_of_incorrect_alone"):
        Attempt.objects.update(outcome=Outcome.PASSED)
