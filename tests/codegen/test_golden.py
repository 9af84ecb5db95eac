"""The generated C++ as text: a change in these files is a change in what people read and in every cache key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kernels.codegen import emit
from kernels.dsl.ir import Load, Reduction
from tests.codegen.stages import (
    ACC,
    SPAN,
    apply,
    broadcast,
    gemm_stage,
    map_stage,
    program,
    step,
    transposed,
    value,
)

Golden = Callable[[str], None]


def test_gemm_with_bias_and_gelu(golden: Golden) -> None:
    bias = value("bias", (512,))
    chain = [
        step(apply("add", ACC, broadcast(bias, (256, 512))), "bias(bias)"),
        step(apply("gelu", ACC), "gelu()"),
    ]
    stage = gemm_stage(value("x", (256, 128)), transposed("w", (128, 512)), chain=chain, tile=[96, 512, 256])
    golden(emit(program(stage)).units[0].source)


def test_gemm_reduced_over_its_columns(golden: Golden) -> None:
    chain = [step(apply("gelu", ACC), "gelu()")]
    whole = gemm_stage(value("x", (256, 128)), transposed("w", (128, 512)), chain=chain, tile=[96, 512, 256])
    reduction = Reduction("mean", 1, False, "reduce(mean, dim=1)", SPAN)
    golden(emit(program(replace(whole, results=(value("y", (256,)),), reduction=reduction))).units[0].source)


def test_bmm_read_in_place_with_a_residual_of_every_layout(golden: Golden) -> None:
    shape = (4, 6, 32)
    row, column = value("row", (32,)), value("column", (6, 1))
    strided = value("strided", shape, "bf16", strides=(192, 1, 6))
    chain = [
        step(apply("add", ACC, broadcast(row, shape)), "add(row)"),
        step(apply("mul", ACC, broadcast(column, shape)), "mul(column)"),
        step(apply("sub", ACC, Load(strided)), "sub(strided)"),
    ]
    stage = gemm_stage(
        value("a", (4, 6, 8), "f16"), value("b", (4, 8, 32), "f16"), "f16", chain, stages=1, split=2, math="f16"
    )
    golden(emit(program(stage)).units[0].source)


def test_map_with_a_chain(golden: Golden) -> None:
    x, y = value("x", (3, 5, 7)), value("y", (5, 1), "i64")
    chain = [
        step(
            apply("where", apply("gt", Load(x), 0), Load(x), broadcast(y, (3, 5, 7))), "map(where(gt(x, 0), x, y))"
        ),
        step(apply("clamp", ACC, float("-inf"), 1.5), "clamp(max=1.5)"),
    ]
    golden(emit(program(map_stage((3, 5, 7), chain, "f64", vector=32))).units[0].source)
