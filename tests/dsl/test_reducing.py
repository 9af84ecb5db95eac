"""The link that reduces a product: its result's shape, where it may stand, and what each target says of it."""

from __future__ import annotations

import pytest

from kernels.dsl import CheckedProgram
from kernels.targets import Target
from tests.dsl.programs import checked, refusals, signature

CARDS = [Target.SM80, Target.SM90A]
BATCH = signature("a f32 3 21 40; b f32 3 40 75", "", "out f32 3 21")


def _linear(link: str, *shape: int, knobs: str = "") -> CheckedProgram:
    extents = ", ".join(map(str, shape))
    head = f"program p(x: f32[M, K], w: f32[N, K], b: f32[N]) -> f32[{extents}]\n"
    problem = signature("x f32 512 256", "w f32 1024 256; b f32 1024", f"out f32 {' '.join(map(str, shape))}")
    return checked(f"{head}  y = gemm(x, w.T){knobs} >> bias(b) >> gelu() >> {link}\n  return y", problem)


@pytest.mark.parametrize(
    ("link", "shape"),
    [
        ("reduce(sum)", (512,)),
        ("reduce(mean, dim=1)", (512,)),
        ("reduce(max, dim=-2)", (1024,)),
        ("reduce(min, dim=0, keepdim=true)", (1, 1024)),
        ("reduce(sum, keepdim=true)", (512, 1)),
    ],
)
def test_the_result_lacks_the_reduced_dimension(link: str, shape: tuple[int, ...]) -> None:
    (stage,) = _linear(link, *shape).stages
    assert stage.result.shape == shape
    assert stage.result.contiguous
    assert stage.reduction is not None
    assert stage.reduction.text == link
    # The links in front work on the whole product.
    assert [step.text for step in stage.chain] == ["bias(b)", "gelu()"]
    assert (stage.attributes["m"], stage.attributes["n"]) == (512, 1024)


def test_a_product_without_it_has_no_reduction() -> None:
    (stage,) = checked("  y = gemm(x, w.T) >> relu()\n  return y").stages
    assert stage.reduction is None


def test_a_batch_keeps_its_first_dimension() -> None:
    text = "program p(a: f32[B, M, K], b: f32[B, K, N]) -> f32[B, M]\n  y = bmm(a, b) >> reduce(sum)\n  return y"
    (stage,) = checked(text, BATCH).stages
    assert stage.result.shape == (3, 21)
    assert stage.reduction is not None
    assert stage.reduction.axis == 2


@pytest.mark.parametrize(
    ("body", "rule", "mend"),
    [
        ("gemm(x, w.T) >> reduce(sum) >> relu()", "epilogue", "use the stage: r = reduce(y, sum)"),
        ("gemm(x, w.T) >> reduce(sum) >> reduce(max)", "epilogue", "use the stage: r = reduce(y, sum)"),
        ("map(x) >> reduce(sum, dim=0)", "epilogue", "use the stage: r = reduce(y, sum, dim=0)"),
        ("cast(x, f16) >> reduce(sum)", "epilogue", "use the stage: r = reduce(y, sum)"),
        ("gemm(x, w.T) >> reduce(summ)", "argument", "did you mean 'sum'?"),
        ("gemm(x, w.T) >> reduce(var)", "argument", "use the stage reduce(…, var)"),
        ("gemm(x, w.T) >> reduce(sum, dim=2)", "argument", "write dim=1 or dim=0"),
        ("gemm(x, w.T) >> reduce(sum, dims=1)", "argument", "write reduce(sum, dim=1, keepdim=false)"),
        ("gemm(x, w.T) >> reduce()", "argument", "write reduce(sum, dim=1, keepdim=false)"),
        ("gemm(x, w.T) >> reduce(sum, keepdim=1)", "argument", "write keepdim=true or keepdim=false"),
        ("gemm(x, w.T).split(2) >> reduce(sum)", "knob-value", "split takes 1"),
        ("gemm(x, w.T).tile(20, 512, 256).micro(8, 32) >> reduce(sum)", "tile", "write tile(24, 512, 256)"),
    ],
)
def test_what_does_not_stand_is_refused_with_a_mend(body: str, rule: str, mend: str) -> None:
    text = f"program p(x: f32[M, K], w: f32[N, K], b: f32[N]) -> f32[M]\n  y = {body}\n  return y"
    found = refusals(text, signature("x f32 512 256", "w f32 1024 256; b f32 1024", "out f32 512"))
    error = next(error for error in found if error.rule.startswith(rule))
    assert mend in error.mend
    assert error.line == 2


@pytest.mark.parametrize("target", CARDS)
@pytest.mark.parametrize("math", ["f32", "tf32"])
def test_a_card_names_the_stage_of_its_own(target: Target, math: str) -> None:
    text = f"""program p(x: f32[M, K], w: f32[N, K]) -> f32[M]
  y = gemm(x, w.T).math({math}) >> relu() >> reduce(sum, dim=1)
  return y"""
    (error,) = refusals(text, signature("x f32 512 256", "w f32 1024 256", "out f32 512"), target)
    assert error.rule == "epilogue"
    assert "use the stage: r = reduce(y, sum, dim=1)" in error.mend


def test_the_stage_that_a_card_is_told_to_use_passes() -> None:
    text = """program p(x: f32[M, K], w: f32[N, K]) -> f32[M]
  y = gemm(x, w.T) >> relu()
  r = reduce(y, sum, dim=1)
  return r"""
    problem = signature("x f32 512 256", "w f32 1024 256", "out f32 512")
    assert all(checked(text, problem, target).outputs for target in CARDS)
