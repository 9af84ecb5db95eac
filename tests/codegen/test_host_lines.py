from __future__ import annotations

from kernels.codegen.emission import Unit
from kernels.codegen.host import emit_stage
from kernels.dsl.syntax import Assign, Knob, Name, Span
from tests.codegen.stages import ACC, apply, gemm_stage, step, value


def _line(number: int) -> Span:
    return Span(number, 3, number, 9)


def _linked(unit: Unit, text: str) -> int | None:
    """The program's line of the C++ line that holds ``text``."""
    (cpp,) = [number for number, line in enumerate(unit.source.split("\n"), 1) if text in line]
    return next((link.mu for link in unit.lines if link.cpp == cpp), None)


def test_lines_of_the_code_point_at_the_program() -> None:
    stage = gemm_stage(
        value("x", (4, 16)),
        value("w", (16, 8)),
        chain=[step(apply("relu", ACC), "relu()", line=9)],
        tile=[48, 64, 32],
    )
    source = Assign(
        target="y",
        op="gemm",
        args=(Name("x", _line(2)), Name("w", _line(3))),
        kwargs=(),
        knobs=(Knob("tile", (), _line(5)),),
        chain=(),
        once=False,
        span=_line(1),
    )
    unit = emit_stage(stage, source).unit
    assert _linked(unit, "using A =") == 2
    assert _linked(unit, "using B =") == 3
    assert _linked(unit, "tile_m = 48") == 5
    assert _linked(unit, "micro_m = 12") == 1
    assert _linked(unit, "mu::relu(acc)") == 9
    assert _linked(unit, "return gemm.run") is None


def test_without_syntax_lines_point_at_the_stage() -> None:
    unit = emit_stage(gemm_stage(value("x", (4, 16)), value("w", (16, 8))), None).unit
    assert {link.mu for link in unit.lines} == {1}
