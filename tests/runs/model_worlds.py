"""A model in the small worlds of the engine's tests: one scripted server, one configured model, runs that ask it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runs.models import Run
from tests.agent.model_server import Body, Reply, completion
from tests.runs.worlds import make_run

KEY = "sk-test-0123456789abcdef0123456789"
BY_PHASE: dict[str, Body] = {
    "analyze": {"bottleneck": "compute", "summary": "s", "evidence": ["e"], "opportunities": ["o"]},
    "nominate": {
        "hypotheses": [
            {
                "change": f"c{n}",
                "cause": "because",
                "speedup": 1.5,
                "implementation_risk": 1.2,
                "performance_risk": 1.1,
            }
            for n in range(4)
        ]
    },
    "summarize": {"lesson": "wider tiles help", "bottleneck": "compute"},
}


def program(number: int) -> str:
    """A program that no other number gives; the scripted builds never look at it."""
    stage = f"y = gemm(x, weight.T).tile({number}, 8, 8)"
    return f"program gemm(x: f32[M, K], weight: f32[N, K]) -> f32[M, N]\n  {stage}\n  return y\n"


def configure(settings: Any, monkeypatch: pytest.MonkeyPatch, base_url: str, **changes: object) -> None:
    """One model ``scripted`` at that address, whose key is in the environment."""
    monkeypatch.setenv("TEST_MODEL_KEY", KEY)
    monkeypatch.setattr("agent.llm.trying.FIRST_WAIT_S", 0.001)
    model = {
        "name": "scripted", "base_url": base_url, "key_env": "TEST_MODEL_KEY", "retries": 2, "timeout_s": 5,
        "max_output": 500, "prices": {"prompt": 2.0, "completion": 8.0, "cached": 1.0}, **changes,
    }  # fmt: skip
    settings.MODELS = json.dumps({"models": [model]})


def model_run(attempts: int = 3, problems: int = 1, **fields: object) -> Run:
    """A run whose proposer is the model."""
    run = make_run(problems, attempts=attempts)
    Run.objects.filter(pk=run.pk).update(**{"proposer": "openai:scripted", "controller": "mi", **fields})
    run.refresh_from_db()
    return run


class Writer:
    """Answers each phase in its own form, candidates with programs that are always new."""

    def __init__(self) -> None:
        self.programs = 0

    def __call__(self, body: Body) -> Reply:
        wanted = body["response_format"]["json_schema"]["schema"]["properties"]
        form: Body = {}
        if "candidates" in wanted:
            self.programs += 1
            entry = {
                "text": program(self.programs), "change": "wider", "hypothesis": "it helps", "predicted": 1.5,
                "tool": None,
            }  # fmt: skip
            form["candidates"] = [entry]
        for key, value in BY_PHASE.items():
            if set(value) <= set(wanted):
                form |= value
            elif key == "analyze" and "analysis" in wanted:
                form["analysis"] = value
        if "chosen" in wanted:
            form |= {"chosen": 0, "lesson": None}
        return completion(json.dumps(form))
