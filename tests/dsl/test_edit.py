from __future__ import annotations

import pytest

from kernels.dsl import format_program, parse
from kernels.dsl.edit import find_stage, remove_knob, set_knob, stage_names
from kernels.dsl.printer import same

TEXT = """\
program p(x: f32[M, K], w: f32[N, K]) -> f32[M, N]
  t = w.T
  y = gemm(x, t).tile(12, 32, 8).stages(2)
  z = map(y + 1)
  return z
"""


def test_stage_names_leave_views_out() -> None:
    assert stage_names(parse(TEXT)) == ("y", "z")


def test_a_knob_is_changed_in_its_place() -> None:
    program = parse(TEXT)
    changed = set_knob(program, "y", "tile", (96, 512, 256))
    assert format_program(changed) == TEXT.replace("tile(12, 32, 8)", "tile(96, 512, 256)")
    assert format_program(program) == TEXT


def test_a_new_knob_stands_behind_the_others() -> None:
    changed = set_knob(parse(TEXT), "y", "threads", ["auto"])
    assert ".stages(2).threads(auto)" in format_program(changed)
    assert same(parse(format_program(changed)), changed)


def test_a_knob_can_be_taken_away() -> None:
    changed = remove_knob(parse(TEXT), "y", "tile")
    assert format_program(changed) == TEXT.replace(".tile(12, 32, 8)", "")
    assert same(remove_knob(changed, "y", "tile"), changed)


def test_an_unknown_stage_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        set_knob(parse(TEXT), "q", "tile", (1, 2, 3))
    assert find_stage(parse(TEXT), "t").op == "view"
