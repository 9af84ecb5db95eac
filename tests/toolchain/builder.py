"""A process that builds one unit with the counting compiler; arguments: cache folder, tally file, seconds to take."""

from __future__ import annotations

import sys
from pathlib import Path

from kernels.toolchain import build, compilers
from kernels.toolchain.cache import Cache
from tests.toolchain.units import CountingCompiler, emission, unit


def main(root: str, tally: str, seconds: str) -> None:
    compiler = CountingCompiler(Path(tally), float(seconds))
    compilers.for_language = lambda language, target: compiler
    report = build(emission(unit()), cache=Cache(Path(root)), time_limit_s=30)
    sys.stdout.write(f"{report.outcome} {report.units[0].cache_hit}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
