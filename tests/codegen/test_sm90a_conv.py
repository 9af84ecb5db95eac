"""Convolutions on the tensor cores: geometry and types of the units, copies in front, and what has no code."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernels.codegen.cuda.errors import LinkHasNoRows, OperandIsNotAligned
from kernels.codegen.emission import StageCode
from kernels.codegen.sm90a import emit_stage
from kernels.codegen.sm90a.conv_copy import COPY_KERNEL, block_channels
from kernels.dsl.conv_product import as_product, joined_taps, row_strides
from kernels.dsl.ir import Stage
from kernels.dsl.views import channels_last, fresh
from kernels.dtypes import DType
from tests.codegen.conv_stages import convolution
from tests.codegen.sm90a_emulation import compile_for_cpu
from tests.codegen.sm90a_stages import ACC, BF16, F16, F32, call, load, step

X, W = channels_last("x", F16, (8, 64, 32, 30)), channels_last("w", F16, (128, 64, 3, 3))
SHAPE = (8, 128, 32, 30)
BIAS = step("bias(bias)", call("add", ACC, load(fresh("bias", F32, (128, 1, 1)), SHAPE)))


def tensor_core(x=X, w=W, chain=(), **rest) -> Stage:  # type: ignore[no-untyped-def]
    filled = {"math": "f16", "out": F16, "layout": "channels_last", "padding": 1, **rest}
    return convolution(x, w, chain, **filled)


def code(stage: Stage) -> StageCode:
    return emit_stage(stage, None)


def sizes(stage: Stage) -> dict[str, int]:
    """The launch's sizes by the parameter names of the generated function."""
    made = code(stage)
    head = made.unit.source[made.unit.source.index('extern "C"') :]
    return dict(zip(re.findall(r"int64_t (\w+)", head[: head.index("{")]), made.sizes, strict=True))


def test_a_chain_of_bias_and_residual(golden: Callable[[str], None]) -> None:
    residual = step("add(r)", call("add", ACC, load(channels_last("r", F16, SHAPE), SHAPE)))
    relu = step("relu()", call("relu", ACC))
    golden(code(tensor_core(chain=[BIAS, relu, residual], tile=[128, 128, 64], cluster=[2, 1])).unit.source)


def test_an_f32_convolution_that_is_copied(golden: Callable[[str], None]) -> None:
    x, w = fresh("x", F32, (2, 3, 33, 35)), fresh("w", F32, (64, 3, 7, 7))
    stage = tensor_core(x, w, math="bf16", out=F32, stride=2, padding=3, tile=[128, 64, 16], schedule="streamk")
    golden(code(stage).unit.source)


def test_a_plain_convolution(golden: Callable[[str], None]) -> None:
    x, w = fresh("x", F32, (2, 3, 33, 35)), fresh("w", F32, (64, 3, 7, 7))
    scale = step("scale(2)", call("mul", ACC, 2.0))
    golden(code(convolution(x, w, [scale], stride=2, padding=3)).unit.source)


def test_a_depthwise_transposed_convolution(golden: Callable[[str], None]) -> None:
    x, w = channels_last("x", BF16, (2, 8, 9, 9)), fresh("w", BF16, (8, 1, 3, 3))
    golden(
        code(convolution(x, w, transposed=True, stride=2, groups=8, out=BF16, layout="channels_last")).unit.source
    )


def test_sizes_are_arguments() -> None:
    x, w = channels_last("a", F16, (2, 32, 9, 7)), channels_last("b", F16, (8, 32, 1, 5))
    assert code(tensor_core(x, w, stride=2, padding=0)).unit.symbol == code(tensor_core()).unit.symbol
    assert code(tensor_core(tile=[128, 64, 64])).unit.symbol != code(tensor_core()).unit.symbol


def test_the_geometry_of_a_convolution() -> None:
    found = sizes(tensor_core(stride=(2, 1), padding=(1, 0), dilation=(1, 2)))
    # 32 + 1 + b - 3 fits 16 outputs of stride 2 without b; 30 - 5 + 1 outputs are read whole.
    assert (found["m"], found["n"]) == (8 * 16 * 26, 128)
    assert (found["padding0"], found["behind0"], found["padding1"], found["behind1"]) == (1, 0, 0, 0)
    assert (found["outer_a"], found["step_a0"], found["step_a1"]) == (32 * 30 * 64, 30 * 64, 64)
    assert (found["outer_b"], found["step_b0"], found["step_b1"]) == (9 * 64, 3 * 64, 64)


