"""``mucutlass build --ptx OUT --sass OUT``: the machine's side of a build, written to files."""

from __future__ import annotations

from pathlib import Path

from kernels.codegen.emission import Emission
from kernels.toolchain import Cache
from kernels.toolchain.disassembly import ptx, sass
from kernels.toolchain.errors import CardCompilerMissing
from kernels.toolchain.nvcc import Nvcc, find
from kernels.toolchain.report import BuildOutcome, BuildReport
from mucutlass_web.cli.errors import FileNotWritable, NoCardCode


def write_disassembly(
    emission: Emission, report: BuildReport, store: Cache, ptx_file: Path | None, sass_file: Path | None
) -> None:
    """Write what was asked for, all units in one file; nothing of a build that failed.

    Raises the errors of ``kernels.toolchain.disassembly``, CardCompilerMissing, NoCardCode and FileNotWritable.
    """
    if ptx_file is None and sass_file is None:
        return
    units = [unit for unit in emission.units if unit.language == "cuda"]
    if not units:
        raise NoCardCode(target=emission.target.value)
    compiler = find(emission.target)
    if compiler is None:
        raise CardCompilerMissing()
    if report.outcome is not BuildOutcome.BUILT:
        return
    if ptx_file is not None:
        _write(ptx_file, [ptx(unit, compiler) for unit in units])
    if sass_file is not None:
        _write(sass_file, _sections(report, store, compiler))


def _sections(report: BuildReport, store: Cache, compiler: Nvcc) -> list[str]:
    return [sass(store.path(unit.artifact), compiler) for unit in report.units if unit.artifact is not None]


def _write(file: Path, texts: list[str]) -> None:
    try:
        file.write_text("\n".join(texts), encoding="utf-8")
    except OSError as error:
        raise FileNotWritable(path=file, why=error.strerror or str(error)) from None
