"""Executing plans: launches, torch stages, views, once steps, and every way in which one cannot run."""

from __future__ import annotations

import ctypes
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kernels.codegen.emission import Plan
from kernels.dtypes import DType
from kernels.harness.devices import HostDevice
from kernels.harness.errors import (
    ArtifactMissing,
    LaunchFailed,
    OutOfMemory,
    PlanMismatch,
    ResultMismatch,
    SymbolMissing,
    TorchCallFailed,
    TorchFunctionRefused,
)
from kernels.harness.plan_form import plan_from_form
from kernels.harness.plan_runner import PlanRunner
from kernels.harness.torch_functions import resolve
from kernels.records import to_json
from tests.harness.programs import launch, one_launch, torch_call, value


def run(
    plan: Plan,
    objects: Path,
    inputs: list[torch.Tensor],
    parameters: dict[str, torch.Tensor],
    outputs: list[torch.Tensor],
    calls: int = 1,
) -> list[torch.Tensor]:
    """The plan's outputs after ``calls`` calls, each as its own copy of the last."""
    symbols = [step.symbol for step in plan.steps if step.kind == "launch"]
    runner = PlanRunner(plan, {s: str(objects / "objects.so") for s in symbols}, HostDevice(), parameters)
    runner.load()
    binding = runner.bind(inputs, outputs)
    for _ in range(calls):
        runner.poison_intermediates()
        binding()
    return [tensor.clone() for tensor in binding.outputs()]


def test_a_plan_survives_its_json_form() -> None:
    plan = Plan(
        values=(value("x", 2, 3), value("y", 3, 2, storage="x", strides=(1, 3), offset=0)),
        inputs=("x",),
        parameters=(),
        steps=(
            launch("s", "f", ("x",), ("y",), 4, workspace=8),
            torch_call("t", "torch.cat", ([1],), ("y",), dim=0),
        ),
        outputs=("y",),
    )
    form = to_json(plan)
    assert to_json(plan_from_form(form)) == form


def test_a_launch_writes_straight_into_the_output(objects: Path) -> None:
    x, bias, out = torch.randn(8, 4), torch.randn(4), torch.full((8, 4), torch.nan)
    plan = Plan(
        values=(value("x", 8, 4), value("bias", 4), value("y", 8, 4)),
        inputs=("x",),
        parameters=("bias",),
        steps=(launch("y", "bias_relu", ("x", "bias"), ("y",), 8, 4),),
        outputs=("y",),
    )
    run(plan, objects, [x], {"bias": bias}, [out])
    assert torch.equal(out, torch.relu(x + bias))


def chained(first: str) -> Plan:
    """relu of (x + bias) with the sum made by a launch or by torch, and a slice of it taken by offset and strides."""
    added = (
        launch("sum", "add", ("x", "bias"), ("s",), 8, 4)
        if first == "launch"
        else torch_call("sum", "torch.add", ({"value": "x"}, {"value": "bias"}), ("s",))
    )
    return Plan(
        values=(
            value("x", 8, 4),
            value("bias", 4),
            value("s", 8, 4),
            value("tail", 3, 4, storage="s", offset=20),
            value("y", 3, 4),
        ),
        inputs=("x",),
        parameters=("bias",),
        steps=(added, launch("relu", "relu", ("tail",), ("y",), 12)),
        outputs=("y",),
    )


@pytest.mark.parametrize("first", ["launch", "torch"])
def test_a_view_of_any_stages_result_is_read_at_its_offset(objects: Path, first: str) -> None:
    x, bias, out = torch.randn(8, 4), torch.randn(4), torch.empty(3, 4)
    run(chained(first), objects, [x], {"bias": bias}, [out], calls=3)
    assert torch.equal(out, torch.relu(x + bias)[5:])


def test_a_transposed_view_as_output_is_given_with_its_strides(objects: Path) -> None:
    x, bias, out = torch.randn(8, 4), torch.randn(4), torch.empty(4, 8)
    plan = Plan(
        values=(
            value("x", 8, 4),
            value("bias", 4),
            value("s", 8, 4),
            value("y", 4, 8, storage="s", strides=(1, 4)),
        ),
        inputs=("x",),
        parameters=("bias",),
        steps=(launch("sum", "add", ("x", "bias"), ("s",), 8, 4),),
        outputs=("y",),
    )
    (seen,) = run(plan, objects, [x], {"bias": bias}, [out])
    assert torch.equal(seen, (x + bias).T)


