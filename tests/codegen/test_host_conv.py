"""Convolutions on the host against torch in float64, from text to tensors.

Tiles and register tiles are small and the same throughout, so that small sizes have every kind of edge and the sizes of
a case share one unit. Workspaces and results are watched for writes behind their ends.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from kernels.codegen import emit
from kernels.dsl.expressions import chain_values
from kernels.dsl.ir import CheckedProgram
from kernels.dsl.simd import AVX2, AVX512, detect
from kernels.dtypes import DType
from kernels.targets import Policy, Target
from tests.codegen.running import Runner
from tests.dsl.programs import checked, signature

Numbers = int | tuple[int, ...]
Shape = tuple[int, ...]
TOLERANCE = {"f64": 1e-13, "f32": 2e-6, "f16": 2e-3, "bf16": 1e-2}
LAYOUTS = ("row_major", "channels_last")
CHAIN = " >> bias(b) >> relu() >> add(s)"


@dataclass(frozen=True)
class Conv:
    """One convolution; what torch and the language both take is in ``numbers``."""

    x: Shape
    w: Shape
    numbers: dict[str, Any]
    transposed: bool = False
    dtype: str = "f32"
    chain: str = ""
    knobs: str = ""
    view: str = ""

    @property
    def name(self) -> str:
        return f"conv{'_transpose' if self.transposed else ''}{len(self.x) - 2}d"

    def tensors(self) -> dict[str, torch.Tensor]:
        """x and w, and b and s for the chain, of numbers that any float type holds."""
        generator = torch.Generator().manual_seed(3)
        dtype = getattr(torch, DType(self.dtype).torch_name)
        made = {
            "x": torch.rand(self.x, generator=generator) - 0.5,
            "w": torch.rand(self.w, generator=generator) - 0.5,
        }
        shape = self.exact(made["x"].double(), made["w"].double()).shape
        made |= {"b": torch.rand(shape[1], generator=generator), "s": torch.rand(shape, generator=generator)}
        return {name: tensor.to(dtype) for name, tensor in made.items()}

    def exact(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        seen = VIEWS[self.view](x) if self.view else x
        result: torch.Tensor = getattr(torch.nn.functional, self.name)(seen, w, **self.numbers)
        return result


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    ".permute(0, 3, 1, 2)": lambda x: x.permute(0, 3, 1, 2),
    ".slice(3, 1, 8)": lambda x: x[..., 1:8],
}


def program(conv: Conv, tensors: dict[str, torch.Tensor]) -> CheckedProgram:
    types = {name: f"{conv.dtype}[{', '.join(map(str, tensor.shape))}]" for name, tensor in tensors.items()}
    words = {name: " ".join([name, conv.dtype, *map(str, tensor.shape)]) for name, tensor in tensors.items()}
    arguments = ", ".join(["x" + conv.view, "w", *(f"{name}={value}" for name, value in conv.numbers.items())])
    head = ", ".join(f"{name}: {text}" for name, text in types.items())
    text = f"program p({head}) -> {types['s']}\n  y = {conv.name}({arguments}){conv.knobs}{conv.chain}\n  return y"
    problem = signature(words["x"], "; ".join(words[name] for name in "wbs"), words["s"].replace("s ", "out ", 1))
    return checked(text, problem, Target.HOST, Policy.HALF, detect())


def run(runner: Runner, conv: Conv) -> tuple[torch.Tensor, torch.Tensor]:
    """What the code gives, and what is right."""
    tensors = conv.tensors()
    (stage,) = program(conv, tensors).stages
    stage = replace(stage, operands=(*stage.operands, *chain_values(stage.chain)))
    flat = runner.run(stage, {name: tensor.reshape(-1) for name, tensor in tensors.items()}).reshape(-1)
    wide = {name: tensor.double() for name, tensor in tensors.items()}
    exact = conv.exact(wide["x"], wide["w"])
    if conv.chain:
        exact = torch.relu(exact + wide["b"].reshape(-1, *(1,) * (exact.dim() - 2))) + wide["s"]
    return flat.as_strided(stage.result.shape, stage.result.strides), exact


def check(runner: Runner, conv: Conv) -> None:
    y, exact = run(runner, conv)
    size = exact.abs().max().item() + 1
    assert (y.double() - exact).abs().max().item() <= TOLERANCE[conv.dtype] * size, conv


def lanes(dtype: str = "f32") -> int:
    return detect().lanes // (2 if dtype == "f64" else 1)


def knobs(layout: str = "row_major", dtype: str = "f32", tile: str = "12, 4", rows: int = 3) -> str:
    return f".layout({layout}).tile({tile}).micro({rows}, {lanes(dtype)})"


# By name: dims, kernel, stride, whether transposed.
KINDS: dict[str, tuple[Shape, Shape, bool]] = {
    "1d": ((3,), (1,), False),
    "1d_strided": ((4,), (2,), False),
    "1d_transposed": ((3,), (2,), True),
    "2d": ((3, 3), (1, 1), False),
    "2d_asymmetric": ((2, 5), (3, 2), False),
    "2d_pixel": ((1, 1), (1, 1), False),
    "2d_transposed": ((3, 2), (1, 1), True),
    "2d_transposed_strided": ((2, 3), (3, 2), True),
    "2d_transposed_sparse": ((1, 2), (2, 3), True),
    "3d": ((2, 3, 2), (1, 2, 1), False),
    "3d_transposed": ((3, 2, 2), (2, 1, 2), True),
}


def drawn(kind: str, seed: int, layout: str) -> Conv:
    """A random convolution of a kind: sizes, groups, padding and dilation."""
    kernel, stride, transposed = KINDS[kind]
    draw = random.Random(f"{kind} {seed} {layout}")
    groups = draw.choice((1, 1, 2, 3))
    channels, filters = groups * draw.randint(1, 6), groups * draw.randint(1, 5)
    dilation = tuple(draw.choice((1, 1, 2)) for _ in kernel)
    reach = tuple(reached * (taps - 1) + 1 for reached, taps in zip(dilation, kernel, strict=True))
    padding = tuple(draw.randint(0, extent) for extent in reach)
    least = 2 * max(reach) if transposed else max(reach)
    extents = tuple(draw.randint(least, least + (30 if len(kernel) == 1 else 9)) for _ in kernel)
    numbers: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    if transposed:
        limits = zip(stride, dilation, strict=True)
        numbers["output_padding"] = tuple(draw.randint(0, max(pair) - 1) for pair in limits)
    w = (channels, filters // groups, *kernel) if transposed else (filters, channels // groups, *kernel)
    return Conv((draw.randint(1, 3), channels, *extents), w, numbers, transposed, chain=CHAIN, knobs=knobs(layout))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_convolutions_of_any_size_mean_what_torch_means(runner: Runner, kind: str, layout: str) -> None:
    for seed in range(8):
        check(runner, drawn(kind, seed, layout))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16"])
def test_every_float_type(runner: Runner, dtype: str, layout: str) -> None:
    plain = Conv((2, 5, 9, 11), (7, 5, 3, 3), {"padding": 1}, dtype=dtype, chain=CHAIN, knobs=knobs(layout, dtype))
    check(runner, plain)
    check(runner, replace(plain, w=(5, 4, 3, 3), numbers={"stride": 2}, transposed=True))


@pytest.mark.parametrize("numbers", [{"padding": 1}, {"padding": 1, "stride": 2}, {"padding": 2, "dilation": 2}])
def test_default_knobs_at_sizes_with_whole_vectors(runner: Runner, numbers: dict[str, int]) -> None:
    check(runner, Conv((2, 40, 33, 35), (48, 40, 3, 3), numbers, chain=CHAIN))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("filters", [1, 2])
def test_depthwise(runner: Runner, filters: int, layout: str) -> None:
    numbers = {"padding": 1, "groups": 6}
    check(runner, Conv((2, 6, 10, 21), (6 * filters, 1, 3, 3), numbers, chain=CHAIN, knobs=f".layout({layout})"))


@pytest.mark.filterwarnings("ignore:Using padding='same'")
def test_padding_same_of_an_even_kernel_pads_behind(runner: Runner) -> None:
    check(runner, Conv((1, 3, 9, 10), (4, 3, 4, 2), {"padding": "same"}, knobs=knobs()))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_views_are_read_where_they_lie(runner: Runner, view: str, layout: str) -> None:
    x = (2, 9, 10, 5) if "permute" in view else (2, 5, 9, 10)
    check(runner, Conv(x, (4, 5, 3, 3), {"padding": 1}, knobs=knobs(layout), view=view))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("transposed", [False, True])
def test_any_number_of_threads_gives_the_same_bits(runner: Runner, layout: str, transposed: bool) -> None:
    w = (6, 7, 3, 3) if transposed else (7, 6, 3, 3)
    conv = Conv((1, 6, 10, 11), w, {"stride": 2}, transposed, chain=CHAIN)
    alone, _ = run(runner, replace(conv, knobs=knobs(layout) + ".threads(1)"))
    for threads in (3, 16):
        several, _ = run(runner, replace(conv, knobs=f"{knobs(layout)}.threads({threads})"))
        assert torch.equal(several, alone)


@pytest.mark.parametrize("tile", ["1, 1", "5, 2", "12, 65536", "65536, 1"])
def test_blocks_of_any_size_give_the_same(runner: Runner, tile: str) -> None:
    check(runner, Conv((2, 5, 7, 11), (4, 5, 3, 3), {"padding": 1}, chain=CHAIN, knobs=knobs(tile=tile)))


def test_rounding_the_operands_is_what_math_says(runner: Runner) -> None:
    conv = Conv((1, 16, 8, 8), (8, 16, 3, 3), {}, knobs=knobs() + ".math(bf16)")
    y, exact = run(runner, conv)
    tensors = conv.tensors()
    rounded = conv.exact(tensors["x"].bfloat16().double(), tensors["w"].bfloat16().double())
    assert (y.double() - rounded).abs().max().item() < 1e-5
    assert (y.double() - exact).abs().max().item() > 1e-4


def test_a_chain_may_read_along_the_width_alone(runner: Runner) -> None:
    conv = Conv(
        (2, 3, 6, 9), (4, 3, 3, 3), {}, knobs=knobs(), chain=" >> mul(b.slice(0, 0, 1)) >> add(s.slice(0, 0, 1))"
    )
    tensors = conv.tensors()
    (stage,) = program(conv, tensors).stages
    stage = replace(stage, operands=(*stage.operands, *chain_values(stage.chain)))
    y = runner.run(stage, {name: tensor.reshape(-1) for name, tensor in tensors.items()})
    exact = conv.exact(tensors["x"], tensors["w"]) * tensors["b"][:1] + tensors["s"][:1]
    torch.testing.assert_close(y, exact, rtol=1e-5, atol=1e-5)


def test_units_do_not_depend_on_sizes() -> None:
    small = Conv((2, 4, 9, 9), (5, 4, 3, 3), {"padding": 1}, chain=CHAIN, knobs=knobs())
    large = replace(small, x=(3, 8, 20, 31), w=(6, 8, 3, 3), numbers={"padding": 2})
    first, second = (emit(program(conv, conv.tensors())).units[0] for conv in (small, large))
    assert first.symbol == second.symbol


def test_a_convolution_with_a_chain(golden: Callable[[str], None]) -> None:
    conv = Conv(
        (2, 8, 12, 13), (16, 4, 3, 5), {"padding": (1, 2), "groups": 2}, chain=CHAIN, knobs=knobs_of_golden()
    )
    golden(emit(program(conv, conv.tensors())).units[0].source)


def test_a_transposed_convolution_in_one_dimension(golden: Callable[[str], None]) -> None:
    chosen = ".tile(256, 32).micro(4, 64).layout(channels_last)"
    conv = Conv((2, 8, 12), (8, 4, 3), {"stride": 2}, True, "f16", " >> bias(b) >> add(s)", chosen)
    golden(emit(program(conv, conv.tensors())).units[0].source)


def knobs_of_golden() -> str:
    """Knobs that are the same on every machine."""
    return ".tile(256, 32).micro(4, 64)"


@pytest.mark.parametrize("simd", [AVX512, AVX2])
@pytest.mark.parametrize("size", [(1, 3, 224), (64, 64, 56), (512, 512, 7), (96, 1, 14)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_default_register_tiles_fit(simd: Any, size: tuple[int, int, int], layout: str) -> None:
    filters, channels, side = size
    text = (
        f"program p(x: f32[2, {channels}, {side}, {side}], w: f32[{filters}, {channels}, 3, 3]) -> "
        f"f32[2, {filters}, {side}, {side}]\n  y = conv2d(x, w, padding=1).layout({layout})\n  return y"
    )
    problem = signature(
        f"x f32 2 {channels} {side} {side}",
        f"w f32 {filters} {channels} 3 3",
        f"out f32 2 {filters} {side} {side}",
    )
    (stage,) = checked(text, problem, Target.HOST, Policy.HALF, simd).stages
    rows, columns = stage.knobs["micro"]
    assert columns % simd.lanes == 0
    vectors = columns // simd.lanes
    assert rows * vectors + vectors + 1 <= simd.registers
    assert stage.knobs["tile"][1] <= channels
