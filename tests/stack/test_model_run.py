"""A run that asks a language model, through the whole stack: real workers, real builds, real SDK over real HTTP."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.agent.model_server import FAULTS, Body, ModelServer, Reply, answer, within
from tests.stack.stack import Stack

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]

KEY = "sk-stack-0123456789abcdef0123456789"
_LAUNCH = """
order = LaunchOrder(
    title="model", problems=tuple(Problem.objects.filter(slug="own/1").values_list("pk", flat=True)),
    target=Target.HOST, policy=Policy.STRICT, controller="mi", proposer="openai:scripted", attempts=3,
    epsilon=None, patience=None, steering=True, seed=1, tolerance="strict", token_limit=1_000_000,
)
answer = launch(User.objects.get(is_superuser=True), order).pk
"""
_CALLS = """
from runs.models import LlmCall
answer = [[call.error, call.finished is None] for call in LlmCall.objects.order_by("pk")]
"""
_ATTEMPTS = """
mine = Attempt.objects.filter(trajectory__run__origin=None)
answer = list(mine.order_by('number').values_list('number', 'outcome'))
"""
_EVERYTHING = """
from runs.models import LlmCall
rows = [*LlmCall.objects.values(), *Event.objects.values(), *Job.objects.values(), *Worker.objects.values()]
answer = str(rows)
"""


class Model:
    """The first request hangs until its worker is dead; then a busy server, and programs with another tile each."""

    def __init__(self) -> None:
        self.requests = 0

    def __call__(self, body: Body) -> Reply:
        self.requests += 1
        if self.requests == 1:
            return Reply(b"{}", hang_s=60)
        if self.requests == 2:
            return FAULTS["model-busy"]
        said = re.search(r"program \w+\([^)]*\) -> [^\n]*\n +(\w+) = gemm\([^)]*\)", body["messages"][1]["content"])
        assert said is not None, "the translated program stands in the prompt"
        return answer(f"{said[0]}.tile(96, {128 * self.requests}, 256)\n  return {said[1]}\n")


@pytest.fixture
def model() -> Model:
    return Model()


def test_a_run_asks_a_model_and_outlives_the_death_of_who_asked(tmp_path: Path, model: Model) -> None:
    stack = Stack(tmp_path / "var")
    with ModelServer(model) as server:
        entry = {"name": "scripted", "base_url": server.base_url, "key_env": "TEST_STACK_KEY", "timeout_s": 120}
        stack.environment |= {
            "MUCUTLASS_MODELS": json.dumps({"models": [entry]}),
            "MUCUTLASS_MODEL_WORKERS": "1",
            "TEST_STACK_KEY": KEY,
        }
        stack.start()
        try:
            run = stack.ask(_LAUNCH)
            assert within(180, lambda: bool(server.seen)), stack.tail()
            assert stack.kill_part("manage.py worker model") >= 1
            state = f"SELECT state FROM runs_run WHERE id = {run} AND state IN ('done', 'failed')"
            assert stack.wait_for(state, 300) == "done"
            attempts, calls = stack.ask(_ATTEMPTS), stack.ask(_CALLS)
            logs = "".join(log.read_text(errors="replace") for log in (stack.state / "logs").glob("*.log"))
            assert KEY not in logs + stack.ask(_EVERYTHING)
        finally:
            stack.stop()
    assert attempts == [[1, "passed"], [2, "passed"], [3, "passed"]]
    assert calls == [["", True], ["model-busy", False], ["", False], ["", False]]
    assert set(server.keys) == {f"Bearer {KEY}"}
