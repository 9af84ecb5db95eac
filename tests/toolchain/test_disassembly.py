"""PTX by nvcc and SASS by cuobjdump; the latter is played by a script where the tool kit has none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels.codegen.emission import Unit
from kernels.targets import Target
from kernels.toolchain import nvcc
from kernels.toolchain.disassembly import find_cuobjdump, ptx, sass
from kernels.toolchain.errors import DisassemblyFailed, DisassemblyToolMissing
from kernels.toolchain.nvcc import Nvcc

KERNEL = "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n"


@pytest.fixture
def compiler() -> Nvcc:
    found = nvcc.find(Target.SM90A)
    if found is None:
        pytest.skip("there is no nvcc")
    return found


def unit(source: str) -> Unit:
    return Unit(symbol="mu_map_0123456789ab", language="cuda", source=source, stages=("y",), lines=())


def kit(folder: Path, compiler: Nvcc, script: str) -> Nvcc:
    """The compiler with a tool kit whose cuobjdump is ``script``."""
    tool = folder / "bin/cuobjdump"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return replace(compiler, root=folder)


def test_ptx_of_a_kernel_names_it_and_its_card(compiler: Nvcc) -> None:
    text = ptx(unit(KERNEL), compiler)
    assert ".target sm_90a" in text
    assert ".entry _Z5twicePf" in text


def test_an_error_in_the_source_is_told(compiler: Nvcc) -> None:
    with pytest.raises(DisassemblyFailed, match="PTX of mu_map_0123456789ab: nvcc said"):
        ptx(unit("int broken("), compiler)


def test_sass_is_what_the_tool_prints(compiler: Nvcc, tmp_path: Path) -> None:
    built = tmp_path / "u.so"
    built.write_bytes(b"")
    made = sass(built, kit(tmp_path, compiler, 'echo "Function : $2"; echo "/*0000*/ EXIT ;"'))
    assert made == "Function : u.so\n/*0000*/ EXIT ;\n"


def test_a_tool_that_fails_is_told(compiler: Nvcc, tmp_path: Path) -> None:
    broken = kit(tmp_path, compiler, 'echo "cuobjdump fatal : no device code" >&2; exit 1')
    with pytest.raises(DisassemblyFailed, match="no device code"):
        sass(tmp_path / "u.so", broken)


def test_a_missing_tool_is_told(compiler: Nvcc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    bare = replace(compiler, root=tmp_path)
    assert find_cuobjdump(bare) is None
    with pytest.raises(DisassemblyToolMissing, match="cuobjdump is not in the CUDA tool kit"):
        sass(tmp_path / "u.so", bare)


def test_half_of_a_listing_is_none(compiler: Nvcc, tmp_path: Path) -> None:
    slow = kit(tmp_path, compiler, 'echo "Function : half"; exec sleep 30')
    with pytest.raises(DisassemblyFailed, match=r"stopped at its time limit of 0\.2 s"):
        sass(tmp_path / "u.so", slow, time_limit_s=0.2)


def test_what_a_tool_warns_of_is_not_part_of_the_listing(compiler: Nvcc, tmp_path: Path) -> None:
    made = sass(tmp_path / "u.so", kit(tmp_path, compiler, 'echo "warning : old" >&2; echo "Function : f"'))
    assert made == "Function : f\n"
