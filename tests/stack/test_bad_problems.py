"""Problems that go wrong beside one that does not: each ends with its own error, the good one is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stack.stack import LAUNCH, Stack

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
