"""The row stages: what they read, what they give, and what the code generators are told."""

from __future__ import annotations

import pytest

from kernels.dsl.ir import Stage
from kernels.dsl.rows import REDUCTIONS
from kernels.dtypes import DType
from kernels.targets import Policy, Target
from tests.dsl.programs import cautions, checked, refusals, signature

PROBLEM = signature("x f32 4 6 8", "w f32 8; b f32 8", "out f32 4 6 8")
HEAD = "program p(x: f32[A, B, C], w: f32[C], b: f32[C]) -> f32[A, B, C]\n"


def stage(call: str, target: Target = Target.HOST) -> Stage:
    """The stage of ``call``, in a program that returns something else."""
    return checked(f"{HEAD}  y = map(x)\n  r = {call}\n  return y", PROBLEM, target).stages[-1]


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_a_reduction_gives_one_element_a_row_of_the_last_dimension(kind: str) -> None:
    made = stage(f"reduce(x, {kind})")
    assert made.op == "reduce"
    assert made.result.shape == (4, 6)
    assert made.attributes == {
        "kind": kind, "rows": 24, "columns": 8, "eps": None, "weight": False, "bias": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "shape", "rows"),
    [
        ("dims=2", (4,), 4),
        ("dims=3", (), 1),
        ("dims=1, keepdim=true", (4, 6, 1), 24),
        ("dims=2, keepdim=True", (4, 1, 1), 4),
        ("keepdim=false", (4, 6), 24),
        ("dims=A / 2", (4,), 4),
    ],
)
def test_dims_says_how_many_trailing_dimensions_go(arguments: str, shape: tuple[int, ...], rows: int) -> None:
    made = stage(f"reduce(x, sum, {arguments})")
    assert made.result.shape == shape
    assert (made.attributes["rows"], made.attributes["columns"]) == (rows, 192 // rows)


@pytest.mark.parametrize("kind", ["softmax", "log_softmax"])
def test_softmax_keeps_the_shape(kind: str) -> None:
    made = stage(f"{kind}(x.reshape(2, 96))")
    assert (made.op, made.attributes["kind"]) == ("softmax", kind)
    assert (made.attributes["rows"], made.attributes["columns"]) == (2, 96)
    assert made.result.shape == (2, 96)


def test_a_single_dimension_is_one_row() -> None:
    made = stage("softmax(w)")
    assert (made.attributes["rows"], made.attributes["columns"]) == (1, 8)


@pytest.mark.parametrize(
    ("call", "operands", "eps"),
    [
        ("layer_norm(x)", ["x"], 1e-5),
        ("layer_norm(x, w)", ["x", "w"], 1e-5),
        ("layer_norm(x, w, b, eps=1e-6)", ["x", "w", "b"], 1e-6),
        ("layer_norm(x, bias=b, weight=w)", ["x", "w", "b"], 1e-5),
        ("rms_norm(x, eps=0.5)", ["x"], 0.5),
        ("rms_norm(x, w)", ["x", "w"], 1e-5),
    ],
)
def test_norms_read_what_they_are_given(call: str, operands: list[str], eps: float) -> None:
    made = stage(call)
    assert made.op == "norm"
    assert [value.name for value in made.operands] == operands
    assert made.attributes["kind"] == call.split("(")[0]
    assert made.attributes["eps"] == eps
    assert made.attributes["weight"] is ("w" in operands)
    assert made.attributes["bias"] is ("b" in operands)


def test_a_chain_begins_with_the_result_and_its_tensors_are_no_operands() -> None:
    made = stage("reduce(x, mean, keepdim=true) >> add(w.slice(0, 0, 1)) >> rsqrt()")
    assert [step.text for step in made.chain] == ["add(w.slice(0, 0, 1))", "rsqrt()"]
    assert [value.name for value in made.operands] == ["x"]


def test_a_tensor_that_only_a_chain_reads_is_used() -> None:
    text = f"{HEAD}  v = map(w * 2)\n  y = softmax(x) >> mul(v)\n  return y"
    assert cautions(checked(text, PROBLEM)) == []


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("target", [Target.HOST, Target.SM90A])
def test_the_result_has_the_operands_type(dtype: str, target: Target) -> None:
    problem = signature(f"x {dtype} 4 8", "", f"out {dtype} 4")
    text = f"program p(x: {dtype}[M, N]) -> {dtype}[M]\n  y = reduce(x, logsumexp)\n  return y"
    assert checked(text, problem, target).stages[0].result.dtype is DType(dtype)


@pytest.mark.parametrize("target", [Target.HOST, Target.SM90A])
def test_knobs_are_left_to_the_code_generator(target: Target) -> None:
    for call in ("reduce(x, sum)", "softmax(x)", "layer_norm(x, w)", "rms_norm(x).threads(auto)"):
        assert stage(call, target).knobs == {"threads": 0, "vector": 0}


def test_knobs_that_are_written_stay() -> None:
    made = stage("log_softmax(x).vector(8).threads(128)", Target.SM90A)
    assert made.knobs == {"threads": 128, "vector": 8}
    assert made.written == {"threads", "vector"}


def test_a_target_without_own_kernels_refuses_them() -> None:
    text = f"{HEAD}  y = softmax(x)\n  return y"
    assert [error.rule for error in refusals(text, PROBLEM, Target.SM80)] == ["target"]


def test_a_narrow_weight_is_told_with_the_cast_that_mends_it() -> None:
    problem = signature("x f32 4 8", "w f16 8", "out f32 4 8")
    text = "program p(x: f32[M, N], w: f16[N]) -> f32[M, N]\n  y = rms_norm(x, w)\n  return y"
    (error,) = refusals(text, problem, policy=Policy.STRICT)
    assert str(error) == ("2:19: shape-mismatch: x is f32 and w is f16; cast one of them: t = cast(w, f32)")


def test_a_wrong_kind_is_told_with_the_nearest_one() -> None:
    (error,) = refusals(f"{HEAD}  y = map(x)\n  r = reduce(x, maxx)\n  return y", PROBLEM)
    assert error.found == "maxx"
    assert error.mend.endswith("(did you mean 'max'?)")


def test_rows_that_do_not_lie_row_major_are_to_be_copied() -> None:
    (error,) = refusals(f"{HEAD}  y = map(x)\n  r = softmax(x.T)\n  return y", PROBLEM)
    assert error.mend == "copy it first: c = map(x.T)"


@pytest.mark.parametrize("body", ["y = map(softmax(x))", "y = map(x) >> softmax()"])
def test_a_row_stage_inside_an_expression_or_a_chain_is_told_to_stand_alone(body: str) -> None:
    (error,) = refusals(f"{HEAD}  {body}\n  return y", PROBLEM)
    assert error.rule == "unknown-function"
    assert error.mend == "softmax is a stage of its own: t = softmax(…)"
