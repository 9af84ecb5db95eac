from __future__ import annotations

import json
from typing import Any

import pytest

from kernels.dsl.ir import Stage
from tests.dsl.programs import checked, refusals, signature

PROBLEM = signature("x f32 8 16", "w f32 16", "out f32 8 16")
HEAD = "program p(x: f32[M, K], w: f32[K]) -> f32[M, K]\n"


def torch_stage(call: str) -> Stage:
    return checked(HEAD + f"  r = {call}\n  return x", PROBLEM).stages[0]


def test_arguments_travel_as_json() -> None:
    stage = torch_stage(
        'torch.foo(x.T, [x, w], -1, 2.5, True, None, "mean", [1, [2, M]], dtype=f16, p=inf) -> f32[]'
    )
    assert stage.attributes["function"] == "torch.foo"
    assert stage.attributes["args"][:3] == [{"value": "x.T"}, [{"value": "x"}, {"value": "w"}], -1]
    assert stage.attributes["args"][3:] == [2.5, True, None, "mean", [1, [2, 8]]]
    assert stage.attributes["kwargs"] == {"dtype": {"dtype": "f16"}, "p": float("inf")}
    assert json.dumps(stage.attributes)
    assert [value.name for value in stage.operands] == ["x.T", "x", "w"]
    assert stage.knobs == {}


def test_several_results_are_called_by_number() -> None:
    text = HEAD + "  r = torch.max(x, 1) -> f32[M], i64[M]\n  y = map(x - r.0.unsqueeze(1))\n  return y"
    program = checked(text, PROBLEM)
    assert [value.name for value in program.stages[0].results] == ["r.0", "r.1"]
    assert program.stages[1].operands[1].storage == "r.0"


def test_the_plain_name_of_several_results_is_refused() -> None:
    error = refusals(HEAD + "  r = torch.max(x, 1) -> f32[M], i64[M]\n  y = map(x - r)\n  return y", PROBLEM)[0]
    assert error.mend == "write r.0 to r.1"


@pytest.mark.parametrize(
    ("call", "dtype", "shape"),
    [
        ("torch.softmax(x, -1)", "f32", (8, 16)),
        ("torch.nn.functional.layer_norm(x.T, [8])", "f32", (16, 8)),
        ("torch.mean(x, 1)", "f32", (8,)),
        ("torch.mean(x, [0, -1], keepdim=True)", "f32", (1, 1)),
        ("torch.amax(x, dim=0)", "f32", (16,)),
        ("torch.logsumexp(x, [1], True)", "f32", (8, 1)),
    ],
)
def test_plain_functions_need_no_annotation(call: str, dtype: str, shape: tuple[int, ...]) -> None:
    result = torch_stage(call).result
    assert (result.dtype, result.shape) == (dtype, shape)


@pytest.mark.parametrize(
    "call",
    [
        "torch.foo(x)",
        "torch.softmax(x, -1, dtype=f64)",
        "torch.softmax(x, -1, f64)",
        "torch.mean(x)",
        "torch.mean(x, 5)",
        "torch.amax(x, 1, foo=w)",
        "torch.softmax()",
    ],
)
def test_all_other_calls_need_one(call: str) -> None:
    errors = refusals(HEAD + f"  r = {call}\n  return x", PROBLEM)
    assert [error.rule for error in errors] == ["torch-result"]
    assert "-> f32[4, 8]" in errors[0].mend


def test_an_annotation_against_a_plain_rule_is_refused() -> None:
    error = refusals(HEAD + "  r = torch.softmax(x, -1) -> f32[K, M]\n  return x", PROBLEM)[0]
    assert (error.rule, error.mend) == ("torch-result", "write -> f32[8, 16]")


IMPURE = """torch.load torch.compile torch.ops.aten.add torch.Tensor.add torch.nn.Linear torch.hub.load torch._C
torch.manual_seed torch.relu_ torch.FileCheck torch.nn.functional._pad torch.cuda.synchronize torch.set_num_threads
torch.utils.data.foo"""


@pytest.mark.parametrize("function", IMPURE.split())
def test_functions_that_touch_more_than_tensors_are_refused(function: str) -> None:
    errors = refusals(HEAD + f"  r = {function}(x) -> f32[1]\n  return x", PROBLEM)
    assert [error.rule for error in errors] == ["torch-function"]


@pytest.mark.parametrize(
    ("argument", "rule"),
    [
        ("zz", "unknown-name"),
        ("x + 1", "argument-error"),
        ("f(x)", "argument-error"),
        ("a=1, a=2", "argument-error"),
    ],
)
def test_arguments_must_mean_something(argument: str, rule: str) -> None:
    errors = refusals(HEAD + f"  r = torch.foo({argument}) -> f32[1]\n  return x", PROBLEM)
    assert [error.rule for error in errors] == [rule]


def test_unknown_types_and_sizes_in_an_annotation_are_refused() -> None:
    rules: list[Any] = [
        refusals(HEAD + f"  r = torch.foo(x) -> {kind}\n  return x", PROBLEM)[0].rule
        for kind in ("float[4]", "f32[Q]")
    ]
    assert rules == ["unknown-type", "symbol"]


@pytest.mark.parametrize("argument", ["out=x", "inplace=True", "inplace=None"])
def test_functions_may_not_overwrite_their_tensors(argument: str) -> None:
    errors = refusals(HEAD + f"  r = torch.foo(x, {argument}) -> f32[1]\n  return x", PROBLEM)
    assert [error.rule for error in errors] == ["torch-function"]
    assert torch_stage("torch.foo(x, inplace=False) -> f32[1]").attributes["kwargs"] == {"inplace": False}
