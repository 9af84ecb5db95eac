"""Problems that go wrong beside one that does not: each ends with its own error, the good one is measured.

And, on the same stack, the example agent of docs/ posts a candidate of its own over HTTP.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.stack.stack import LAUNCH, ROOT, Stack

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]

_MODEL = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, x):
        {forward}
        return torch.relu(x)

def get_inputs():
    {inputs}
    return [torch.rand(64, 64)]

def get_init_inputs():
    return []
"""


def write(folder: Path, name: str, *, init: str = "pass", forward: str = "pass", inputs: str = "pass") -> None:
    (folder / name).write_text(_MODEL.format(init=init, forward=forward, inputs=inputs))


def test_each_bad_problem_ends_on_its_own_and_the_rest_goes_on(stack: Stack, tmp_path: Path) -> None:
    folder = tmp_path / "bad"
    folder.mkdir()
    write(folder, "1_good.py")
    write(folder, "2_loops.py", init="while True: pass")
    write(folder, "3_eats.py", init="self.all = torch.ones(25 * 2**30)")
    write(folder, "4_exits.py", init="__import__('os')._exit(0)")
    write(folder, "5_raises.py", inputs="raise RuntimeError('no data today')")
    (folder / "6_syntax.py").write_text("class Model(\n")
    (folder / "7_no_model.py").write_text("def get_inputs(): return []\n\ndef get_init_inputs(): return []\n")
    imported = stack.manage("import_problems", str(folder))
    assert imported.returncode == 1
    assert "5 added" in imported.stdout
    assert "6_syntax.py" in imported.stderr
    assert "7_no_model.py" in imported.stderr
    slugs = [f"bad/{number}" for number in range(1, 6)]
    run = stack.ask(LAUNCH.format(slugs=slugs, attempts=1))
    ended = f"SELECT count(*) = 5 FROM runs_trajectory WHERE run_id = {run} AND state IN ('done', 'failed')"
    stack.wait_for(ended, 300)
    errors = stack.ask(f"answer = dict(Trajectory.objects.filter(run={run}).values_list('problem__slug', 'error'))")
    words = stack.ask(f"answer = dict(Trajectory.objects.filter(run={run}).values_list('problem__slug', 'words'))")
    outcomes = stack.ask(
        f"answer = dict(Attempt.objects.filter(trajectory__run={run}).values_list("
        "'trajectory__problem__slug', 'outcome'))"
    )
    # A problem is looked at without memory: one that eats it is found out when its reference really runs.
    assert outcomes == {"bad/1": "passed", "bad/3": "out_of_memory"}
    assert errors["bad/1"] == errors["bad/3"] == ""
    assert "problem-timed-out" in words["bad/2"]
    assert "problem-crashed" in words["bad/4"]
    assert "no data today" in words["bad/5"]
    assert all(errors[slug] for slug in ("bad/2", "bad/4", "bad/5"))
    assert stack.ask(f"answer = Run.objects.get(pk={run}).state") == "done"


_TOKEN = """
from runs import tokens
answer = tokens.make(User.objects.get(is_superuser=True), "example", "submit", 1)[1]
"""
_ORDER = """
from runs.models import Submission
posted = Submission.objects.filter(trajectory={key}).order_by("pk").values_list("kernel__digest", flat=True)
tried = Attempt.objects.filter(trajectory={key}, number__gt=1).order_by("number")
answer = [list(posted), list(tried.values_list("kernel__digest", flat=True))]
"""
_ATTEMPTS = """
found = Attempt.objects.filter(trajectory__run__title="One knob changed").order_by("number")
rows = found.values_list("number", "outcome", "change", "kernel__source")
answer = [list(row) for row in rows]
"""


def test_the_example_agent_measures_a_program_of_its_own(stack: Stack) -> None:
    secret = stack.ask(_TOKEN)
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "external_agent.py"), "own/2", stack.address],
        capture_output=True,
        text=True,
        env={**os.environ, "MUCUTLASS_TOKEN": secret},
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr + stack.tail()
    said = re.search(r"([\d.]+) ms(?:, under review)?; over torch eager: ([\d.]+); over SOL: ([\d.]+)", done.stdout)
    assert said is not None, done.stdout
    assert float(said[1]) > 0
    first, second = stack.ask(_ATTEMPTS)
    assert first[1:3] == ["passed", "translated program"]
    assert second[1:3] == ["passed", ".stages(3)"]
    assert ".stages(3)" in second[3]
    stack.wait_for("SELECT state = 'done' FROM runs_run WHERE title = 'One knob changed'", 60)

    large = Request(f"{stack.address}/api/v1/runs", b" " * (5 * 2**20), {"Authorization": f"Bearer {secret}"})
    with pytest.raises(HTTPError) as refused:
        urlopen(large, timeout=30)
    with refused.value as answer:
        assert (answer.code, json.load(answer)["name"]) == (413, "body-too-large")


def test_agents_that_post_at_once_are_each_heard_once_and_in_order(stack: Stack) -> None:
    headers = {"Authorization": f"Bearer {stack.ask(_TOKEN)}", "Content-Type": "application/json"}

    def post(path: str, form: dict[str, Any], key: str) -> Any:
        sent = {**headers, "Idempotency-Key": key}
        request = Request(f"{stack.address}/api/v1{path}", json.dumps(form).encode(), sent)
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)

    run = post("/runs", {"problems": ["own/2"], "attempts": 6}, "start")
    key = run["trajectories"][0]["id"]
    # Texts that no parser takes are refused within milliseconds; each is posted twice at once with its key.
    texts = [f"program refused_{number}(" for number in range(5)] * 2
    with ThreadPoolExecutor(len(texts)) as agents:
        found = list(
            agents.map(lambda text: post(f"/trajectories/{key}/candidates", {"text": text}, f"once {text}"), texts)
        )
    assert [form["id"] for form in found[:5]] == [form["id"] for form in found[5:]]
    assert len({form["id"] for form in found}) == 5
    stack.wait_for(f"SELECT state = 'done' FROM runs_run WHERE id = {run['id']}", 120)
    posted, tried = stack.ask(_ORDER.format(key=key))
    assert len(tried) == 5
    assert posted == tried
