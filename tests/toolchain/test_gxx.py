from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.childprocess import ChildLimits, ChildResult, Ending, run
from kernels.toolchain import gxx
from kernels.toolchain.build import build
from kernels.toolchain.cache import Cache
from kernels.toolchain.errors import BuildCancelled
from kernels.toolchain.gxx import Gxx
from kernels.toolchain.report import BuildOutcome
from tests.toolchain.units import emission, unit


@pytest.fixture
def compiler() -> Gxx:
    found = gxx.find()
    if found is None:
        pytest.skip("there is no g++ on PATH")
    return found


def test_a_unit_becomes_a_shared_object(compiler: Gxx, tmp_path: Path) -> None:
    made = compiler.compile(unit(), tmp_path / "y.so", 60)
    assert made.outcome is BuildOutcome.BUILT, made.log
    assert ctypes.CDLL(str(tmp_path / "y.so")).mu_map_000000000000() == 7


def test_an_error_names_the_line_and_no_folder_of_this_machine(compiler: Gxx, tmp_path: Path) -> None:
    source = '#include "mu/gemm.h"\n#include <vector>\nstd::vector<void> v;\nint x = y;\n'
    made = compiler.compile(unit(source=source), tmp_path / "y.so", 60)
    assert made.outcome is BuildOutcome.FAILED
    assert "mu_map_000000000000.cpp:4:9: error: 'y' was not declared" in made.log
    assert str(tmp_path) not in made.log
    assert " /" not in made.log
    assert str(tmp_path) not in made.command


def test_warnings_are_told_apart(compiler: Gxx, tmp_path: Path) -> None:
    made = compiler.compile(unit(source="static int unused() { return 1; }\n"), tmp_path / "y.so", 60)
    assert made.outcome is BuildOutcome.BUILT
    (warning,) = made.warnings
    assert "defined but not used" in warning


def test_a_compile_over_its_time_is_a_timeout(compiler: Gxx, tmp_path: Path) -> None:
    source = "#include <map>\n" + "".join(f"std::map<int, char[{n}]> m{n};\n" for n in range(1, 3000))
    made = compiler.compile(unit(source=source), tmp_path / "y.so", 0.3)
    assert made.outcome is BuildOutcome.TIMEOUT
    assert "stopped after 0.3 s" in made.log
    assert not (tmp_path / "y.so").exists()


def test_a_cancelled_compile_raises(compiler: Gxx, tmp_path: Path) -> None:
    with pytest.raises(BuildCancelled):
        compiler.compile(unit(source="#include <map>\n"), tmp_path / "y.so", 60, lambda: True)


def test_a_full_disk_is_an_outcome(compiler: Gxx, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler may write four kilobytes to a file, and says what it says on a full disk."""
    whole = run

    def cramped(argv: list[str], *, limits: ChildLimits, **rest: object) -> ChildResult:
        return whole(argv, limits=replace(limits, file_bytes=4096), **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(gxx, "run", cramped)
    source = 'extern "C" int data[4096];\nint data[4096] = {1};\n'
    report = build(emission(unit(source=source)), cache=Cache(tmp_path))
    assert report.outcome is BuildOutcome.DISK_FULL, report.units[0].log
    assert not list(tmp_path.rglob("*.so"))


def test_an_exit_without_an_object_is_a_failure(tmp_path: Path) -> None:
    result = ChildResult(Ending.EXITED, 0, "", "", 0.1, False)
    assert gxx.outcome_of(result, "", tmp_path / "none.so") is BuildOutcome.FAILED


def test_the_identity_holds_version_flags_machine_and_headers(
    compiler: Gxx, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = compiler.identity()
    assert "-march=" in compiler.native
    assert "-march=native" not in compiler.native
    assert compiler.version() in identity
    assert "-ffp-contract=fast" in identity
    assert replace(compiler, native="-mno-avx").identity() != identity
    monkeypatch.setattr(gxx, "headers_digest", lambda: "another")
    assert compiler.identity() != identity


def test_values_are_never_assumed_to_be_finite() -> None:
    assert not {"-ffast-math", "-ffinite-math-only", "-Ofast", "-funsafe-math-optimizations"} & set(gxx.FLAGS)


def test_a_program_that_is_no_compiler_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "g++"
    fake.write_text("#!/bin/sh\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gxx.find() is None
    monkeypatch.setenv("PATH", "/nonexistent")
    assert gxx.find() is None
