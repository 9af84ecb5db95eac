"""Build all units of an emission through the cache, side by side; every way it can end is an outcome.

Whose turn it is with a unit, and what a finished object looks like on disk, is the cache's business; how to call a
compiler is the compiler's.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from kernels.codegen.emission import Emission, Unit
from kernels.codegen.source import without_comments
from kernels.targets import Target
from kernels.toolchain import compilers
from kernels.toolchain.cache import Cache, Entry
from kernels.toolchain.compiler import Compiler
from kernels.toolchain.diskfull import is_disk_full
from kernels.toolchain.errors import BuildCancelled
from kernels.toolchain.report import BuildOutcome, BuildReport, UnitReport

Cancelled = Callable[[], bool] | None


def available(target: Target) -> str | None:
    """The version of the compiler that serves ``target`` here (``g++ 12.2.0``), or None where there is none."""
    compiler = compilers.for_language("cuda" if target.is_cuda else "c++", target)
    return compiler.version() if compiler is not None else None


def cache_key(unit: Unit, compiler: Compiler) -> str:
    """64 hex digits: language, source without comments, headers, and all of the compiler's identity.

    A hand-written source counts as it is: where its comments begin and end is not ours to know.
    """
    source = unit.source if unit.hand_written else without_comments(unit.source)
    headers = (part for header in unit.headers for part in (header.name, header.text))
    text = "\0".join((unit.language, compiler.identity(), unit.symbol, source, *headers))
    return hashlib.sha256(text.encode()).hexdigest()


def build(
    emission: Emission, *, cache: Cache, time_limit_s: float = 120, cancelled: Callable[[], bool] | None = None
) -> BuildReport:
    """Compile what the cache does not have. ``time_limit_s`` is a unit's, in wall-clock seconds.

    Raises BuildCancelled soon after ``cancelled`` turns true (it may be asked from several threads), and OSError for
    trouble with the cache's folder other than a full disk.
    """
    began = time.monotonic()
    chosen = {unit.language: compilers.for_language(unit.language, emission.target) for unit in emission.units}

    def one(unit: Unit) -> UnitReport:
        return _build_unit(unit, chosen[unit.language], cache, time_limit_s, cancelled)

    workers = max(1, min(len(emission.units), os.cpu_count() or 1))
    with ThreadPoolExecutor(workers, thread_name_prefix="build") as pool:
        reports = tuple(pool.map(one, emission.units))
    libraries: dict[str, str] = {}
    for compiler in chosen.values():
        libraries.update(compiler.libraries() if compiler is not None else {})
    return BuildReport(emission.target, reports, time.monotonic() - began, libraries)


def _build_unit(
    unit: Unit, compiler: Compiler | None, cache: Cache, time_limit_s: float, cancelled: Cancelled
) -> UnitReport:
    began = time.monotonic()
    if compiler is None:
        return _failure(unit, BuildOutcome.NO_COMPILER, None, compilers.MISSING[unit.language], began)
    key = cache_key(unit, compiler)
    try:
        return _through_cache(unit, compiler, key, cache, time_limit_s, cancelled, began)
    except OSError as error:
        if not is_disk_full(error):
            raise
        return _failure(unit, BuildOutcome.DISK_FULL, compiler, f"build cache: {error.strerror}", began)


def _through_cache(
    unit: Unit,
    compiler: Compiler,
    key: str,
    cache: Cache,
    time_limit_s: float,
    cancelled: Cancelled,
    began: float,
) -> UnitReport:
    entry = cache.get(key)
    if entry is not None:
        return _success(unit, key, entry, began, hit=True)
    with cache.turn(key, time_limit_s, cancelled):
        if cancelled is not None and cancelled():
            raise BuildCancelled(symbol=unit.symbol)
        entry = cache.get(key)
        if entry is not None:
            return _success(unit, key, entry, began, hit=True)
        with cache.workshop(key) as folder:
            output = folder / f"{unit.symbol}.so"
            compilation = compiler.compile(unit, output, time_limit_s, cancelled)
            if compilation.outcome is BuildOutcome.BUILT:
                entry = cache.put(key, output, compiler.version(), compilation)
                return _success(unit, key, entry, began, hit=False)
    report = _failure(unit, compilation.outcome, compiler, compilation.log, began)
    return replace(
        report, command=compilation.command, warnings=compilation.warnings, resources=compilation.resources
    )


def _success(unit: Unit, key: str, entry: Entry, began: float, *, hit: bool) -> UnitReport:
    return UnitReport(
        symbol=unit.symbol,
        outcome=BuildOutcome.BUILT,
        artifact=key,
        artifact_bytes=entry.bytes,
        compiler=entry.compiler,
        command=entry.compilation.command,
        seconds=time.monotonic() - began,
        cache_hit=hit,
        log=entry.compilation.log,
        warnings=entry.compilation.warnings,
        resources=entry.compilation.resources,
    )


def _failure(unit: Unit, outcome: BuildOutcome, compiler: Compiler | None, log: str, began: float) -> UnitReport:
    return UnitReport(
        symbol=unit.symbol,
        outcome=outcome,
        artifact=None,
        artifact_bytes=None,
        compiler=compiler.version() if compiler is not None else None,
        command=None,
        seconds=time.monotonic() - began,
        cache_hit=False,
        log=log,
        warnings=(),
        resources=(),
    )
