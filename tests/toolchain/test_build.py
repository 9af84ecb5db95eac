from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from kernels import records
from kernels.codegen.emission import Unit
from kernels.targets import Target
from kernels.toolchain import compilers
from kernels.toolchain.build import available, build, cache_key
from kernels.toolchain.cache import Cache
from kernels.toolchain.compiler import Compilation, Compiler
from kernels.toolchain.errors import BuildCancelled
from kernels.toolchain.report import BuildOutcome, BuildReport
from tests.toolchain.units import CountingCompiler, emission, unit


def _use(monkeypatch: pytest.MonkeyPatch, compiler: Compiler | None) -> None:
    monkeypatch.setattr(compilers, "for_language", lambda language, target: compiler)


def test_the_second_build_is_a_cache_hit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = CountingCompiler(tmp_path / "tally")
    _use(monkeypatch, compiler)
    first = build(emission(unit()), cache=Cache(tmp_path))
    second = build(emission(unit()), cache=Cache(tmp_path))
    assert [report.units[0].cache_hit for report in (first, second)] == [False, True]
    assert first.units[0].artifact == second.units[0].artifact == cache_key(unit(), compiler)
    assert first.outcome is second.outcome is BuildOutcome.BUILT
    assert compiler.calls == 1
    assert second.libraries == {"counting": "1"}
    assert second.units[0].command == "counting"
    assert records.loads(records.dumps(second), BuildReport) == second


def test_comments_do_not_change_the_key_and_code_does(tmp_path: Path) -> None:
    compiler = CountingCompiler(tmp_path)
    commented = replace(unit(), source="// weight\n" + unit().source)
    changed = replace(unit(), source=unit().source.replace("7", "8"))
    assert cache_key(commented, compiler) == cache_key(unit(), compiler)
    assert cache_key(changed, compiler) != cache_key(unit(), compiler)


def test_another_compiler_changes_the_key(tmp_path: Path) -> None:
    class Newer(CountingCompiler):
        def identity(self) -> str:
            return "counting 2"

    assert cache_key(unit(), Newer(tmp_path)) != cache_key(unit(), CountingCompiler(tmp_path))


def test_a_failure_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = CountingCompiler(tmp_path / "tally", outcome=BuildOutcome.FAILED)
    _use(monkeypatch, compiler)
    for _ in range(2):
        report = build(emission(unit()), cache=Cache(tmp_path))
        assert report.outcome is BuildOutcome.FAILED
        assert report.units[0].artifact is None
    assert compiler.calls == 2


def test_no_compiler_is_an_outcome_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _use(monkeypatch, None)
    report = build(emission(unit()), cache=Cache(tmp_path))
    assert report.outcome is BuildOutcome.NO_COMPILER
    assert "install g++" in report.units[0].log
    assert report.units[0].compiler is None


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_an_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    _use(monkeypatch, CountingCompiler(tmp_path / "tally"))

    def full(*_: object) -> None:
        raise OSError(number, "no room")

    monkeypatch.setattr(Cache, "put", full)
    report = build(emission(unit()), cache=Cache(tmp_path))
    assert report.outcome is BuildOutcome.DISK_FULL
    assert "no room" in report.units[0].log
    monkeypatch.undo()
    assert Cache(tmp_path).get(cache_key(unit(), CountingCompiler(tmp_path))) is None


def test_other_trouble_with_the_folder_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, CountingCompiler(tmp_path / "tally"))
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        build(emission(unit()), cache=Cache(tmp_path / "cache"))


def test_a_cancelled_build_raises_and_stores_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = CountingCompiler(tmp_path / "tally")
    _use(monkeypatch, compiler)
    with pytest.raises(BuildCancelled, match="mu_map_000000000000"):
        build(emission(unit()), cache=Cache(tmp_path), cancelled=lambda: True)
    assert compiler.calls == 0


def test_units_are_reported_in_order_and_the_first_failure_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Picky(CountingCompiler):
        def compile(self, unit: Unit, output: Path, time_limit_s: float, cancelled: object = None) -> Compilation:
            if unit.symbol == "b":
                return Compilation(BuildOutcome.FAILED, "picky", "no b", (), ())
            return super().compile(unit, output, time_limit_s)

    _use(monkeypatch, Picky(tmp_path / "tally"))
    report = build(emission(unit("a"), unit("b"), unit("c")), cache=Cache(tmp_path))
    assert [item.symbol for item in report.units] == ["a", "b", "c"]
    assert report.outcome is BuildOutcome.FAILED
    assert report.units[1].log == "no b"


def test_a_program_of_torch_calls_alone_is_built(tmp_path: Path) -> None:
    report = build(emission(), cache=Cache(tmp_path))
    assert report.outcome is BuildOutcome.BUILT
    assert report.units == ()


def test_available_names_the_compiler_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, CountingCompiler(tmp_path))
    assert available(Target.HOST) == "counting 1"
    _use(monkeypatch, None)
    assert available(Target.SM90A) is None