@pytest.mark.parametrize("first", ["launch", "torch"])
def test_only_outputs_that_a_launch_writes_are_poisoned(objects: Path, first: str) -> None:
    x, bias, out = torch.randn(8, 4), torch.randn(4), torch.zeros(3, 4)
    plan = replace(chained(first), outputs=("y", "x", "tail"))
    built = {name: str(objects / "objects.so") for name in ("add", "relu")}
    runner = PlanRunner(plan, built, HostDevice(), {"bias": bias})
    runner.load()
    given = x.clone()
    binding = runner.bind([x], [out, torch.zeros(8, 4), torch.zeros(3, 4)])
    binding()
    kept = binding.tensor("tail").clone()
    binding.poison_outputs()
    assert out.isnan().all()
    assert torch.equal(x, given), "an output that is an input stays"
    assert binding.tensor("tail").isnan().all() if first == "launch" else torch.equal(binding.tensor("tail"), kept)
    binding()
    assert torch.equal(out, torch.relu(given + bias)[5:])


def test_once_steps_run_at_load_alone_and_their_results_stay(objects: Path, tmp_path: Path) -> None:
    """``once_right`` writes in its first call only; a copy of the objects has not been called by another test."""
    shutil.copy(objects / "objects.so", tmp_path)
    for once in ("once_right", "bias_relu"):
        plan = Plan(
            values=(value("x", 8, 4), value("w", 8, 4), value("bias", 4), value("p", 8, 4), value("y", 8, 4)),
            inputs=("x",),
            parameters=("w", "bias"),
            steps=(
                launch("p", once, ("w", "bias"), ("p",), 8, 4, once=True),
                torch_call("y", "torch.add", ({"value": "x"}, {"value": "p"}), ("y",)),
            ),
            outputs=("y",),
        )
        x, weight, bias = torch.randn(8, 4), torch.randn(8, 4), torch.randn(4)
        (seen,) = run(plan, tmp_path, [x], {"w": weight, "bias": bias}, [torch.empty(8, 4)], calls=3)
        assert torch.equal(seen, x + torch.relu(weight + bias))


def test_a_torch_once_step_keeps_its_result(objects: Path) -> None:
    plan = Plan(
        values=(value("x", 4), value("w", 2, 4), value("c", 4, 2), value("y", 2)),
        inputs=("x",),
        parameters=("w",),
        steps=(
            torch_call("c", "torch.clone", ({"value": "w_t"},), ("c",), once=True),
            torch_call("y", "torch.matmul", ({"value": "x"}, {"value": "c"}), ("y",)),
        ),
        outputs=("y",),
    )
    plan = replace(plan, values=(*plan.values, value("w_t", 4, 2, storage="w", strides=(1, 4))))
    x, weight = torch.randn(4), torch.randn(2, 4)
    (seen,) = run(plan, objects, [x], {"w": weight}, [torch.empty(2)], calls=2)
    assert torch.allclose(seen, weight @ x)


def test_lists_types_and_several_results_reach_torch(objects: Path) -> None:
    plan = Plan(
        values=(
            value("x", 3, 4),
            value("both", 6, 4),
            value("half", 6, 4, dtype=DType.F16),
            value("v", 2, 4, dtype=DType.F16),
            value("i", 2, 4, dtype=DType.I64),
        ),
        inputs=("x",),
        parameters=(),
        steps=(
            torch_call("a", "torch.cat", ([{"value": "x"}, {"value": "x"}],), ("both",), dim=0),
            torch_call("b", "torch.clone", ({"value": "both"},), ("both",)),
            torch_call("c", "torch.zeros_like", ({"value": "both"},), ("half",), dtype={"dtype": "f16"}),
            torch_call("d", "torch.topk", ({"value": "half"}, 2, 0), ("v", "i")),
        ),
        outputs=("v", "i"),
    )
    seen = run(plan, objects, [torch.randn(3, 4)], {}, [torch.empty(2, 4, dtype=torch.float16),
                                                        torch.empty(2, 4, dtype=torch.int64)])  # fmt: skip
    assert seen[0].dtype == torch.float16
    assert seen[1].dtype == torch.int64
    assert not seen[0].any()


def test_a_result_with_other_strides_is_copied_to_the_plans_layout(objects: Path) -> None:
    plan = Plan(
        values=(value("x", 3, 4), value("t", 4, 3), value("y", 4, 3)),
        inputs=("x",),
        parameters=(),
        steps=(
            torch_call("t", "torch.transpose", ({"value": "x"}, 0, 1), ("t",)),
            launch("y", "relu", ("t",), ("y",), 12),
        ),
        outputs=("y",),
    )
    x, out = torch.randn(3, 4), torch.empty(4, 3)
    run(plan, objects, [x], {}, [out], calls=2)
    assert torch.equal(out, torch.relu(x.T))


