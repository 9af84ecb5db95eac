"""nvcc: how it is found, what each ending becomes, and that it builds what the generators write."""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path

import pytest

from kernels.codegen.emission import Unit
from kernels.codegen.sm90a import emit_stage
from kernels.targets import Target
from kernels.toolchain import nvcc
from kernels.toolchain.build import cache_key
from kernels.toolchain.errors import BuildCancelled
from kernels.toolchain.nvcc import Nvcc
from kernels.toolchain.report import BuildOutcome
from tests.codegen.sm80_units import linear
from tests.codegen.sm90a_stages import ACC, F16, F32, call, cast, load, product, step, tensor, transposed

UNIT = Unit("mu_map_0123456789ab", "cuda", "int answer() { return 42; }\n", (), ("y",))
ANSWERS_VERSION = (
    'if [ "$1" = --version ]; then echo "Cuda compilation tools, release 13.0, V13.0.88"; exit 0; fi\n'
)
TO_OUTPUT = 'while [ "$1" != -o ]; do shift; done\n'

needs_nvcc = pytest.mark.skipif(nvcc.find() is None, reason="no nvcc on PATH, in CUDA_HOME or in wheels")


def script(folder: Path, body: str) -> Path:
    """An executable named nvcc."""
    path = folder / "bin" / "nvcc"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{ANSWERS_VERSION}{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def compiler(folder: Path, body: str) -> Nvcc:
    """A compiler that does what ``body`` says, with no CUTLASS beside it."""
    return Nvcc(script(folder, body), folder, "13.0.88", None)


def test_a_build_writes_the_object_beside_its_source(tmp_path: Path) -> None:
    made = compiler(tmp_path / "kit", TO_OUTPUT + 'cp /bin/true "$2"; echo "ptxas info : fine" >&2')
    result = made.compile(UNIT, tmp_path / "u.so", 30)
    assert result.outcome is BuildOutcome.BUILT
    assert "ptxas info : fine" in result.log
    assert (tmp_path / "u.so").exists()
    assert (tmp_path / f"{UNIT.symbol}.cu").read_text(encoding="utf-8") == UNIT.source


def test_commands_and_logs_name_no_folder_of_this_machine(tmp_path: Path) -> None:
    made = compiler(tmp_path / "kit", 'echo "$0: $PWD/u.cu(1): error: no" >&2; exit 1')
    result = made.compile(UNIT, tmp_path / "u.so", 30)
    assert result.outcome is BuildOutcome.FAILED
    assert "./u.cu(1): error: no" in result.log
    assert str(tmp_path) not in result.log + result.command
    assert result.command.startswith("nvcc -std=c++17 -O3 -DNDEBUG -gencode=arch=compute_90a,code=sm_90a")


def test_each_card_s_target_has_flags_and_an_identity_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{script(tmp_path, '').parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    hopper, ampere = nvcc.find(), nvcc.find(Target.SM80)
    assert hopper is not None
    assert ampere is not None
    assert "-gencode=arch=compute_90a,code=sm_90a" in hopper.flags
    assert "-gencode=arch=compute_80,code=[sm_80,compute_80]" in ampere.flags
    assert cache_key(UNIT, hopper) != cache_key(UNIT, ampere)


def test_the_time_limit_ends_it(tmp_path: Path) -> None:
    result = compiler(tmp_path / "kit", "sleep 60").compile(UNIT, tmp_path / "u.so", 0.3)
    assert result.outcome is BuildOutcome.TIMEOUT
    assert "time limit of 0.3 s" in result.log


def test_a_change_of_mind_ends_it(tmp_path: Path) -> None:
    with pytest.raises(BuildCancelled):
        compiler(tmp_path / "kit", "sleep 60").compile(UNIT, tmp_path / "u.so", 30, lambda: True)


def test_a_full_disk_is_told_apart_from_an_error(tmp_path: Path) -> None:
    made = compiler(tmp_path / "kit", 'echo "fatal: No space left on device" >&2; exit 1')
    assert made.compile(UNIT, tmp_path / "u.so", 30).outcome is BuildOutcome.DISK_FULL


def test_a_compiler_that_is_gone_is_an_outcome(tmp_path: Path) -> None:
    gone = Nvcc(tmp_path / "nowhere" / "nvcc", tmp_path, "13.0.88", None)
    assert gone.compile(UNIT, tmp_path / "u.so", 30).outcome is BuildOutcome.NO_COMPILER


def test_an_exit_status_of_zero_without_an_object_is_a_failure(tmp_path: Path) -> None:
    assert compiler(tmp_path / "kit", "exit 0").compile(UNIT, tmp_path / "u.so", 30).outcome is BuildOutcome.FAILED


def test_a_long_log_is_cut_in_the_middle(tmp_path: Path) -> None:
    made = compiler(tmp_path / "kit", "seq 1 30000 >&2; exit 1")
    log = made.compile(UNIT, tmp_path / "u.so", 30).log
    assert len(log) < nvcc.LOG_CHARACTERS + 100
    assert log.startswith("1\n2\n")
    assert log.endswith("30000\n")
    assert "characters left out]" in log


def test_the_compiler_sees_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    made = compiler(tmp_path / "kit", "env >&2; exit 1")
    log = made.compile(UNIT, tmp_path / "u.so", 30).log
    assert "secret" not in log
    assert "TMPDIR=." in log


def test_path_comes_before_cuda_home_and_what_does_not_run_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = script(tmp_path / "one", ""), script(tmp_path / "two", "")
    monkeypatch.setenv("PATH", f"{first.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "two"))
    found = nvcc.find()
    assert found is not None
    assert found.executable == first
    first.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    found = nvcc.find()
    assert found is not None
    assert found.executable == second


def test_the_wheels_serve_where_no_tool_kit_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older = script(tmp_path / "nvidia/cu12", "")
    newer = script(tmp_path / "nvidia/cu13", "")
    (tmp_path / "nvidia/cu13/lib").mkdir()
    (tmp_path / "nvidia/cu13/lib/libcudart_static.a").touch()
    monkeypatch.setattr(nvcc, "_wheel_folders", lambda: [tmp_path / "nvidia"])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    found = nvcc.find()
    assert found is not None
    assert found.executable == newer != older
    assert "-L<cuda>/lib" in found.compile(UNIT, tmp_path / "u.so", 30).command


def test_nothing_is_found_where_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvcc, "_candidates", list)
    assert nvcc.find() is None


def test_cutlass_path_overrides_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = tmp_path / "include/cutlass/version.h"
    header.parent.mkdir(parents=True)
    header.write_text(
        "#define CUTLASS_MAJOR 9\n#define CUTLASS_MINOR 8\n#define CUTLASS_PATCH 7\n", encoding="utf-8"
    )
    monkeypatch.setenv("CUTLASS_PATH", str(tmp_path))
    assert nvcc.find_cutlass() == tmp_path
    made = Nvcc(tmp_path / "nvcc", tmp_path, "13.0.88", nvcc.find_cutlass())
    assert made.libraries() == {"cutlass": "9.8.7"}
    assert "cutlass 9.8.7" in made.identity()
    monkeypatch.setenv("CUTLASS_PATH", str(tmp_path / "nowhere"))
    assert nvcc.find_cutlass() is None


def test_line_information_changes_the_identity(tmp_path: Path) -> None:
    plain = Nvcc(tmp_path / "nvcc", tmp_path, "13.0.88", None)
    assert plain.identity() != Nvcc(tmp_path / "nvcc", tmp_path, "13.0.88", None, line_info=True).identity()


@pytest.mark.nvcc
@needs_nvcc
def test_a_cast_builds_and_loads(tmp_path: Path) -> None:
    found = nvcc.find()
    assert found is not None
    unit = emit_stage(cast(tensor("x", F32, (64, 64)), F16), None).unit
    result = found.compile(unit, tmp_path / "u.so", 200)
    assert result.outcome is BuildOutcome.BUILT, result.log
    assert [each.kernel for each in result.resources] == ["elementwise"]
    assert result.resources[0].registers > 0
    assert result.warnings == ()
    assert hasattr(ctypes.CDLL(str(tmp_path / "u.so")), unit.symbol)


@pytest.mark.nvcc
@needs_nvcc
@pytest.mark.timeout(600)
def test_a_collective_with_a_fused_chain_builds_without_warnings_or_spills(tmp_path: Path) -> None:
    found = nvcc.find()
    assert found is not None
    if found.cutlass is None or not shutil.which("g++"):
        pytest.skip("CUTLASS's headers or a host compiler are not installed")
    x, w, bias = tensor("x", F16, (512, 256)), transposed(tensor("w", F16, (256, 256))), tensor("bias", F32, (256,))
    chain = [step("bias(bias)", call("add", ACC, load(bias, (512, 256)))), step("relu()", call("relu", ACC))]
    unit = emit_stage(product(x, w, chain, tile=[128, 256, 64], cluster=[2, 1]), None).unit
    result = found.compile(unit, tmp_path / "u.so", 580)
    assert result.outcome is BuildOutcome.BUILT, result.log
    assert result.warnings == ()
    assert [(each.kernel, each.spill_stores) for each in result.resources] == [("device_kernel", 0)]
    assert hasattr(ctypes.CDLL(str(tmp_path / "u.so")), unit.symbol)


@pytest.mark.nvcc
@needs_nvcc
@pytest.mark.timeout(600)
def test_an_ampere_product_with_a_fused_chain_builds_without_warnings_or_spills(tmp_path: Path) -> None:
    found = nvcc.find(Target.SM80)
    assert found is not None
    if found.cutlass is None or not shutil.which("g++"):
        pytest.skip("CUTLASS's headers or a host compiler are not installed")
    unit = linear(".tile(128, 128, 32)", " >> bias(bias) >> relu()").unit
    result = found.compile(unit, tmp_path / "u.so", 580)
    assert result.outcome is BuildOutcome.BUILT, result.log
    assert result.warnings == ()
    assert [(each.kernel, each.spill_stores) for each in result.resources] == [("Kernel2", 0)]
    assert hasattr(ctypes.CDLL(str(tmp_path / "u.so")), unit.symbol)
