"""``mucutlass build --ptx OUT --sass OUT``: the machine's side of a build, written to files."""

from __future__ import annotations

from pathlib import Path

from kernels.codegen.emission import Emission
from kernels.toolchain import Cache
from kernels.toolchain.disassembly import ptx, sass
from kernels.toolchain.errors import DisassemblyToolMissing
from kernels.toolchain.nvcc import Nvcc, find
from kernels.toolchain.report import BuildReport


def write_disassembly(
    emission: Emission, report: BuildReport, store: Cache, ptx_file: Path | None, sass_file: Path | None
) -> None:
    """Write what was asked for, all units in one file. Raises the errors of ``kernels.toolchain.disassembly``."""
    if ptx_file is None and sass_file is None:
        return
    compiler = find(emission.target)
    units = [unit for unit in emission.units if unit.language == "cuda"]
    if compiler is None or not units:
        raise DisassemblyToolMissing(tool="nvcc, which PTX and SASS of a card's kernels need,", place="none found")
    if ptx_file is not None:
        ptx_file.write_text("\n".join(ptx(unit, compiler) for unit in units), encoding="utf-8")
    if sass_file is not None:
        sass_file.write_text("\n".join(_sections(report, store, compiler)), encoding="utf-8")


def _sections(report: BuildReport, store: Cache, compiler: Nvcc) -> list[str]:
    return [sass(store.path(unit.artifact), compiler) for unit in report.units if unit.artifact is not None]
