from __future__ import annotations

import pickle

from kernels.dsl.errors import ProgramErrors, UnknownName
from kernels.dsl.syntax import Span
from kernels.errors import UserError
from tests.dsl.programs import refusals

ERROR = UnknownName(Span(2, 3, 2, 5), found="zz", legal="did you mean 'z'?")


def test_an_error_is_one_line() -> None:
    assert isinstance(ERROR, UserError)
    assert str(ERROR) == "2:3: unknown-name: nothing is called 'zz'; did you mean 'z'?"


def test_it_shows_its_place_in_the_source() -> None:
    assert ERROR.show("a\nb zz c").splitlines()[1:] == ["2 | b zz c", "  |   ^^"]


def test_a_place_outside_the_source_is_left_out() -> None:
    assert ERROR.show("one line") == str(ERROR)


def test_a_very_long_line_is_shown_around_its_place() -> None:
    wide = UnknownName(Span(1, 5000, 1, 5003), found="zzz", legal="")
    shown = wide.show("x" * 4999 + "zzz" + "y" * 4999).splitlines()
    assert len(shown[1]) < 200
    assert shown[1][shown[2].index("^") :].startswith("zzz")


def test_errors_survive_pickling() -> None:
    errors = pickle.loads(pickle.dumps(ProgramErrors((ERROR,))))
    assert str(errors) == str(ERROR)
    assert errors.errors[0].span == ERROR.span


def test_a_program_s_errors_are_in_the_order_of_the_text() -> None:
    errors = refusals("  a = cast(x, f9)\n  y = gemm(x, w.T).stages(9)\n  return z")
    assert [error.line for error in errors] == [2, 3, 4]
    text = str(ProgramErrors(tuple(reversed(errors))))
    assert [line.partition(":")[0] for line in text.splitlines()] == ["2", "3", "4"]