def test_a_transposed_convolution_is_a_plain_one_of_its_reversed_weight() -> None:
    w = fresh("w", F16, (64, 128, 3, 5))
    stage = tensor_core(X, w, transposed=True, padding=(1, 1), dilation=(2, 1))
    found = sizes(stage)
    assert (found["padding0"], found["behind0"], found["padding1"], found["behind1"]) == (3, 3, 3, 3)
    assert stage.result.shape == (8, 128, 34, 32)
    source = code(stage).unit.source
    assert "launch_copy<false>(static_cast<cutlass::half_t const*>(b) + (kernel0 - 1) * from_b_step0" in source
    assert "from_b_outer, -from_b_step0, -from_b_step1" in source
    assert code(stage).workspace_bytes == 128 * 15 * 64 * 2


def test_padding_of_one_side_alone_is_told_apart() -> None:
    stage = tensor_core(channels_last("x", F16, (1, 8, 4, 4)), channels_last("w", F16, (8, 8, 4, 4)), padding=0)
    attributes = stage.attributes | {"padding": (1, 1), "output": (4, 4)}
    result = channels_last("y", F16, (1, 8, 4, 4))
    same = Stage(
        "y", "conv", stage.operands, (result,), stage.knobs, stage.written, (), attributes, False, stage.span
    )
    found = sizes(same)
    assert (found["padding0"], found["behind0"]) == (1, 2)


