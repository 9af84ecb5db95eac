from __future__ import annotations

import pytest

from kernels.dsl import format_program, parse
from kernels.dsl.parser import parse_value
from kernels.dsl.printer import format_value, same

CANONICAL = """\
program two_layers(x: f32[M, K], layers.0.weight: f32[N, K]) -> f32[M, N], i64[]
  w = cast(layers.0.weight, f16) @once
  t = x.reshape(4, -1).T
  y = gemm(x, w.T).tile(96, 512, 256).threads(auto) >> clamp(0, max=6.5) >> expr(acc / (1 + exp(-acc)))
  z, unused = 1
  return y
"""


def test_canonical_text_is_printed_as_it_was() -> None:
    text = CANONICAL.replace("  z, unused = 1\n", "  r = torch.topk(y, 1, dim=[-1, 2]) -> f32[M, 1], i64[M, 1]\n")
    assert format_program(parse(text)) == text


def test_comments_and_spaces_are_not_kept() -> None:
    program = parse("program p (x:f32[4,],)->f32[4]\n y=map( x+1 )# note\n return y,")
    assert format_program(program) == "program p(x: f32[4]) -> f32[4]\n  y = map(x + 1)\n  return y\n"


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("((a))+b", "a + b"),
        ("a-(b-c)", "a - (b - c)"),
        ("(a-b)-c", "a - b - c"),
        ("a/(b*c)", "a / (b * c)"),
        ("(a*b)/c", "a * b / c"),
        ("-(a+b)*c", "-(a + b) * c"),
        ("-(a*b)", "-(a * b)"),
        ("--a", "--a"),
        ("--3", "3"),
        ("2*-3", "2 * -3"),
        ("(-3).T", "(-3).T"),
        ("(a+b).T.reshape(1, 2)", "(a + b).T.reshape(1, 2)"),
        ("(1,)", "[1]"),
        ("()", "[]"),
        ("'a\"b'", "'a\"b'"),
        ("1e-05", "1e-05"),
        ("f(a, b = (1))", "f(a, b=1)"),
    ],
)
def test_values_are_printed_with_the_brackets_they_need(written: str, printed: str) -> None:
    assert format_value(parse_value(written)) == printed
    assert format_value(parse_value(printed)) == printed


def test_same_compares_without_places() -> None:
    left = parse("program p(x: f32[4]) -> f32[4] y = map(x + 1) return y")
    right = parse("program p(x: f32[4]) -> f32[4]\n\n  y = map(x + 1)  # more\n  return y")
    other = parse("program p(x: f32[4]) -> f32[4] y = map(x + 2) return y")
    assert same(left, right)
    assert left != right
    assert not same(left, other)
