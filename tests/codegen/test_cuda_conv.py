"""Convolutions on the CUDA cores, run on the CPU by an emulation of CUDA's threads, against torch in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernels.codegen.cuda.conv_simt import emit_conv_simt
from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.dsl.ir import Stage, Value
from kernels.dsl.views import channels_last, fresh
from kernels.dtypes import DType
from tests.codegen.conv_stages import convolution, reference
from tests.codegen.sm90a_emulation import Emulated
from tests.codegen.sm90a_stages import ACC, BF16, F16, F32, call, load, step

torch = pytest.importorskip("torch")

SMALL = [64, 64, 8]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that keeps what was built: stages of one configuration share a library, whatever their sizes."""
    return tmp_path_factory.mktemp("built")


def stored(value: Value) -> Any:
    """Random elements that lie in memory as the value says."""
    data = torch.randn(value.shape).to(getattr(torch, value.dtype.torch_name))
    held = torch.empty_strided(value.shape, value.strides, dtype=data.dtype)
    held.copy_(data)
    return held


def run(stage: Stage, inputs: list[Any], folder: Path) -> Any:
    """The stage's result, run by the emulation."""
    value = stage.result
    result = torch.empty_strided(value.shape, value.strides, dtype=getattr(torch, value.dtype.torch_name))
    result.fill_(float("nan"))
    Emulated(emit_conv_simt(stage, None), folder)(inputs, result)
    return result


def check(stage: Stage, folder: Path, tolerance: float = 1e-5) -> None:
    inputs = [stored(value) for value in stage.operands]
    expected = reference(stage, *inputs)
    found = run(stage, inputs, folder).double()
    assert found.shape == expected.shape
    assert float((found - expected).abs().max()) <= tolerance * float(expected.abs().max())


@pytest.mark.parametrize("order", [fresh, channels_last])
@pytest.mark.parametrize(
    ("shape", "kernel", "window"),
    [
        ((2, 5, 23), (7, 5, 4), {"stride": 3, "padding": 2}),
        ((2, 3, 9, 11), (70, 3, 3, 2), {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 3)}),
        ((1, 17, 8, 9), (5, 17, 1, 1), {}),
        ((2, 4, 5, 6, 4), (3, 4, 2, 3, 3), {"padding": 1, "dilation": (2, 1, 1)}),
    ],
)
def test_a_convolution_is_torchs(order: Any, shape: Any, kernel: Any, window: Any, built: Path) -> None:
    layout = "channels_last" if order is channels_last else "row_major"
    stage = convolution(order("x", F32, shape), order("w", F32, kernel), layout=layout, tile=SMALL, **window)
    check(stage, built)


@pytest.mark.parametrize("order", [fresh, channels_last])
@pytest.mark.parametrize(
    ("shape", "kernel", "window"),
    [
        ((2, 6, 7), (6, 5, 5), {"stride": 2, "padding": 1, "output_padding": 1}),
        ((1, 3, 4, 5), (3, 4, 3, 3), {"stride": (2, 3), "padding": (1, 0)}),
        ((1, 3, 5, 4), (3, 4, 3, 2), {"stride": 2, "dilation": (3, 2), "output_padding": 1}),
        ((1, 2, 3, 4, 3), (2, 3, 3, 1, 4), {"stride": (2, 3, 2), "padding": 1, "output_padding": (1, 2, 0)}),
        ((2, 3, 6, 6), (3, 4, 3, 3), {"padding": 1}),
    ],
)
def test_a_transposed_convolution_is_torchs(order: Any, shape: Any, kernel: Any, window: Any, built: Path) -> None:
    layout = "channels_last" if order is channels_last else "row_major"
    x, w = order("x", F32, shape), fresh("w", F32, kernel)
    check(convolution(x, w, transposed=True, layout=layout, tile=SMALL, **window), built)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("groups", [2, 6])
