"""Kernels that are defined and never launched."""

from __future__ import annotations

from collections.abc import Iterator

from kernels.dsl import Program
from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.unit import Unit
from sol.audit.mu import Uses, stages
from sol.audit.python.code import PythonCode, head
from sol.audit.python.own import own_of
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick


class Launches(SourceDetector):
    """None of the kernels within the call's reach is a fig leaf at best; one left over beside others is none."""

    name = "launches"
    tricks = (Trick.NEVER_LAUNCHED,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Kernels in Python and in its strings."""
        own = own_of(code)
        if code.forward is None or not own.defined or own.calls:
            return
        nodes = [*code.jitted.values(), *(call.node for call in code.own_makers)]
        places = [head(node) for node in nodes] or [k.place for unit in code.cxx for k in unit.kernels]
        words = "kernels are defined or loaded, and forward reaches none of them"
        yield self.flag(Trick.NEVER_LAUNCHED, Severity.SEVERE, 0.8, words, *places[:5])

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Kernels of CUDA C++."""
        idle = [kernel for kernel in unit.kernels if kernel.name not in unit.launched]
        if not idle:
            return
        places = tuple(kernel.place for kernel in idle[:5])
        figures = {"defined": float(len(unit.kernels)), "launched": float(len(unit.launched))}
        what = quoted(idle[0].name)
        if unit.launched:
            words = f"{what} is launched nowhere; other kernels are"
            yield self.flag(Trick.NEVER_LAUNCHED, Severity.INFO, 0.3, words, *places, **figures)
        elif unit.raw or any(not f.kernel for f in unit.functions):
            words = f"{what} is launched nowhere, and no other kernel is"
            yield self.flag(Trick.NEVER_LAUNCHED, Severity.SEVERE, 0.8, words, *places, **figures)

    def program(self, program: Program, reading: Reading) -> Iterator[Flag]:
        """Stages that no output rests on."""
        uses = Uses(program)
        idle = [stage for stage in stages(program) if stage.target not in uses.reached]
        if idle:
            words = f"no output rests on {quoted(idle[0].target)}"
            places = tuple(line(stage.span.line) for stage in idle[:5])
            yield self.flag(Trick.NEVER_LAUNCHED, Severity.SUSPECT, 0.6, words, *places)
