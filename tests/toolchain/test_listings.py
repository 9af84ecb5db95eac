"""PTX and SASS beside a built object: made once, its own or none, whole or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels.codegen.emission import Emission, Plan, Unit
from kernels.targets import Target
from kernels.toolchain import Cache, nvcc
from kernels.toolchain.build import cache_key
from kernels.toolchain.compiler import Compilation
from kernels.toolchain.errors import (
    BuiltByAnotherCompiler,
    CardCompilerMissing,
    DisassemblyCancelled,
    DisassemblyDiskFull,
    DisassemblyToolMissing,
)
from kernels.toolchain.listings import Built, Listing, built_unit, make, missing_tool
from kernels.toolchain.nvcc import Nvcc
from kernels.toolchain.report import BuildOutcome, UnitReport

UNIT = Unit("mu_map_0123456789ab", "cuda", "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n", (), ("y",))
EMISSION = Emission(Target.SM90A, (UNIT,), Plan((), (), (), (), ()))


def report(artifact: str | None, symbol: str = UNIT.symbol) -> UnitReport:
    outcome = BuildOutcome.BUILT if artifact else BuildOutcome.FAILED
    return UnitReport(symbol, outcome, artifact, 1, "nvcc 13.0.88", None, 0.1, False, "", (), ())


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nvcc:
    """A tool kit of scripts: nvcc writes PTX or an object and notes that it was called, cuobjdump prints a kernel."""
    kit = tmp_path / "kit"
    write_tool(kit / "bin/nvcc", 'echo call >> "$0.calls"; for last; do :; done; echo ".target sm_90a" > "$last"')
    write_tool(kit / "bin/cuobjdump", 'echo "Function : twice of $2"')
    made = Nvcc(kit / "bin/nvcc", kit, "13.0.88", None, side_by_side=False)
    monkeypatch.setattr(nvcc, "find", lambda target: made)
    return made


def write_tool(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def calls(compiler: Nvcc) -> int:
    noted = compiler.executable.with_name("nvcc.calls")
    return len(noted.read_text().splitlines()) if noted.exists() else 0


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "builds")


def stored(cache: Cache, compiler: Nvcc) -> Built:
    """The unit with its object in the cache."""
    key = cache_key(UNIT, compiler)
    with cache.workshop(key) as folder:
        output = folder / f"{UNIT.symbol}.so"
        output.write_bytes(b"object")
        cache.put(key, output, "nvcc 13.0.88", Compilation(BuildOutcome.BUILT, "nvcc", "", (), ()))
    return Built(UNIT, report(key), EMISSION)


def test_a_listing_lies_beside_its_object_and_is_made_once(cache: Cache, compiler: Nvcc) -> None:
    built = stored(cache, compiler)
    made = make(built, Listing.PTX, cache)
    assert made == cache.path(built.key).with_suffix(".ptx")
    assert made.read_text() == ".target sm_90a\n"
    assert make(built, Listing.PTX, cache) == made
    assert calls(compiler) == 1
    assert cache.get(built.key) is not None


def test_sass_comes_from_the_stored_object(cache: Cache, compiler: Nvcc) -> None:
    built = stored(cache, compiler)
    assert make(built, Listing.SASS, cache).read_text() == f"Function : twice of {built.key}.so\n"
    assert calls(compiler) == 0


def test_an_object_that_left_the_cache_is_built_again(cache: Cache, compiler: Nvcc) -> None:
    built = Built(UNIT, report(cache_key(UNIT, compiler)), EMISSION)
    assert make(built, Listing.SASS, cache).exists()
    assert calls(compiler) == 1
    assert cache.get(built.key) is not None


@pytest.mark.parametrize("kind", list(Listing))
def test_what_another_compiler_built_is_not_passed_off(cache: Cache, compiler: Nvcc, kind: Listing) -> None:
    built = Built(UNIT, report("0" * 64), EMISSION)
    with pytest.raises(
        BuiltByAnotherCompiler, match=f"its {kind.word} would be another's: build the program again"
    ):
        make(built, kind, cache)
    assert not cache.listing(built.key, kind).exists()


def test_sass_of_another_compiler_s_object_can_be_had_while_the_object_is_there(
    cache: Cache, compiler: Nvcc, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = stored(cache, compiler)
    newer = replace(compiler, release="99.0.0")
    monkeypatch.setattr(nvcc, "find", lambda target: newer)
    assert make(built, Listing.SASS, cache).exists()
    with pytest.raises(BuiltByAnotherCompiler, match=r"built by nvcc 13\.0\.88; here is nvcc 99\.0\.0"):
        make(built, Listing.PTX, cache)


def test_a_missing_tool_is_named_and_ptx_is_left(
    cache: Cache, compiler: Nvcc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (compiler.root / "bin/cuobjdump").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert isinstance(missing_tool(Listing.SASS, Target.SM90A), DisassemblyToolMissing)
    assert missing_tool(Listing.PTX, Target.SM90A) is None
    with pytest.raises(DisassemblyToolMissing, match="cuobjdump is not in the CUDA tool kit"):
        make(stored(cache, compiler), Listing.SASS, cache)


def test_without_nvcc_nothing_can_be_made_but_what_is_stored_is_found(
    cache: Cache, compiler: Nvcc, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = stored(cache, compiler)
    kept = make(built, Listing.SASS, cache)
    monkeypatch.setattr(nvcc, "find", lambda target: None)
    assert isinstance(missing_tool(Listing.PTX, Target.SM90A), CardCompilerMissing)
    with pytest.raises(CardCompilerMissing, match="nvcc is not on this machine"):
        make(built, Listing.PTX, cache)
    assert make(built, Listing.SASS, cache) == kept


@pytest.mark.parametrize("kind", list(Listing))
def test_nothing_is_kept_of_one_that_was_cancelled(cache: Cache, compiler: Nvcc, kind: Listing) -> None:
    for tool in ("nvcc", "cuobjdump"):
        write_tool(compiler.root / "bin" / tool, 'echo "Function : half"; exec sleep 30')
    built = stored(cache, compiler)
    with pytest.raises(DisassemblyCancelled, match="was stopped before it ended"):
        make(built, kind, cache, lambda: True)
    assert not cache.listing(built.key, kind).exists()


def test_a_full_disk_is_said_and_leaves_nothing(
    cache: Cache, compiler: Nvcc, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = stored(cache, compiler)

    def full(self: Path, *_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kernels.toolchain.cache.Path.write_text", full)
    with pytest.raises(DisassemblyDiskFull, match="no SASS of 'mu_map_0123456789ab' was kept"):
        make(built, Listing.SASS, cache)
    assert not cache.listing(built.key, Listing.SASS).exists()
    assert list((cache.root / "work").iterdir()) == []


def test_only_what_was_built_for_a_card_has_listings() -> None:
    key = "0" * 64
    assert built_unit(EMISSION, (report(key),), 0) is not None
    assert built_unit(EMISSION, (report(key),), 1) is None
    assert built_unit(EMISSION, (report(None),), 0) is None
    assert built_unit(EMISSION, (report(key, "mu_other"),), 0) is None
    assert built_unit(replace(EMISSION, target=Target.HOST), (report(key),), 0) is None