def test_copies_take_whole_vectors_of_channels() -> None:
    x, w = fresh("x", F32, (2, 3, 10, 10)), fresh("w", F32, (8, 3, 3, 3))
    stage = tensor_core(x, w, out=F32, tile=[64, 64, 16])
    assert sizes(stage)["channels"] == 8
    assert sizes(stage)["copied_a"] == sizes(stage)["copied_b"] == 3
    assert code(stage).workspace_bytes == -(-2 * 100 * 8 * 2 // 256) * 256 + -(-8 * 9 * 8 * 2 // 256) * 256


@pytest.mark.parametrize(
    ("x", "w", "out", "what"),
    [
        (channels_last("x", F16, (2, 12, 8, 8)), channels_last("w", F16, (8, 12, 3, 3)), F16, "12"),
        (X, channels_last("w", F16, (12, 64, 3, 3)), F16, "12"),
    ],
)
def test_what_tma_cannot_read_is_refused(x, w, out, what) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(OperandIsNotAligned, match=what):
        code(tensor_core(x, w, out=out))


def test_a_link_whose_pixels_lie_apart_is_refused() -> None:
    gate = step("mul(g)", call("mul", ACC, load(fresh("g", F32, (8, 128, 1, 1)), SHAPE)))
    with pytest.raises(LinkHasNoRows):
        code(tensor_core(chain=[gate]))


def test_rows_of_pixels() -> None:
    assert row_strides(channels_last("r", F32, (2, 8, 3, 5))) == (8, 1)
    assert row_strides(fresh("r", F32, (1, 8, 3, 5))) == (1, 15)
    assert row_strides(fresh("r", F32, (2, 8, 3, 5))) is None
    assert row_strides(load(fresh("b", F32, (8, 1, 1)), (2, 8, 3, 5)).value) == (0, 1)
    assert row_strides(load(fresh("s", F32, (1,)), (2, 8, 3, 5)).value) == (0, 0)
    assert row_strides(load(fresh("c", F32, (2, 1, 1, 1)), (2, 8, 3, 5)).value) is None
    product = as_product(tensor_core(chain=[BIAS]))
    assert product is not None
    assert [value.shape for value in product.operands] == [(8 * 32 * 30, 64 * 9), (64 * 9, 128)]


def copied(x: Any, y: Any, numbers: list[int], first: int, element: str, folder: Path) -> None:
    """Run the copy of x from its element ``first`` on; ``numbers`` are the fields of Positions for two dimensions."""
    entry = f"""
extern "C" void copy(float const* x, {element}* y, int64_t const* n) {{
  Positions p{{{{uint32_t(n[0]), uint32_t(n[1]), uint32_t(n[2])}}, {{n[3], n[4], n[5]}}, n[6], n[7], n[8]}};
  if (n[8] == 1) {{ launch_copy<true>(x, y, p, nullptr); }} else {{ launch_copy<false>(x, y, p, nullptr); }}
}}"""
    constants = f"constexpr int Dims = 2, CopyChannels = {block_channels(numbers[6])};\n"
    compile_for_cpu(constants + COPY_KERNEL + entry, folder / "copy.so")
    passed = (ctypes.c_int64 * len(numbers))(*numbers)
    start = ctypes.c_void_p(x.data_ptr() + first * x.element_size())
    ctypes.CDLL(str(folder / "copy.so")).copy(start, ctypes.c_void_p(y.data_ptr()), passed)


@pytest.mark.parametrize("dtype", [F16, BF16, F32])
@pytest.mark.parametrize("turned", [False, True])
def test_the_copy_puts_channels_innermost(dtype: DType, turned: bool, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    element = {F16: "__half", BF16: "__nv_bfloat16", F32: "float"}[dtype]
    x = torch.randn(3, 70, 5, 7).float()
    if turned:
        x = x.contiguous(memory_format=torch.channels_last)
    outer, channel, *steps = x.stride()
    y = torch.full((3, 5, 7, 72), float("nan")).to(getattr(torch, dtype.torch_name))
    copied(x, y, [3, 5, 7, outer, *steps, 70, 72, channel], 0, element, tmp_path)
    assert torch.equal(y, torch.nn.functional.pad(x.permute(0, 2, 3, 1), (0, 2)).to(y.dtype))


def test_the_copy_reverses_the_taps_of_a_transposed_weight(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    w = torch.randn(6, 4, 3, 5)
    channel, outer, down, along = w.stride()
    y = torch.full((4, 3, 5, 8), float("nan"))
    numbers = [4, 3, 5, outer, -down, -along, 6, 8, channel]
    copied(w, y, numbers, 2 * down + 4 * along, "float", tmp_path)
    assert torch.equal(y, torch.nn.functional.pad(w.flip(2, 3).permute(1, 2, 3, 0), (0, 2)))


def test_taps_of_few_channels_are_read_as_channels_of_one(golden: Callable[[str], None]) -> None:
    x, w = channels_last("x", F16, (4, 16, 20, 24)), channels_last("w", F16, (32, 16, 3, 5))
    stage = tensor_core(x, w, padding=(1, 0), stride=(1, 2), tile=[128, 64, 64])
    found = sizes(stage)
    assert (found["channels"], found["kernel0"], found["kernel1"]) == (5 * 16, 3, 1)
    assert (found["input1"], found["step_a1"], found["stride1"]) == (24 - 4, 16, 2)
    assert (found["padding0"], found["behind0"], found["padding1"], found["behind1"]) == (1, 1, 0, 0)
    golden(code(stage).unit.source)


def test_taps_that_are_joined_are_copied_as_they_are() -> None:
    x, w = fresh("x", F32, (2, 3, 10, 10)), fresh("w", F32, (8, 3, 3, 3))
    stage = tensor_core(x, w, out=F32, padding=0, tile=[64, 64, 32])
    found = sizes(stage)
    assert (found["channels"], found["lanes"], found["joined"], found["input1"]) == (24, 8, 3, 8)
    source = code(stage).unit.source
    assert "{uint32_t(batch), uint32_t(input0), uint32_t((input1 + joined - 1))}" in source
    assert "{uint32_t(n), uint32_t(kernel0), uint32_t(joined)}" in source
    assert "{input0 * (input1 + joined - 1) * lanes, (input1 + joined - 1) * lanes, lanes, 1}" in source
    assert code(stage).workspace_bytes == -(-2 * 100 * 8 * 2 // 256) * 256 + -(-8 * 9 * 8 * 2 // 256) * 256


@pytest.mark.parametrize(
    ("x", "w", "rest"),
    [
        ((2, 16, 9, 9), (8, 16, 3, 3), {"padding": (0, 1)}),
        ((2, 16, 9, 9), (8, 16, 3, 3), {"padding": 0, "dilation": (1, 2)}),
        ((2, 64, 9, 9), (8, 64, 3, 3), {"padding": 0}),
        ((2, 16, 9, 9), (8, 16, 3, 1), {"padding": 0}),
    ],
)
def test_taps_stay_apart_where_they_read_padding_or_lie_apart_or_fill_a_step(
    x: tuple[int, ...], w: tuple[int, ...], rest: dict[str, Any]
) -> None:
    stage = tensor_core(channels_last("x", F16, x), channels_last("w", F16, w), **rest)
    assert joined_taps(stage.attributes, "f16", *stage.operands[:2]) == 1
    assert sizes(stage)["kernel1"] == w[-1]


def test_taps_of_a_row_with_gaps_stay_apart() -> None:
    x, w = channels_last("x", F16, (2, 16, 9, 9)), channels_last("w", F16, (8, 16, 3, 3))
    stage = tensor_core(x, w, padding=0)
    assert joined_taps(stage.attributes, "f16", x, w) == 3
    wide = replace(x, strides=(9 * 9 * 32, 1, 9 * 32, 32))
    assert joined_taps(stage.attributes, "f16", wide, w) == 1


def test_a_transposed_convolution_without_padding_joins_its_taps() -> None:
    x, w = channels_last("x", F16, (4, 8, 20, 20)), fresh("w", F16, (8, 32, 3, 3))
    found = sizes(tensor_core(x, w, transposed=True, padding=(1, 2)))
    assert (found["channels"], found["kernel1"], found["input1"], found["padding1"]) == (24, 1, 18, 0)
    assert found["padding0"] == 1
