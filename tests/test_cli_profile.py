"""``mucutlass profile``: words, JSON, the report, and what it says where there is nothing to measure."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kernels.problems.files import own_directory
from kernels.profiling import ncu, report
from kernels.profiling.record import Profile
from kernels.records import from_json
from mucutlass_web.cli.main import main
from tests.profiling.fake_ncu import SCRIPT
from tests.profiling.tables import COPY, GEMM, LIBRARY, table

pytestmark = pytest.mark.usefixtures("inspected_once")

PROBLEM = str(own_directory() / "02_gemm_bias_relu.py")
MODULE = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    pass\n"


@pytest.fixture
def candidate(tmp_path: Path) -> str:
    path = tmp_path / "candidate.py"
    path.write_text(MODULE)
    return str(path)


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for ncu whose report holds three launches."""
    folder = tmp_path / "nsight"
    folder.mkdir()
    (folder / "ncu").write_text(SCRIPT.replace("{python}", sys.executable))
    (folder / "ncu").chmod(0o755)
    (folder / "table.csv").write_text(table(GEMM, COPY, LIBRARY))
    monkeypatch.setenv(ncu.PATH_VARIABLE, str(folder / "ncu"))
    monkeypatch.setenv("MUCUTLASS_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setattr(report, "module_installed", lambda: False)
    return folder


def test_words_come_before_figures_and_each_has_its_unit(
    candidate: str, tool: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept.ncu-rep"
    assert main(["profile", candidate, "--problem", PROBLEM, "-o", str(kept)]) == 0
    out = capsys.readouterr().out
    assert "Nsight Compute 2025.3.1.0" in out
    assert "3 launches" in out
    assert "Limited by compute: compute 87\u202f% of its peak, memory 38\u202f%" in out
    assert "190.53 µs" in out
    assert "FP64" not in out
    assert "not measured" in out
    assert kept.stat().st_size > 1000


def test_the_record_as_json(candidate: str, tool: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", candidate, "--problem", PROBLEM, "--set", "full", "--json"]) == 0
    found = from_json(json.loads(capsys.readouterr().out), Profile)
    assert found.method is not None
    assert found.method.metric_set == "full"
    assert len(found.kernels) == 3


def test_a_cpu_says_why_there_is_nothing(candidate: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", candidate, "--problem", PROBLEM, "--device", "host"]) == 1
    assert "unavailable: Nsight Compute reads the counters of NVIDIA cards" in capsys.readouterr().out


def test_a_refused_candidate_is_no_candidate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "candidate.py"
    path.write_text("x = 1\n")
    assert main(["profile", str(path), "--problem", PROBLEM]) == 1
    assert capsys.readouterr().err.startswith("nothing-to-profile: ")


def test_a_folder_that_is_not_there_is_said_before_anything_runs(
    candidate: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", candidate, "--problem", PROBLEM, "-o", str(tmp_path / "no" / "x.ncu-rep")]) == 1
    assert "its folder does not exist" in capsys.readouterr().err
