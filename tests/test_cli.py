"""The command line: what it prints, where errors go, which status it ends with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.problems.files import own_directory
from mucutlass_web.cli.main import main

GEMM = own_directory() / "02_gemm_bias_relu.py"
LITERAL = """program tiny(a: f32[16, 16], b: f32[16, 16]) -> f32[16, 16]
  y = gemm(a, b) >> relu()
  return y
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.mu"
    path.write_text(LITERAL)
    return path


def test_check_says_that_a_program_is_legal(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(program)]) == 0
    assert "tiny: legal for host, 1 stages" in capsys.readouterr().out


def test_check_prints_one_line_an_error_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.mu"
    path.write_text(LITERAL.replace("gemm(a, b)", "gemm(a, c)").replace("return y", "return z"))
    assert main(["check", str(path)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(f"{path}:2:")
    assert "unknown-name" in lines[0]
    assert lines[1].startswith(f"{path}:3:")


def test_symbols_need_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "symbols.mu"
    path.write_text(LITERAL.replace("a: f32[16, 16]", "a: f32[M, 16]"))
    assert main(["check", str(path)]) == 1
    assert "--problem FILE.py would bind them" in capsys.readouterr().err


def test_emit_prints_cpp_for_the_host_and_for_the_card(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emit", str(program)]) == 0
    assert 'extern "C" int mu_gemm_' in capsys.readouterr().out
    assert main(["emit", str(program), "--arch", "sm_90a", "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["units"][0]["language"] == "cuda"
    assert main(["emit", str(program), "--arch", "sm_80"]) == 0
    assert "cutlass::arch::Sm80" in capsys.readouterr().out


def test_build_compiles_once_and_then_finds_it(
    program: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUCUTLASS_BUILD_CACHE", str(tmp_path / "builds"))
    assert main(["build", str(program), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["units"][0]["cache_hit"] is False
    assert main(["build", str(program), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["units"][0]["cache_hit"] is True


def test_translate_gives_a_program_that_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", str(GEMM), "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["error"] is None
    assert form["own"]
    path = tmp_path / "translated.mu"
    path.write_text(form["program"])
    assert main(["check", str(path), "--problem", str(GEMM)]) == 0


def test_sol_bounds_a_problem_on_a_card(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sol", str(GEMM), "--device", "h100-sxm", "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["floor_s"] <= form["steering_bound_s"]
    assert form["bound_class"] in ("compute", "memory")
    assert form["unknown_ops"] == []


def test_a_missing_file_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["check", str(tmp_path / "none.mu")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("file-not-readable: ")
    assert len(error.splitlines()) == 1


def test_wrong_usage_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bild", "x"])
    assert ended.value.code == 2
    assert "invalid choice" in capsys.readouterr().err


def test_the_command_line_loads_neither_django_nor_torch() -> None:
    code = (
        "import sys, mucutlass_web.cli.main; print([m for m in ('django', 'torch', 'celery') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_language_reference_in_docs_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reference"]) == 0
    kept = Path(__file__).resolve().parent.parent / "docs" / "language.md"
    assert kept.read_text(encoding="utf-8") == capsys.readouterr().out, "run: make docs"
