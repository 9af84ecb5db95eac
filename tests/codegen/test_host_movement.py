"""relayout, pad, pools and maps of turned operands on the host against torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from kernels.codegen import emit
from kernels.codegen.memory_order import in_memory_order, memory_axes, turned_axis
from kernels.dsl import check, parse
from kernels.dsl.ir import Load
from kernels.dtypes import DType
from kernels.problems.inspection import Signature, TensorSpec
from kernels.targets import Policy, Target
from tests.codegen.plans import run_program
from tests.codegen.running import Runner, filled, view
from tests.codegen.stages import apply, broadcast, map_stage, step, transposed, value

CHANNELS_LAST = "  c = relayout(x, channels_last)\n"
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12, torch.float16: 2e-3, torch.bfloat16: 1e-2}


def text_of(call: str, x: torch.Tensor, shape: tuple[int, ...], first: str = "") -> str:
    dtype = DType.from_torch(str(x.dtype))
    return f"program p(x: {dtype}{list(x.shape)}) -> {dtype}{list(shape)}\n{first}  y = {call}\n  return y"


def run(runner: Runner, call: str, x: torch.Tensor, shape: tuple[int, ...], first: str = "") -> torch.Tensor:
    """The result of ``call`` on ``x``, or on ``c``, which is ``x`` channels-last."""
    output = TensorSpec("y", DType.from_torch(str(x.dtype)), shape)
    return run_program(text_of(call, x, shape, first), {"x": x}, {}, output, runner.cache)


def numbers(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(len(shape))
    return (torch.rand(shape, generator=generator) * 10 - 5).to(dtype)


def assert_close(made: torch.Tensor, exact: torch.Tensor) -> None:
    near = TOLERANCE[made.dtype]
    torch.testing.assert_close(made, exact.to(made.dtype), rtol=near, atol=near, equal_nan=True)


# Memory orders.


def test_a_result_is_seen_in_its_memory_order() -> None:
    channels_last = value("y", (2, 3, 4, 5), strides=(60, 1, 15, 3))
    assert memory_axes(channels_last) == (0, 2, 3, 1)
    assert memory_axes(value("y", (2, 3, 4, 5))) == (0, 1, 2, 3)
    assert memory_axes(transposed("y", (2, 4, 5))) == (0, 2, 1)
    bias = broadcast(value("b", (3, 1, 1)), (2, 3, 4, 5))
    stage = map_stage((2, 3, 4, 5), [step(apply("relu", bias))])
    turned = in_memory_order(stage, (0, 2, 3, 1))
    assert turned.result.shape == (2, 4, 5, 3)
    assert turned.result.contiguous
    assert turned.operands[0].strides == (0, 0, 0, 1)


def test_operands_side_by_side_along_another_extent_are_turned() -> None:
    assert turned_axis((30, 40), [(40, 1)]) is None
    assert turned_axis((30, 40), [(1, 30)]) == 0
    assert turned_axis((30, 40), [(1, 0)]) is None
    assert turned_axis((5, 30, 40), [(1, 5, 150), (1200, 1, 30), (600, 1, 15)]) == 1
    assert turned_axis((1, 40), [(1, 7)]) is None


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "i64", "i32", "i16", "u8", "bool"])
@pytest.mark.parametrize("layout", ["row_major", "channels_last", "column_major"])
def test_relayout_moves_every_type(runner: Runner, dtype: str, layout: str) -> None:
    x = (numbers((2, 5, 9, 70)) * 20).to(getattr(torch, DType(dtype).torch_name))
    assert torch.equal(run(runner, f"relayout(x, {layout})", x, (2, 5, 9, 70)), x)


@pytest.mark.parametrize("shape", [(2, 3, 33, 31), (1, 64, 5, 130), (3, 100, 1, 1), (4, 1, 9, 9), (2, 130, 67)])
def test_channels_last_and_back_changes_nothing(runner: Runner, shape: tuple[int, ...]) -> None:
    x = numbers(shape)
    assert torch.equal(run(runner, "relayout(c, row_major)", x, shape, CHANNELS_LAST), x)


def test_views_are_laid_out_without_a_copy_first(runner: Runner) -> None:
    x = numbers((8, 40, 33))
    made = run(runner, "relayout(x.slice(1, 3, 30).permute(2, 0, 1), column_major)", x, (33, 8, 27))
    assert torch.equal(made, x[:, 3:30].permute(2, 0, 1))


@pytest.mark.parametrize("shape", [(3, 100, 70), (64, 64), (1, 129, 2), (2, 15, 17), (2, 3, 200), (200, 3)])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_map_of_a_transpose_goes_over_tiles(runner: Runner, shape: tuple[int, ...], threads: int) -> None:
    x, z = transposed("x", shape), value("z", shape[-2:])
    chain = [step(apply("sub", apply("tanh", Load(x)), broadcast(z, shape)))]
    storages = {"x": filled(x, 1), "z": filled(z, 2)}
    y = runner.run(map_stage(shape, chain, threads=threads), storages)
    exact = view(storages["x"], x).tanh() - view(storages["z"], z)
    assert torch.allclose(y, exact, rtol=1e-5, atol=1e-6)


def test_operands_turned_two_ways_are_both_right(runner: Runner) -> None:
    shape = (20, 30, 40)
    one = value("a", shape, strides=(1, 20, 600))
    two, three = value("b", shape, "f16", strides=(1200, 1, 30)), value("c", shape, strides=(1200, 1, 30))
    chain = [step(apply("add", apply("mul", Load(one), Load(two)), Load(three)))]
    storages = {
        name: filled(each, seed) for seed, (name, each) in enumerate((("a", one), ("b", two), ("c", three)))
    }
    y = runner.run(map_stage(shape, chain), storages)
    a, b, c = (view(storages[name], each) for name, each in (("a", one), ("b", two), ("c", three)))
    assert torch.allclose(y, a * b + c, rtol=1e-5, atol=1e-6)


# Borders.


@pytest.mark.parametrize("first", ["", CHANNELS_LAST], ids=["row_major", "channels_last"])
@pytest.mark.parametrize(
    "border", [(0, 5), (3, 0), (1, 2, 3, 4), (0, 0, 0, 0, 0, 5), (1, 2, 3, 4, 5, 6, 1, 0), (0, 0, 2, 0)]
)
def test_pad_is_torchs(runner: Runner, border: tuple[int, ...], first: str) -> None:
    x = numbers((2, 3, 7, 9))
    exact = functional.pad(x, border, value=2.5)
    call = f"pad({'c' if first else 'x'}, {border}, value=2.5)"
    assert torch.equal(run(runner, call, x, tuple(exact.shape), first), exact)


@pytest.mark.parametrize(
    ("dtype", "border"),
    [("f64", "-inf"), ("f16", "1.5"), ("bf16", "-3"), ("i64", "-7"), ("u8", "9"), ("bool", "1")],
)
def test_pad_takes_every_type(runner: Runner, dtype: str, border: str) -> None:
    x = numbers((4, 5000)).abs().to(getattr(torch, DType(dtype).torch_name))
    exact = functional.pad(x, (3, 2), value=float(border))
    assert torch.equal(run(runner, f"pad(x, (3, 2), value={border})", x, (4, 5005)), exact)


def test_a_view_is_padded_in_place_of_a_copy(runner: Runner) -> None:
    x = numbers((6, 11))
    exact = functional.pad(x.T, (2, 0, 1, 1))
    assert torch.equal(run(runner, "pad(x.T, (2, 0, 1, 1))", x, (13, 8)), exact)


# Pools.

IMAGE, ROW, VOLUME = (2, 5, 37, 29), (2, 3, 500), (2, 3, 9, 10, 40)
POOLS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "max_pool2d({x}, 3, stride=2, padding=1)": (IMAGE, lambda x: functional.max_pool2d(x, 3, 2, 1)),
    "max_pool2d({x}, (3, 2), (1, 3), (1, 0), (2, 4), true)": (
        IMAGE, lambda x: functional.max_pool2d(x, (3, 2), (1, 3), (1, 0), (2, 4), True),
    ),
    "avg_pool2d({x}, 2) >> relu()": (IMAGE, lambda x: functional.avg_pool2d(x, 2).relu()),
    "avg_pool2d({x}, 3, 2, 1, ceil_mode=true)": (IMAGE, lambda x: functional.avg_pool2d(x, 3, 2, 1, True)),
    "avg_pool2d({x}, 3, 1, 1, true, count_include_pad=false)": (
        IMAGE, lambda x: functional.avg_pool2d(x, 3, 1, 1, True, False),
    ),
    "avg_pool2d({x}, (37, 29))": (IMAGE, lambda x: functional.avg_pool2d(x, (37, 29))),
    "max_pool1d({x}, 8, 1, 4, 3)": (ROW, lambda x: functional.max_pool1d(x, 8, 1, 4, 3)),
    "avg_pool1d({x}, 8, 1, 4)": (ROW, lambda x: functional.avg_pool1d(x, 8, 1, 4)),
    "max_pool3d({x}, 3, 2, 1, 3, true)": (VOLUME, lambda x: functional.max_pool3d(x, 3, 2, 1, 3, True)),
    "avg_pool3d({x}, 3, 2, 1)": (VOLUME, lambda x: functional.avg_pool3d(x, 3, 2, 1)),
}  # fmt: skip


@pytest.mark.parametrize("first", ["", CHANNELS_LAST], ids=["row_major", "channels_last"])
@pytest.mark.parametrize("call", POOLS)
def test_pools_are_torchs(runner: Runner, call: str, first: str) -> None:
    shape, exact = POOLS[call]
    x = numbers(shape)
    expected = exact(x)
    assert_close(run(runner, call.format(x="c" if first else "x"), x, tuple(expected.shape), first), expected)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_pools_take_every_float(runner: Runner, dtype: torch.dtype) -> None:
    x = numbers((2, 3, 12, 40), dtype)
    mean = functional.avg_pool2d(x.double(), 3, 2, 1)
    assert_close(run(runner, "avg_pool2d(x, 3, 2, 1)", x, (2, 3, 6, 20)), mean)
    largest = functional.max_pool2d(x.double(), 2)
    assert_close(run(runner, "max_pool2d(x, 2)", x, (2, 3, 6, 20)), largest)


@pytest.mark.parametrize("first", ["", CHANNELS_LAST], ids=["row_major", "channels_last"])
def test_windows_wider_than_a_row_of_the_cache(runner: Runner, first: str) -> None:
    x = numbers((1, 3, 20_100))
    name = "c" if first else "x"
    mean = functional.avg_pool1d(x.double(), 10_000, 5000)
    assert_close(run(runner, f"avg_pool1d({name}, 10000, 5000)", x, (1, 3, 3), first), mean)
    largest = functional.max_pool1d(x, 2, 1, 0, 9000)
    assert_close(run(runner, f"max_pool1d({name}, 2, 1, 0, 9000)", x, tuple(largest.shape), first), largest)


def test_more_channels_than_are_worked_on_at_once(runner: Runner) -> None:
    x = numbers((1, 1300, 9, 9))
    expected = functional.max_pool2d(x, 3, 2, 1)
    assert_close(run(runner, "max_pool2d(c, 3, 2, 1)", x, (1, 1300, 5, 5), CHANNELS_LAST), expected)
    expected = functional.avg_pool2d(x, 9)
    assert_close(run(runner, "avg_pool2d(c, 9)", x, (1, 1300, 1, 1), CHANNELS_LAST), expected)


@pytest.mark.parametrize("first", ["", CHANNELS_LAST], ids=["row_major", "channels_last"])
def test_nan_and_infinities_travel_as_in_torch(runner: Runner, first: str) -> None:
    x = numbers((1, 2, 8, 24))
    x[0, 0, 2, 3], x[0, 0, 5, 20], x[0, 1, 0, 0] = math.nan, math.inf, -math.inf
    name = "c" if first else "x"
    for kind, exact in (("max", functional.max_pool2d(x, 3, 2, 1)), ("avg", functional.avg_pool2d(x, 3, 2, 1))):
        assert_close(run(runner, f"{kind}_pool2d({name}, 3, 2, 1)", x, (1, 2, 4, 12), first), exact)


def test_a_chain_sees_the_channels(runner: Runner) -> None:
    text = """
    program pooled(x: f32[N, C, H, W], b: f32[C, 1, 1], r: f32[N, C, 6, 5]) -> f32[N, C, 6, 5]
      c = relayout(x, channels_last)
      p = max_pool2d(c, 2) >> add(b) >> mul(r)
      y = avg_pool2d(x, 2) >> add(b) >> add(p)
      return y
    """
    x, b, r = numbers((2, 7, 12, 10)), numbers((7, 1, 1)), numbers((2, 7, 6, 5))
    output = TensorSpec("y", DType.F32, (2, 7, 6, 5))
    y = run_program(text, {"x": x, "b": b, "r": r}, {}, output, runner.cache)
    p = (functional.max_pool2d(x, 2) + b) * r
    assert_close(y, functional.avg_pool2d(x, 2) + b + p)


# Units.


def unit(call: str, x: torch.Tensor, shape: tuple[int, ...], first: str = "") -> str:
    """The C++ of the last stage."""
    dtype = DType.from_torch(str(x.dtype))
    signature = Signature((TensorSpec("x", dtype, tuple(x.shape)),), (), (TensorSpec("y", dtype, shape),), {})
    checked = check(parse(text_of(call, x, shape, first)), signature, Target.HOST, Policy.STRICT)
    return emit(checked).units[-1].source


def test_sizes_are_arguments_and_names_do_not_count() -> None:
    def symbol(call: str, shape: tuple[int, ...], out: tuple[int, ...]) -> str:
        return next(line for line in unit(call, numbers(shape), out).splitlines() if 'extern "C"' in line)

    one, other = ((2, 3, 8, 8), (2, 3, 4, 4)), ((5, 7, 20, 40), (5, 7, 10, 20))
    assert symbol("max_pool2d(x, 2)", *one)[:40] == symbol("max_pool2d(x, 2)", *other)[:40]
    assert symbol("pad(x, (0, 1))", (4, 4), (4, 5))[:40] == symbol("pad(x, (3, 9))", (70, 8), (70, 20))[:40]


def test_a_pool_with_a_chain(golden: Callable[[str], None]) -> None:
    golden(unit("avg_pool2d(c, 3, 2, 1) >> relu()", numbers((2, 8, 12, 12)), (2, 8, 6, 6), CHANNELS_LAST))


def test_a_relayout(golden: Callable[[str], None]) -> None:
    golden(unit("relayout(x, channels_last)", numbers((2, 8, 12, 12), torch.bfloat16), (2, 8, 12, 12)))


def test_a_border_of_ones(golden: Callable[[str], None]) -> None:
    golden(unit("pad(x, (1, 2, 0, 3), value=1)", numbers((2, 8, 12, 12)), (2, 8, 15, 15)))