def test_groups_and_depthwise(transposed: bool, groups: int, built: Path) -> None:
    for order, layout in ((fresh, "row_major"), (channels_last, "channels_last")):
        x = order("x", F32, (2, 6, 7, 5))
        w = fresh("w", F32, (6, 12 // groups, 3, 3) if transposed else (12, 6 // groups, 3, 3))
        stage = convolution(
            x, w, transposed=transposed, groups=groups, stride=2, padding=1, layout=layout, tile=[256, 16, 8]
        )
        assert ("depthwise<<<" in emit_conv_simt(stage, None).unit.source) == (groups == 6)
        check(stage, built)


@pytest.mark.parametrize("order", [fresh, channels_last])
@pytest.mark.parametrize(("spatial", "kernel"), [((150,), (4,)), ((5, 37), (3, 2)), ((3, 9, 18), (2, 3, 3))])
@pytest.mark.parametrize("transposed", [False, True])
def test_depthwise_of_any_dimensions(order: Any, spatial: Any, kernel: Any, transposed: bool, built: Path) -> None:
    layout = "channels_last" if order is channels_last else "row_major"
    x, w = order("x", F32, (2, 9, *spatial)), fresh("w", F32, (9, 1, *kernel))
    check(convolution(x, w, transposed=transposed, stride=2, dilation=2, padding=1, groups=9, layout=layout), built)


def test_more_groups_than_a_grid_has_take_several_launches(built: Path) -> None:
    x, w = fresh("x", F32, (1, 2 * 65537, 1)), fresh("w", F32, (65537, 2, 1))
    source = emit_conv_simt(convolution(x, w, groups=65537), None).unit.source
    assert "first += 65535" in source


@pytest.mark.parametrize(("dtype", "tolerance"), [(F16, 1e-3), (BF16, 8e-3)])
def test_narrow_types_are_summed_in_f32(dtype: DType, tolerance: float, built: Path) -> None:
    x, w = channels_last("x", dtype, (2, 40, 6, 6)), channels_last("w", dtype, (9, 40, 3, 3))
    check(convolution(x, w, padding=1, out=dtype, layout="channels_last", tile=SMALL), built, tolerance)
    check(convolution(x, w, padding=1, out=F32, tile=SMALL), built, 1e-5)


@pytest.mark.parametrize("groups", [1, 8])
def test_the_chain_is_fused(groups: int, built: Path) -> None:
    x, w = fresh("x", F32, (2, 8, 5, 5)), fresh("w", F32, (8, 8 // groups, 3, 3))
    shape = (2, 8, 5, 5)
    bias, gate = fresh("bias", F32, (8, 1, 1)), fresh("gate", F32, (2, 8, 1, 1))
    residual = channels_last("residual", F16, shape)
    stage = convolution(
        x,
        w,
        [
            step("bias(bias)", call("add", ACC, load(bias, shape))),
            step("mul(gate)", call("mul", ACC, load(gate, shape))),
            step("relu()", call("relu", ACC)),
            step("add(residual)", call("add", ACC, load(residual, shape))),
        ],
        padding=1,
        groups=groups,
        tile=SMALL,
    )
    data = [stored(value) for value in (x, w, bias, gate, residual)]
    expected = torch.relu((reference(stage, *data[:2]) + data[2]) * data[3]) + data[4]
    assert torch.allclose(run(stage, data, built).double(), expected, atol=1e-5)


def test_tiles_of_every_form_agree(built: Path) -> None:
    x, w = channels_last("x", F32, (1, 11, 12, 13)), fresh("w", F32, (40, 11, 3, 3))
    for tile in ([128, 128, 8], [256, 64, 4], [32, 256, 16], [128, 32, 32], [16, 256, 8]):
        check(convolution(x, w, tile=tile), built)


@pytest.mark.parametrize("tile", [[128, 128, 7], [128, 256, 8], [64, 32, 8], [512, 16, 8]])
def test_a_tile_that_256_threads_cannot_share_is_refused(tile: list[int]) -> None:
    x, w = fresh("x", F32, (1, 4, 8, 8)), fresh("w", F32, (4, 4, 3, 3))
    with pytest.raises(KnobWithoutCode, match="4,096, 8,192 or 16,384"):
        emit_conv_simt(convolution(x, w, tile=tile), None)


def test_sizes_are_arguments_and_names_stand_in_comments() -> None:
    first = convolution(fresh("x", F32, (2, 4, 8, 8)), fresh("w", F32, (8, 4, 3, 3)), tile=SMALL)
    other = convolution(fresh("a", F32, (1, 6, 9, 7)), fresh("v", F32, (6, 6, 5, 1)), stride=2, tile=SMALL)
    assert emit_conv_simt(first, None).unit.symbol == emit_conv_simt(other, None).unit.symbol


def test_large_tensors_are_counted_in_64_bits() -> None:
    small = convolution(fresh("x", F32, (2, 64, 8, 8)), fresh("w", F32, (8, 64, 3, 3)), tile=SMALL)
    large = convolution(fresh("x", F32, (2, 64, 4096, 4096)), fresh("w", F32, (8, 64, 3, 3)), tile=SMALL)
    assert "using Index = int32_t;" in emit_conv_simt(small, None).unit.source
    assert "using Index = int64_t;" in emit_conv_simt(large, None).unit.source
