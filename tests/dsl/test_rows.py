"""The row stages: what they read, what they give, and what the code generators are told."""

from __future__ import annotations

import pytest

from kernels.dsl.ir import Stage
from kernels.dsl.rows import PLACES, REDUCTIONS
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
    assert made.result.dtype is (DType.I64 if kind in PLACES else DType.F32)
    assert made.attributes == {
        "kind": kind, "axes": (2,), "groups": 0, "rows": 24, "columns": 8, "eps": None, "affine": (), "prologue": None,
        "weight": False, "bias": False,
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


@pytest.mark.parametrize(
    ("dim", "axes", "shape"),
    [
        ("0", (0,), (6, 8)),
        ("-2", (1,), (4, 8)),
        ("(0, 2)", (0, 2), (6,)),
        ("(-1, 0)", (0, 2), (6,)),
        ("[1]", (1,), (4, 8)),
        ("(0, 1, 2)", (0, 1, 2), ()),
    ],
)
def test_dim_names_any_dimensions(dim: str, axes: tuple[int, ...], shape: tuple[int, ...]) -> None:
    made = stage(f"reduce(x, max, dim={dim})")
    assert (made.attributes["axes"], made.result.shape) == (axes, shape)
    assert made.attributes["rows"] * made.attributes["columns"] == 192
    kept = stage(f"reduce(x, max, dim={dim}, keepdim=true)").result.shape
    assert kept == tuple(1 if axis in axes else extent for axis, extent in enumerate((4, 6, 8)))
    assert stage(f"log_softmax(x, dim={dim})").attributes["axes"] == axes


@pytest.mark.parametrize(
    ("arguments", "axes", "groups", "rows", "affine"),
    [
        ("layer_norm(x, v, dims=2)", (1, 2), 0, 4, (1, 2)),
        ("rms_norm(x, c, dim=1)", (1,), 0, 32, (1,)),
        ("group_norm(x, 3, c, c)", (1, 2), 3, 12, (1,)),
        ("group_norm(x.reshape(32, 6), 2)", (1,), 2, 64, (1,)),
        ("instance_norm(x)", (2,), 0, 24, (1,)),
        ("batch_norm(x, c, eps=0.5)", (0, 2), 0, 6, (1,)),
    ],
)
def test_norms_say_what_they_work_along(
    arguments: str, axes: tuple[int, ...], groups: int, rows: int, affine: tuple[int, ...]
) -> None:
    head = HEAD.replace("b: f32[C]", "c: f32[B], v: f32[B, C]")
    problem = signature("x f32 4 6 8", "w f32 8; c f32 6; v f32 6 8", "out f32 4 6 8")
    made = checked(f"{head}  y = map(x)\n  r = {arguments}\n  return y", problem).stages[-1]
    facts = made.attributes
    assert (facts["axes"], facts["groups"], facts["rows"], facts["affine"]) == (axes, groups, rows, affine)
    assert facts["columns"] == 192 // rows
    assert made.op == "norm"


@pytest.mark.parametrize("op", ["softmax(t, dim=1)", "batch_norm(t)", "group_norm(t, 2)"])
def test_what_is_channels_last_stays_so(op: str) -> None:
    text = f"{HEAD}  y = map(x)\n  t = relayout(x, channels_last)\n  r = {op}\n  return y"
    made = checked(text, PROBLEM).stages[-1]
    assert made.result.channels_last
    assert not made.result.contiguous


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("reduce(x, sum, dim=3)", "dim is 3, and x has 3 dimension(s)"),
        ("softmax(x, dim=(1, 1))", "dim is [1, 1]"),
        ("softmax(x, dim=(1, -2))", "dim is [1, -2]"),
        (
            "reduce(x, sum, dim=1, dims=2)",
            "reduce got dim, which names dimensions, and dims, which counts the last ones",
        ),
        ("group_norm(x, 4)", "4 groups of the 6 channels of x"),
        ("group_norm(x)", "group_norm needs 'groups'"),
        (
            "instance_norm(x.reshape(24, 8))",
            "instance_norm works on [N, C, ...] and needs 3, and x.reshape(24, 8) has 2",
        ),
        ("batch_norm(x, w)", "weight of batch_norm is a vector of 6, and w has shape [8]"),
        ("layer_norm(x, w, dims=2)", "weight of layer_norm is of shape [6, 8], and w has shape [8]"),
        ("reduce(x, argmax) >> relu()", "a chain behind argmax, which gives i64"),
    ],
)
def test_what_is_wrong_is_told(call: str, what: str) -> None:
    (error,) = refusals(f"{HEAD}  y = map(x)\n  r = {call}\n  return y", PROBLEM)
    assert str(error).split(": ", 2)[2].startswith(what)


