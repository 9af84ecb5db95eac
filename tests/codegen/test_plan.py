from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kernels import records
from kernels.codegen import emit
from kernels.codegen.emission import Emission, Launch, TorchCall
from kernels.codegen.errors import (
    ElementTypeWithoutCode,
    EmptyTensor,
    FunctionWithoutCode,
    OperationWithoutCode,
)
from kernels.dsl.ir import Load, Stage
from tests.codegen.stages import ACC, SPAN, apply, cast_stage, gemm_stage, map_stage, program, step, value


def _torch_stage() -> Stage:
    y, z = value("y", (4, 8)), value("z", (4, 8))
    return Stage(
        name="z",
        op="torch",
        operands=(y,),
        results=(z,),
        knobs={},
        written=frozenset(),
        chain=(),
        attributes={
            "function": "torch.softmax",
            "args": [{"value": "y"}, -1],
            "kwargs": {"dtype": {"dtype": "f32"}},
        },
        once=False,
        span=SPAN,
    )


def test_stages_become_steps_in_order() -> None:
    gemm = gemm_stage(value("x", (4, 16)), value("w", (16, 8)))
    emission = emit(program(gemm, _torch_stage()))
    launch, call = emission.plan.steps
    assert isinstance(launch, Launch)
    assert launch.pointers == ("x", "w")
    assert launch.results == ("y",)
    assert launch.symbol == emission.units[0].symbol
    assert isinstance(call, TorchCall)
    assert (call.function, call.args, call.kwargs) == (
        "torch.softmax",
        ({"value": "y"}, -1),
        {"dtype": {"dtype": "f32"}},
    )
    assert emission.plan.outputs == ("z",)


def test_torch_stages_make_no_unit() -> None:
    assert [unit.stages for unit in emit(program(gemm_stage(value("x", (4, 16)), value("w", (16, 8))))).units] == [
        ("y",)
    ]
    assert emit(program(_torch_stage())).units == ()


def test_every_value_is_listed_once_and_views_after_their_storage() -> None:
    base = value("x", (8, 16))
    view = value("x.T", (16, 8), strides=(1, 16), storage="x")
    stage = cast_stage(view, "f16")
    checked = program(stage, inputs=(base,))
    names = [item.name for item in emit(replace(checked, values=(view, *checked.values))).plan.values]
    assert sorted(names) == sorted(set(names))
    assert names.index("x") < names.index("x.T")


def test_sizes_are_no_part_of_a_unit() -> None:
    small = emit(program(gemm_stage(value("x", (4, 16)), value("w", (16, 8)))))
    large = emit(program(gemm_stage(value("x", (512, 256)), value("w", (256, 1024)))))
    assert small.units[0].symbol == large.units[0].symbol
    assert small.plan.steps[0] != large.plan.steps[0]


@pytest.mark.parametrize(
    "knobs", [{"tile": [48, 64, 32]}, {"micro": [6, 64]}, {"stages": 2}, {"split": 2}, {"math": "bf16"}]
)
def test_a_knob_is_part_of_a_unit(knobs: dict[str, Any]) -> None:
    x, w = value("x", (4, 16)), value("w", (16, 8))
    assert (
        emit(program(gemm_stage(x, w))).units[0].symbol != emit(program(gemm_stage(x, w, **knobs))).units[0].symbol
    )


def test_the_number_of_threads_is_no_part_of_a_unit() -> None:
    x, w = value("x", (4, 16)), value("w", (16, 8))
    one, two = emit(program(gemm_stage(x, w))), emit(program(gemm_stage(x, w, threads=2)))
    assert one.units[0].symbol == two.units[0].symbol


def test_stages_of_one_configuration_share_a_unit() -> None:
    first = gemm_stage(value("x", (4, 16)), value("w", (16, 16)))
    result = value("z", (4, 16))
    second = replace(gemm_stage(value("y", (4, 16)), value("v", (16, 16))), name="z", results=(result,))
    emission = emit(program(first, second))
    assert [unit.stages for unit in emission.units] == [("y", "z")]
    assert [step.stage for step in emission.plan.steps] == ["y", "z"]


def test_an_emission_survives_json() -> None:
    emission = emit(program(gemm_stage(value("x", (4, 16)), value("w", (16, 8))), _torch_stage()))
    assert records.loads(records.dumps(emission), Emission) == emission


def test_it_refuses_a_tensor_without_elements() -> None:
    with pytest.raises(EmptyTensor, match=r"'x' has the shape \[0, 16\]"):
        emit(program(gemm_stage(value("x", (0, 16)), value("w", (16, 8)))))


def test_it_refuses_a_type_the_host_cannot_hold() -> None:
    with pytest.raises(ElementTypeWithoutCode, match="no f8e4m3 for y"):
        emit(program(cast_stage(value("x", (4,)), "f8e4m3")))
    with pytest.raises(ElementTypeWithoutCode, match="no i32 for x"):
        emit(program(gemm_stage(value("x", (4, 4), "i32"), value("w", (4, 4), "i32"))))


def test_it_refuses_a_function_it_has_no_code_for() -> None:
    x = value("x", (4,))
    with pytest.raises(FunctionWithoutCode, match="'bessel'"):
        emit(program(map_stage((4,), [step(apply("bessel", Load(x)))])))


def test_it_refuses_an_op_it_has_no_code_for() -> None:
    with pytest.raises(OperationWithoutCode, match="'sort'"):
        emit(program(replace(map_stage((4,), [step(ACC)]), op="sort")))
