"""``mucutlass audit-problem``: one line of JSON a problem, failed ones too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mucutlass_web.cli.main import main
from tests.problems.sources import problem


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A flawed problem, one that cannot be built, and a clean one."""
    level = tmp_path / "level1"
    level.mkdir()
    (level / "1_Flawed.py").write_text(problem("return (x @ x.T).sum(1) * 1e-9", inputs="torch.rand(64, 64)"))
    (level / "2_Bad.py").write_text(problem("return x", init="raise ValueError('no such size')"))
    (level / "3_Clean.py").write_text(problem("return x.exp()", inputs="torch.rand(64, 32)"))
    return level


def test_a_line_of_json_a_problem(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit-problem", str(folder), "--json", "--workers", "2"]) == 1
    forms = {form["problem"]: form for form in map(json.loads, capsys.readouterr().out.splitlines())}
    flawed, bad, clean = forms["L1/1"], forms["L1/2"], forms["L1/3"]
    assert flawed["gravest"] == "severe"
    assert {flaw["flaw"] for flaw in flawed["flaws"]} >= {"removable_work", "zeros_pass"}
    assert all(flaw["evidence"] and flaw["allowed"] for flaw in flawed["flaws"])
    assert flawed["sample"]["runs"]
    assert str(bad["error"]).startswith("problem-raised: ")
    assert (clean["flaws"], clean["gravest"], clean["not_run"]) == ([], None, None)


def test_the_graph_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit-problem", str(folder / "1_Flawed.py"), "--no-run"]) == 0
    out = capsys.readouterr().out
    assert "severe removable_work, 0.90: algebra leaves" in out
    assert "not run: only the graph was asked for" in out
    assert "zeros_pass" not in out