def test_workspace_is_handed_to_a_launch(objects: Path) -> None:
    def plan(workspace: int) -> Plan:
        return Plan(
            values=(value("a", 3, 4), value("b", 4, 5), value("c", 3, 5)),
            inputs=("a", "b"),
            parameters=(),
            steps=(launch("c", "gemm", ("a", "b"), ("c",), 3, 5, 4, workspace=workspace),),
            outputs=("c",),
        )

    a, b, c = torch.randn(3, 4), torch.randn(4, 5), torch.empty(3, 5)
    run(plan(64), objects, [a, b], {}, [c])
    assert torch.allclose(c, a @ b, atol=1e-5)
    with pytest.raises(LaunchFailed, match="error code 9"):
        run(plan(0), objects, [a, b], {}, [c])


SMALL = (torch.zeros(64, 96), {"bias": torch.zeros(96)}, torch.zeros(64, 96))


def test_an_error_code_is_a_failed_launch_that_names_stage_and_code(objects: Path) -> None:
    with pytest.raises(LaunchFailed, match=r"stage y: error_code returned error code 42"):
        run(one_launch("error_code"), objects, [SMALL[0]], SMALL[1], [SMALL[2]])


def test_enomem_is_out_of_memory(objects: Path) -> None:
    with pytest.raises(OutOfMemory, match="ENOMEM"):
        run(one_launch("no_memory_code"), objects, [SMALL[0]], SMALL[1], [SMALL[2]])


def test_a_missing_file_a_missing_symbol_and_an_unbuilt_unit_are_told_apart(objects: Path, tmp_path: Path) -> None:
    plan = one_launch("absent")
    for artifacts, error in [
        ({"absent": str(tmp_path / "gone.so")}, ArtifactMissing),
        ({"absent": str(objects / "objects.so")}, SymbolMissing),
        ({}, ArtifactMissing),
    ]:
        with pytest.raises(error, match="absent"):
            PlanRunner(plan, artifacts, HostDevice(), SMALL[1]).load()


def test_a_plan_that_does_not_fit_is_refused(objects: Path) -> None:
    plan = one_launch("bias_relu")
    with pytest.raises(PlanMismatch, match="no parameter bias"):
        PlanRunner(plan, {}, HostDevice(), {})
    unnamed = Plan(plan.values[:2], plan.inputs, plan.parameters, plan.steps, plan.outputs)
    with pytest.raises(PlanMismatch, match="values that it does not have: y"):
        PlanRunner(unnamed, {}, HostDevice(), SMALL[1])


@pytest.mark.parametrize(
    "name",
    [
        "os.system", "torch.load", "torch.save", "torch.relu_", "torch._C._jit", "torch.set_num_threads",
        "torch.Tensor", "torch.nn.Linear", "torch.hub.load", "torch.nope", "relu", "torch.ops.aten.relu",
        "torch.cuda", "torch.compile",
    ],
)  # fmt: skip
def test_only_functions_that_compute_can_be_called(name: str) -> None:
    with pytest.raises(TorchFunctionRefused, match=name.split(".")[-1]):
        resolve("s", name)


@pytest.mark.parametrize(
    "name",
    ["torch.softmax", "torch.nn.functional.max_pool2d", "torch.nn.functional.conv2d", "torch.linalg.vector_norm",
     "torch.nn.functional.scaled_dot_product_attention", "torch.isnan", "torch.nn.functional.gelu", "torch.einsum"],
)  # fmt: skip
def test_functions_of_torch_are_found(name: str) -> None:
    assert callable(resolve("s", name))


def test_a_torch_stage_that_raises_or_gives_something_else_is_named(objects: Path) -> None:
    def plan(function: str) -> Plan:
        call = torch_call("t", function, ({"value": "x"}, 9), ("y",))
        return Plan((value("x", 3, 4), value("y", 3, 4)), ("x",), (), (call,), ("y",))

    with pytest.raises(TorchCallFailed, match=r"stage t: torch\.softmax raised IndexError"):
        run(plan("torch.softmax"), objects, [torch.randn(3, 4)], {}, [torch.empty(3, 4)])
    call = torch_call("t", "torch.sum", ({"value": "x"},), ("y",))
    summed = Plan((value("x", 3, 4), value("y", 3, 4)), ("x",), (), (call,), ("y",))
    with pytest.raises(ResultMismatch, match=r"expects f32 \[3, 4\]"):
        run(summed, objects, [torch.randn(3, 4)], {}, [torch.empty(3, 4)])


def test_the_test_objects_really_are_the_bodies_they_are_named_for(objects: Path) -> None:
    library = ctypes.CDLL(str(objects / "objects.so"))
    assert library["error_code"](None, None, None, 0, 0, None, None) == 42
