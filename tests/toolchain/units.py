"""Small emissions and a compiler that only counts, for tests of cache and build."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernels.codegen.emission import Emission, Plan, Unit
from kernels.targets import Target
from kernels.toolchain.compiler import Compilation
from kernels.toolchain.report import BuildOutcome


def unit(symbol: str = "mu_map_000000000000", source: str | None = None) -> Unit:
    text = source if source is not None else f'extern "C" int {symbol}() {{ return 7; }}\n'
    return Unit(symbol=symbol, language="c++", source=text, lines=(), stages=("y",))


def emission(*units: Unit) -> Emission:
    return Emission(Target.HOST, units, Plan((), (), (), (), ()))


def compilation(log: str = "") -> Compilation:
    return Compilation(BuildOutcome.BUILT, "g++ y.cpp", log, (), ())


@dataclass(frozen=True)
class CountingCompiler:
    """Writes a line to ``tally`` at each call, takes ``seconds``, and makes a file that is no shared object."""

    tally: Path
    seconds: float = 0.0
    outcome: BuildOutcome = BuildOutcome.BUILT

    def identity(self) -> str:
        return "counting 1"

    def version(self) -> str:
        return "counting 1"

    def libraries(self) -> dict[str, str]:
        return {"counting": "1"}

    def compile(
        self, unit: Unit, output: Path, time_limit_s: float, cancelled: Callable[[], bool] | None = None
    ) -> Compilation:
        with self.tally.open("a") as file:
            file.write(unit.symbol + "\n")
        time.sleep(self.seconds)
        if self.outcome is BuildOutcome.BUILT:
            output.write_text(unit.source)
        return Compilation(self.outcome, "counting", "", (), ())

    @property
    def calls(self) -> int:
        return len(self.tally.read_text().splitlines()) if self.tally.exists() else 0
