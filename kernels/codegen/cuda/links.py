"""The links of a chain as functors of CUTLASS's epilogue visitor trees, which 2.x and 3.x call alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernels.codegen.cuda.expression import INFIX, functions, text
from kernels.codegen.cuda.functions import FUNCTIONS, definitions
from kernels.codegen.cuda.writer import SourceWriter
from kernels.dsl.ir import Acc, Apply, ChainStep, Load, Value

_FUNCTORS = {"add": "plus", "sub": "minus", "mul": "multiplies", "div": "divides"}


@dataclass(frozen=True, slots=True)
class Naming:
    """The name of a link's C++ type and of its functor; ``own`` says whether the unit has to define the functor."""

    name: str
    functor: str
    own: bool


def name_link(index: int, step: ChainStep) -> Naming:
    """``gelu()`` as the third link is ``Gelu2``, its functor ``Gelu2Of``; ``add(t)`` takes CUTLASS's ``plus``."""
    word = re.match(r"\w*", step.text)
    stem = "".join(part.capitalize() for part in (word.group() if word else "").split("_")) or "Link"
    functor = _plain_functor(step)
    return Naming(f"{stem}{index}", functor or f"{stem}{index}Of", own=functor is None)


def _plain_functor(step: ChainStep) -> str | None:
    expr = step.expr
    if not isinstance(expr, Apply) or expr.function not in INFIX or len(expr.args) != 2:
        return None
    if isinstance(expr.args[0], Acc) and isinstance(expr.args[1], Load):
        return f"cutlass::{_FUNCTORS[expr.function]}"
    return None


def write_functors(
    out: SourceWriter, stage: str, links: Sequence[tuple[Naming, ChainStep, Sequence[Value]]]
) -> None:
    """The functions and functors that the links need, if any; each link comes with the values it loads, in order."""
    called: set[str] = set()
    for naming, step, _ in links:
        if naming.own:
            called |= functions(step.expr)
    body = definitions(called & set(FUNCTIONS))
    if body:
        out.lines(body)
        out.line()
    for naming, step, values in links:
        if naming.own:
            _write_functor(out, stage, naming.functor, step, values)


def _write_functor(out: SourceWriter, stage: str, functor: str, step: ChainStep, values: Sequence[Value]) -> None:
    names = [f"v{index}" for index in range(len(values))]
    by_value = {value.name: name for value, name in zip(values, names, strict=True)}
    expression = text(step.expr, by_value, "float", stage)
    mu = step.span.line
    scalars = ", ".join(f"float {name}" for name in ["acc", *names])
    arrays = ", ".join(f"Lanes const& {name}" for name in ["acc", *names])
    lanes = ", ".join(f"{name}[i]" for name in ["acc", *names])
    out.line("template <class T>")
    out.line(f"struct {functor} {{", f">> {step.text}", mu)
    out.line(f"  CUTLASS_DEVICE float operator()({scalars}) const {{")
    out.line(f"    return {expression};", mu=mu)
    out.lines("  }\n};\ntemplate <int N>")
    out.line(f"struct {functor}<cutlass::Array<float, N>> {{")
    out.line("  using Lanes = cutlass::Array<float, N>;")
    out.line(f"  CUTLASS_DEVICE Lanes operator()({arrays}) const {{")
    out.lines("    Lanes y;\n    CUTLASS_PRAGMA_UNROLL")
    out.line(f"    for (int i = 0; i < N; ++i) {{ y[i] = {functor}<float>{{}}({lanes}); }}")
    out.lines("    return y;\n  }\n};")
    out.line()
