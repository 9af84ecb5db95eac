"""``mucutlass build --ptx --sass``: what is written, and what is said where nothing can be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels.toolchain import nvcc
from kernels.toolchain.nvcc import Nvcc
from mucutlass_web.cli.main import main

PROGRAM = """program two(a: f32[16, 16], b: f32[16, 16]) -> f32[16, 16]
  y = map(a + b)
  z = gemm(y, b)
  return z
"""


def write_tool(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "two.mu"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nvcc:
    """A tool kit of scripts; PATH has the shell's own tools and nothing of CUDA."""
    root = tmp_path / "kit"
    write_tool(root / "bin/nvcc", 'for last; do :; done; echo "ptx in $last" > "$last"')
    write_tool(root / "bin/cuobjdump", 'echo "Function : of $2"')
    made = Nvcc(root / "bin/nvcc", root, "13.0.88", None, side_by_side=False)
    monkeypatch.setenv("MUCUTLASS_BUILD_CACHE", str(tmp_path / "builds"))
    use(made, monkeypatch)
    return made


def use(compiler: Nvcc | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (nvcc.__name__, "mucutlass_web.cli.disassembly"):
        monkeypatch.setattr(f"{place}.find", lambda target: compiler)


def build(program: Path, *more: str, arch: str = "sm_90a") -> int:
    return main(["build", str(program), "--arch", arch, *more])


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
def test_sass_of_all_units_is_written_in_one_file(program: Path, kit: Nvcc, tmp_path: Path, arch: str) -> None:
    out = tmp_path / "two.sass"
    assert build(program, "--sass", str(out), arch=arch) == 0
    sections = out.read_text().splitlines()
    assert len([line for line in sections if line.startswith("Function : of ")]) == 2
    assert len(set(sections) - {""}) == 2


def test_ptx_and_sass_can_be_had_together(program: Path, kit: Nvcc, tmp_path: Path) -> None:
    out = tmp_path / "two.ptx"
    assert build(program, "--ptx", str(out), "--sass", str(tmp_path / "two.sass")) == 0
    assert "ptx in mu_map_" in out.read_text()
    assert "ptx in mu_gemm_" in out.read_text()
    assert (tmp_path / "two.sass").exists()


def test_a_missing_cuobjdump_is_named_and_no_file_is_left(
    program: Path, kit: Nvcc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (kit.root / "bin/cuobjdump").unlink()
    monkeypatch.setattr("kernels.toolchain.disassembly.shutil.which", lambda name: None)
    assert build(program, "--sass", str(tmp_path / "out")) == 1
    assert "disassembly-tool-missing: cuobjdump is not in the CUDA tool kit" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_tool_that_fails_is_quoted(
    program: Path, kit: Nvcc, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tool(kit.root / "bin/cuobjdump", 'echo "cuobjdump fatal : no device code" >&2; exit 1')
    assert build(program, "--sass", str(tmp_path / "out")) == 1
    assert "disassembly-failed: no SASS of " in (said := capsys.readouterr().err)
    assert "cuobjdump said: cuobjdump fatal : no device code" in said


@pytest.mark.parametrize("option", ["--ptx", "--sass"])
def test_a_build_for_the_host_has_neither(
    program: Path, tmp_path: Path, kit: Nvcc, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert build(program, option, str(tmp_path / "out"), arch="host") == 1
    assert "no-card-code: a build for host of this program has no kernel for a card" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_without_nvcc_it_says_so(
    program: Path, kit: Nvcc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(None, monkeypatch)
    assert build(program, "--sass", str(tmp_path / "out")) == 1
    assert "card-compiler-missing: nvcc is not on this machine" in capsys.readouterr().err


def test_of_a_build_that_failed_the_log_is_told_and_nothing_written(
    program: Path, kit: Nvcc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken/bin/nvcc"
    write_tool(broken, 'echo "two.cu(3): error: expected a ;" >&2; exit 2')
    use(replace(kit, executable=broken), monkeypatch)
    assert build(program, "--ptx", str(tmp_path / "p"), "--sass", str(tmp_path / "s")) == 1
    assert "error: expected a ;" in capsys.readouterr().err
    assert not (tmp_path / "p").exists()
    assert not (tmp_path / "s").exists()


def test_a_place_that_cannot_be_written_is_told(
    program: Path, kit: Nvcc, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build(program, "--sass", str(tmp_path / "no/such/out")) == 1
    assert "file-not-writable: " in capsys.readouterr().err
