from __future__ import annotations

import pytest

from kernels.dsl import DslError, ProgramErrors, parse
from kernels.dsl.parser import DEPTH_LIMIT, SOURCE_LIMIT
from kernels.dsl.syntax import Access, Binary, Call, Name, Number, Sequence, Span

HEAD = "program p(x: f32[M, 4], layers.0.weight: f32[N, 4]) -> f32[M, N]\n"


def errors_of(text: str) -> tuple[DslError, ...]:
    with pytest.raises(ProgramErrors) as caught:
        parse(text)
    return caught.value.errors


def test_it_reads_the_parts_of_a_program() -> None:
    program = parse(HEAD + "  y = gemm(x, layers.0.weight.T).tile(8, 8, 8) >> add(1) >> relu() @once\n  return y")
    assert program.name == "p"
    assert [parameter.name for parameter in program.parameters] == ["x", "layers.0.weight"]
    assert program.parameters[0].type.shape == ("M", 4)
    stage = program.stages[0]
    assert (stage.target, stage.op, stage.once) == ("y", "gemm", True)
    assert [knob.name for knob in stage.knobs] == ["tile"]
    assert [link.name for link in stage.chain] == ["add", "relu"]
    assert program.source.startswith("program p")


def test_statements_need_no_line_ends() -> None:
    program = parse(HEAD + "a = map(x) b = a.T c = map(b) return c, a")
    assert [stage.target for stage in program.stages] == ["a", "b", "c"]
    assert len(program.outputs) == 2


def test_a_stage_may_go_on_over_lines_and_comments() -> None:
    program = parse(HEAD + "  y = gemm(x,  # left\n    x.T)\n    .tile(1, 2, 3)\n    >> relu()\n  return y")
    assert program.stages[0].knobs[0].name == "tile"
    assert program.stages[0].chain[0].name == "relu"


def test_a_bare_view_is_a_stage_of_its_own() -> None:
    program = parse(HEAD + "  t = x.reshape(-1, 2).T\n  u = t\n  return u")
    stage = program.stages[0]
    assert stage.op == "view"
    view = stage.args[0]
    assert isinstance(view, Access)
    assert isinstance(view.base, Call)
    assert view.base.function == "x.reshape"
    assert program.stages[1].op == "view"


def test_knobs_and_views_keep_their_places() -> None:
    program = parse(HEAD + "  y = map(x)\n    .threads(4)\n  return y")
    assert program.stages[0].knobs[0].span == Span(3, 5, 3, 16)


def test_space_before_a_view_does_not_change_its_name() -> None:
    program = parse(HEAD + "  y = map(x .T)\n  return y")
    argument = program.stages[0].args[0]
    assert isinstance(argument, Name)
    assert argument.text == "x.T"


def test_a_minus_before_a_number_belongs_to_it() -> None:
    program = parse(HEAD + "  y = torch.f(x, -1, [-2, 3.5], (x,), a=(1)) -> f32[2], i64[]\n  return y")
    stage = program.stages[0]
    assert isinstance(stage.args[1], Number)
    assert stage.args[1].value == -1
    assert isinstance(stage.args[2], Sequence)
    assert isinstance(stage.args[3], Sequence)
    assert isinstance(stage.kwargs[0].value, Number)
    assert [result.shape for result in stage.results] == [(2,), ()]


def test_products_bind_tighter_than_sums() -> None:
    argument = parse(HEAD + "  y = map(x + 2 * x - 1)\n  return y").stages[0].args[0]
    assert isinstance(argument, Binary)
    assert argument.operator == "-"
    assert isinstance(argument.left, Binary)
    assert argument.left.operator == "+"


def test_words_of_the_grammar_may_begin_a_name() -> None:
    program = parse("program programs(returned: f32[1]) -> f32[1] return returned")
    assert program.name == "programs"


def test_it_says_what_would_be_right() -> None:
    error = errors_of(HEAD + "  y = gemm(x, x.T\n  return y")[0]
    assert (error.line, error.column, error.rule) == (3, 3, "syntax")
    assert error.message == "expected ')', found 'return'"
    assert "')'" in error.mend


def test_it_points_at_the_end_of_a_text_that_stops_short() -> None:
    error = errors_of(HEAD + "  y = map(x)\n")[0]
    assert (error.line, error.column) == (2, 13)
    assert "found the end of the text" in error.message


