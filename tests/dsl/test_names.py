from __future__ import annotations

import pytest

from kernels.dsl import check, parse
from kernels.dsl.simd import AVX512
from kernels.targets import Policy, Target
from tests.dsl.programs import checked, linear, refusals, signature

DOTTED = signature("x f32 8 4", "layers.0 f32 8 4; layers.0.weight f32 6 4", "out f32 8 6")
HEAD = "program p(x: f32[M, K], layers.0: f32[M, K], layers.0.weight: f32[N, K]) -> f32[M, N]\n"


def test_a_dotted_text_is_split_at_the_longest_declared_name() -> None:
    program = checked(HEAD + "  y = gemm(layers.0, layers.0.weight.T)\n  return y", DOTTED)
    assert [value.name for value in program.stages[0].operands] == ["layers.0", "layers.0.weight.T"]


def test_inputs_bind_by_position_and_parameters_by_name() -> None:
    program = checked("program p(a: f32[M, K], w: f32[N, K]) -> f32[M, N] y = gemm(a, w.T) return y")
    assert [value.name for value in program.inputs] == ["a"]
    assert [value.name for value in program.parameters] == ["w"]


def test_parameters_may_be_left_out() -> None:
    program = checked("program p(x: f32[M, K], w: f32[N, K]) -> f32[M, N] y = gemm(x, w.T) return y")
    assert "b" not in {value.name for value in program.values}


def test_missing_inputs_are_named() -> None:
    error = refusals("program p() -> f32[512, 1024] return x", linear())[0]
    assert error.rule == "signature"
    assert "x: f32[512, 256]" in error.mend


def test_a_wrong_type_of_a_parameter_shows_the_right_one() -> None:
    errors = refusals("program p(x: f16[M, K], w: f32[N, 3]) -> f32[M, N]\n  y = gemm(x, w.T)\n  return y")
    assert [error.rule for error in errors] == ["signature", "signature"]
    assert errors[0].mend == "write f32[512, 256]"
    assert errors[1].mend == "write f32[1024, 256]"


def test_it_suggests_the_name_that_was_meant() -> None:
    error = refusals("  y = gemm(x, ww.T) >> bias(b)\n  return y")[0]
    assert error.rule == "unknown-name"
    assert "did you mean 'w'" in error.mend


def test_a_stage_that_uses_itself_is_a_use_before_assign() -> None:
    error = refusals("  y = map(y + 1)\n  return y")[0]
    assert (error.rule, error.found) == ("use-before-assign", "y")


def test_two_stages_that_use_each_other_are_refused_at_the_first() -> None:
    errors = refusals("  a = map(c + 1)\n  c = map(a + 1)\n  y = gemm(x, w.T)\n  return y")
    assert [(error.rule, error.line) for error in errors] == [("use-before-assign", 2)]


def test_one_mistake_is_told_once() -> None:
    errors = refusals("  a = map(nothing + 1)\n  c = map(a + 1)\n  y = map(c * a)\n  return y")
    assert [error.rule for error in errors] == ["unknown-name"]


def test_all_mistakes_are_told_at_once() -> None:
    body = (
        "  a = cast(x, f99)\n  c = gemm(x, w)\n"
        "  d = gemm(x, w.T).tile(1).foo(2) >> relo() >> add(zz)\n"
        "  f = gemm(x, w) >> geluu()\n  return e"
    )
    rules = [error.rule for error in refusals(body)]
    assert rules == [
        "unknown-type",
        "shape-mismatch",
        "knob-value",
        "unknown-knob",
        "unknown-function",
        "unknown-name",
        "shape-mismatch",
        "unknown-function",
        "unknown-name",
    ]


@pytest.mark.parametrize("name", ["acc", "f32", "auto", "True", "M", "x", "b"])
def test_names_of_the_language_and_of_the_program_cannot_be_given_again(name: str) -> None:
    errors = refusals(f"  {name} = map(x + 1)\n  y = gemm(x, w.T)\n  return y")
    assert errors[0].rule == "redefinition"


def test_sizes_are_numbers_in_views_and_expressions() -> None:
    body = (
        "  r = x.reshape(M * K / 2, 2)\n  s = map(r * M).vector(auto)\n  y = gemm(s.reshape(M, K), w.T)\n  return y"
    )
    program = checked(body)
    assert program.stages[0].result.shape == (512 * 256 // 2, 2)


def test_sizes_that_do_not_divide_are_no_integers() -> None:
    error = refusals("  r = x.reshape(M / 3, -1)\n  y = gemm(x, w.T)\n  return y")[0]
    assert error.rule == "argument-error"


def test_a_bare_view_gets_its_own_name_over_the_same_storage() -> None:
    program = checked("  t = w.T\n  y = gemm(x, t)\n  return y")
    t = next(value for value in program.values if value.name == "t")
    assert (t.storage, t.strides) == ("w", (1, 256))
    assert [stage.name for stage in program.stages] == ["y"]


def test_a_broadcast_operand_is_a_value_of_the_result_s_rank() -> None:
    program = checked("  y = gemm(x, w.T) >> bias(b)\n  return y")
    wide = next(value for value in program.values if value.name == "b.expand(512, 1024)")
    assert (wide.shape, wide.strides, wide.storage) == ((512, 1024), (0, 1), "b")


def test_an_input_may_be_returned_as_it_is() -> None:
    program = check(
        parse("program p(x: f32[4]) -> f32[4] return x"),
        signature("x f32 4", "", "out f32 4"),
        Target.HOST,
        Policy.STRICT,
        AVX512,
    )
    assert program.outputs == program.inputs


def test_a_size_named_only_in_the_result_is_the_problem_s() -> None:
    text = "program p(x: f32[M, K]) -> f32[M, L] y = map(x.slice(1, 0, 2)) return y"
    assert checked(text, signature("x f32 8 4", "", "o f32 8 2")).outputs[0].shape == (8, 2)


def test_the_output_s_shape_must_be_the_problem_s() -> None:
    error = refusals("program p(x: f32[M, K]) -> f32[M, 2] return x", signature("x f32 8 4", "", "o f32 8 2"))[0]
    assert error.rule == "shape-mismatch"
    assert "[8, 2]" in error.mend


def test_the_number_of_outputs_must_be_the_problem_s() -> None:
    errors = refusals(
        "program p(x: f32[M, K]) -> f32[M, K], f32[M, K] return x, x", signature("x f32 8 4", "", "o f32 8 4")
    )
    assert [error.rule for error in errors] == ["signature", "signature"]


def test_numbers_stay_within_64_bits() -> None:
    big = " * ".join(["9223372036854775807"] * 20)
    for chain in (f"scale({big})", f"clamp({big})", f"add(b.slice(0, 0, {big}))"):
        errors = refusals(f"  y = gemm(x, w.T) >> {chain}\n  return y")
        assert [error.rule for error in errors] == ["number-range"]


def test_a_stage_cannot_take_the_name_of_a_view() -> None:
    error = refusals("  y = gemm(x, w.T)\n  w.T = map(x)\n  return y")[0]
    assert (error.rule, error.found) == ("redefinition", "w.T")


def test_the_known_names_are_told_once_each() -> None:
    head = "program p(x: f32[M, K], w: f32[N, K]) -> f32[M, N]\n"
    (error,) = refusals(f"{head}  y = gemm(x, w.T)\n  z = map(q)\n  return y")
    assert error.rule == "unknown-name"
    assert error.mend == "known are x, w, y, z"
