"""PTX and SASS of built units, made once on demand and kept in the build cache beside their objects.

A listing is addressed as its object is, so it is that object's or none: PTX is made only where this machine's compiler
is the one that built it, SASS is taken out of the object itself. It shows nothing and decides nothing about a build.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from kernels.codegen.emission import Emission, Unit
from kernels.errors import UserError
from kernels.targets import Target
from kernels.toolchain import nvcc
from kernels.toolchain.build import build, cache_key
from kernels.toolchain.cache import Cache
from kernels.toolchain.disassembly import Cancelled, find_cuobjdump, ptx, sass
from kernels.toolchain.diskfull import is_disk_full
from kernels.toolchain.errors import (
    BuiltByAnotherCompiler,
    CardCompilerMissing,
    DisassemblyDiskFull,
    DisassemblyFailed,
    DisassemblyToolMissing,
)
from kernels.toolchain.report import UnitReport


class Listing(StrEnum):
    """What a kernel can be shown as below C++; also the extension of its file."""

    PTX = "ptx"
    SASS = "sass"

    @property
    def word(self) -> str:
        """As people write it."""
        return self.value.upper()


@dataclass(frozen=True, slots=True)
class Built:
    """One unit that was built for a card: its code, and the report of its build, whose artifact is its key."""

    unit: Unit
    report: UnitReport
    emission: Emission

    @property
    def key(self) -> str:
        """The key of its object in the build cache."""
        return self.report.artifact or ""


def built_unit(emission: Emission, reports: tuple[UnitReport, ...], index: int) -> Built | None:
    """Unit ``index`` of an emission for a card; None where there is none, it is no CUDA, or it was not built."""
    if not (emission.target.is_cuda and 0 <= index < len(emission.units)):
        return None
    unit = emission.units[index]
    report = next((one for one in reports if one.symbol == unit.symbol and one.artifact), None)
    return Built(unit, report, emission) if report is not None and unit.language == "cuda" else None


def missing_tool(kind: Listing, target: Target) -> UserError | None:
    """Why this machine cannot make a listing: CardCompilerMissing, DisassemblyToolMissing; None where it can."""
    compiler = nvcc.find(target)
    if compiler is None:
        return CardCompilerMissing()
    if kind is Listing.SASS and find_cuobjdump(compiler) is None:
        return DisassemblyToolMissing(tool="cuobjdump", place=compiler.root.name)
    return None


def make(built: Built, kind: Listing, cache: Cache, cancelled: Cancelled = None) -> Path:
    """The file of a unit's listing, made now where it is not stored yet.

    An object that left the cache is built again where the same compiler is here. Raises the errors of
    ``missing_tool`` and of ``kernels.toolchain.disassembly``, BuiltByAnotherCompiler and DisassemblyDiskFull;
    BuildCancelled or DisassemblyCancelled soon after ``cancelled`` turns true.
    """
    stored = cache.listing(built.key, kind)
    if stored.is_file():
        return stored
    compiler = nvcc.find(built.emission.target)
    if compiler is None:
        raise CardCompilerMissing()
    try:
        text = _ptx(built, compiler, cancelled) if kind is Listing.PTX else _sass(built, compiler, cache, cancelled)
        return cache.put_listing(built.key, kind, text)
    except OSError as error:
        if not is_disk_full(error):
            raise
        raise DisassemblyDiskFull(what=kind.word, symbol=built.unit.symbol) from error


def _ptx(built: Built, compiler: nvcc.Nvcc, cancelled: Cancelled) -> str:
    _same_compiler(built, compiler, Listing.PTX)
    return ptx(built.unit, compiler, cancelled=cancelled)


def _sass(built: Built, compiler: nvcc.Nvcc, cache: Cache, cancelled: Cancelled) -> str:
    if cache.get(built.key) is None:
        _same_compiler(built, compiler, Listing.SASS)
        again = build(replace(built.emission, units=(built.unit,)), cache=cache, cancelled=cancelled).units[0]
        if again.artifact != built.key:
            raise DisassemblyFailed(what=f"SASS of {built.unit.symbol}", tool="nvcc", reason=again.outcome.value)
    return sass(cache.path(built.key), compiler, cancelled=cancelled)


def _same_compiler(built: Built, compiler: nvcc.Nvcc, kind: Listing) -> None:
    if cache_key(built.unit, compiler) != built.key:
        raise BuiltByAnotherCompiler(
            symbol=built.unit.symbol,
            built_by=built.report.compiler or "an unknown compiler",
            here=compiler.version(),
            what=kind.word,
        )