def test_it_tells_the_errors_of_all_statements_at_once() -> None:
    errors = errors_of(HEAD + "  a = map(x +)\n  b = map(x)\n  c = gemm(x,,\n      x)\n  return a b")
    assert [error.line for error in errors] == [2, 4, 6]


def test_it_counts_at_most_twenty_errors() -> None:
    assert len(errors_of(HEAD + "  a = map(x +)\n" * 100 + "  return a")) == 20


@pytest.mark.parametrize(
    "text", ["", "\0", "$", "#", "program", "program p", "\ud800", "π", '"', "1" * 5000, "\r", "((("]
)
def test_it_refuses_texts_that_are_no_program(text: str) -> None:
    assert errors_of(text)[0].line >= 1


@pytest.mark.parametrize("depth", [20_000, DEPTH_LIMIT + 1])
def test_it_refuses_deep_brackets(depth: int) -> None:
    errors = errors_of(HEAD + f"  y = map({'(' * depth}x{')' * depth})\n  return y")
    assert [error.rule for error in errors] == ["nesting-depth"]
    assert errors[0].line == 2


DEEP_VALUES = (
    "x" + "+x" * 3_000,
    "-" * 3_000 + "x",
    "x.reshape(4)" + ".T" * 3_000,
    "f(" * 40 + "x" + ")" * 40 + "+x" * 30,
)


@pytest.mark.parametrize("value", DEEP_VALUES, ids=["terms", "signs", "views", "mixed"])
def test_it_refuses_long_chains_of_operators(value: str) -> None:
    assert errors_of(HEAD + f"  y = map({value})\n  return y")[0].rule == "nesting-depth"


def test_it_reads_an_expression_of_sixty_terms() -> None:
    assert parse(HEAD + f"  y = map(x{' + x' * 60})\n  return y").stages


def test_it_reads_up_to_the_limit_of_characters() -> None:
    text = HEAD + "  return x\n#"
    assert parse(text + "a" * (SOURCE_LIMIT - len(text))).outputs
    assert errors_of(text + "a" * (SOURCE_LIMIT - len(text) + 1))[0].rule == "source-size"


def test_three_hundred_stages_with_all_their_knobs_are_within_the_limit() -> None:
    knobs = ".tile(128, 128, 32).cluster(2, 1).schedule(pingpong).stages(auto)"
    stages = "".join(f"  y{i} = gemm(x, layers.{i}.weight.T){knobs} >> gelu() >> add(y{i})\n" for i in range(300))
    assert len(parse(HEAD + stages + "  return y299").stages) == 300


def test_a_text_past_the_limit_is_told_both_numbers() -> None:
    error = errors_of("#" * (SOURCE_LIMIT + 1))[0]
    assert str(SOURCE_LIMIT + 1) in error.message
    assert f"at most {SOURCE_LIMIT} are read" in error.mend


@pytest.mark.parametrize("number", ["9223372036854775808", "1" * 400, "1e309", "1" * 5000 + ".0"])
def test_it_refuses_numbers_that_no_type_holds(number: str) -> None:
    error = errors_of(HEAD + f"  y = map(x * {number})\n  return y")[0]
    assert error.rule == "number-range"
    assert len(str(error)) < 300


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("y = 3", "a number is no stage"),
        ("y = view()", "view(…) is no stage"),
        ("y = -x", "an expression is no stage"),
        ("y = gemm(x, x).T", ".T behind a stage"),
        ("y = map(x) @twice", "no mark '@twice'"),
        ("y = gemm(x, x).tile(m=3)", ".tile(…) with m="),
    ],
)
def test_it_names_what_is_no_stage(statement: str, words: str) -> None:
    assert words in str(errors_of(HEAD + f"  {statement}\n  return y")[0])


def test_an_error_draws_its_line_with_carets() -> None:
    source = "program p(x: f32[4]) -> f32[4]\n\ty = map(xx + 1)\n\treturn y"
    program = parse(source)
    span = program.stages[0].args[0].span
    assert (span.column, span.end_column) == (10, 16)
    error = errors_of(source.replace("xx + 1", "xx + )"))[0]
    assert error.show(source.replace("xx + 1", "xx + )")).splitlines()[1:] == [
        "2 | \ty = map(xx + ))",
        "  | \t             ^",
    ]