def test_places_over_several_dimensions_want_a_row_major_tensor() -> None:
    text = f"{HEAD}  y = map(x)\n  t = relayout(x, channels_last)\n  r = reduce(t, argmin, dim=(1, 2))\n  return y"
    (error,) = refusals(text, PROBLEM)
    assert error.mend == "copy it first: c = map(t)"


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


def test_a_narrow_weight_is_told_with_the_cast_that_mends_it() -> None:
    problem = signature("x f32 4 8", "w f16 8", "out f32 4 8")
    text = "program p(x: f32[M, N], w: f16[N]) -> f32[M, N]\n  y = rms_norm(x, w)\n  return y"
    (error,) = refusals(text, problem, policy=Policy.STRICT)
    assert str(error) == ("2:19: shape-mismatch: x is f32 and w is f16; cast one of them: t = cast(w, f32)")


def test_a_wrong_kind_is_told_with_the_nearest_one() -> None:
    (error,) = refusals(f"{HEAD}  y = map(x)\n  r = reduce(x, maxx)\n  return y", PROBLEM)
    assert error.found == "maxx"
    assert error.mend.startswith("did you mean 'max'? write sum, mean, max")


def test_rows_that_do_not_lie_row_major_are_to_be_copied() -> None:
    (error,) = refusals(f"{HEAD}  y = map(x)\n  r = softmax(x.permute(2, 1, 0))\n  return y", PROBLEM)
    assert error.mend == "copy it first: c = map(x.permute(2, 1, 0))"


@pytest.mark.parametrize("body", ["y = map(softmax(x))", "y = map(x) >> softmax()"])
def test_a_row_stage_inside_an_expression_or_a_chain_is_told_to_stand_alone(body: str) -> None:
    (error,) = refusals(f"{HEAD}  {body}\n  return y", PROBLEM)
    assert error.rule == "unknown-function"
    assert error.mend == "softmax is a stage of its own: t = softmax(…)"


def test_a_stage_over_an_expression_reads_all_of_its_tensors() -> None:
    made = stage("layer_norm(relu(x) * w + x.slice(0, 0, 4), w, b)")
    assert [value.name.split(".expand")[0] for value in made.operands] == ["x", "w", "b", "w", "x.slice(0, 0, 4)"]
    assert made.attributes["prologue"].text == "relu(x) * w + x.slice(0, 0, 4)"
    assert made.result.shape == (4, 6, 8)
    assert stage("reduce(w - x, max, dims=3)").operands[0].name == "x"
    assert stage("reduce(x, max)").attributes["prologue"] is None


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("reduce(w.unsqueeze(1) + b, sum)", "no tensor of the expression is a dense f32[8, 8]"),
        ("reduce(-x.permute(2, 0, 1), sum)", "no tensor of the expression is a dense f32[8, 4, 6]"),
        ("softmax(x + w.slice(0, 0, 4))", "does not broadcast with [4, 6, 8]"),
        ("reduce(x + y2, sum)", "y2"),
        ("softmax(absent(x))", "absent"),
        ("softmax(2 + 3)", "softmax of an expression without a tensor"),
    ],
)
def test_an_expression_that_no_rows_lie_in_is_refused(call: str, what: str) -> None:
    errors = refusals(f"{HEAD}  y = map(x)\n  r = {call}\n  return y", PROBLEM, Target.HOST)
    assert any(what in str(error) for error in errors)
