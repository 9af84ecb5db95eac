"""What an evaluation of a run is timed beside."""

from __future__ import annotations

from typing import Any

import pytest

from kernels.harness.baselines import BaselineKind
from kernels.harness.evaluation import EvaluationRequest
from kernels.targets import Policy
from runs.models import Run
from tests.runs.worlds import Script, drain, make_run


def test_the_runs_baselines_and_policy_go_into_each_request(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[EvaluationRequest] = []

    def evaluate(request: EvaluationRequest, **more: Any) -> Any:
        seen.append(request)
        return script.evaluate(request, **more)

    monkeypatch.setattr("runs.handlers.evaluate.evaluate", evaluate)
    run = make_run(attempts=1)
    Run.objects.filter(pk=run.pk).update(baselines="eager,compile")
    drain()
    assert [request.baselines for request in seen] == [(BaselineKind.EAGER, BaselineKind.COMPILE)]
    assert seen[0].policy is Policy.STRICT
    assert seen[0].energy


def test_a_run_from_before_baselines_could_be_chosen_had_eager_alone(db: None) -> None:
    assert Run().baseline_kinds == (BaselineKind.EAGER,)
