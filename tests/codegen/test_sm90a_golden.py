"""Whole units of the sm_90a target, as text; and the lines of the program that theirs came from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernels.codegen.emission import Unit
from kernels.codegen.sm90a import emit_stage
from kernels.dsl.check import check
from kernels.dsl.parser import parse
from kernels.dtypes import DType
from kernels.problems.inspection import Signature, TensorSpec
from kernels.targets import Policy, Target

LINEAR = """program gemm_add_relu(x: f32[M, K], gemm.weight: f32[N, K],
                      bias: f32[N]) -> f32[M, N]
  xh = cast(x, f16)
  wh = cast(gemm.weight, f16) @once
  y  = gemm(xh, wh.T)
         .acc(f32).out(f32)
         .tile(128, 256, 64).cluster(2, 1)
         .schedule(cooperative).stages(auto)
       >> bias(bias)
       >> relu()
  return y
"""
NORMALISE = """program normalise(x: f32[M, N], mean: f32[M, 1], scale: f32[N]) -> f16[M, N]
  z = map((x - mean) * scale).threads(128)
      >> silu()
      >> clamp(-1, 1)
  y = cast(z, f16).vector(4)
  return y
"""
ATTENTION = """program scores(q: bf16[B, M, K], k: bf16[B, N, K], mask: f32[1, M, N]) -> bf16[B, M, N]
  s = bmm(q, k.permute(0, 2, 1)).schedule(streamk).tile(128, 128, 64) >> scale(0.125) >> add(mask)
  return s
"""
PLAIN_TF32 = """program plain(a: f32[M, K], b: f32[K, N], bias: f32[N], res: f32[M, N]) -> f32[M, N]
  y = gemm(a, b).tile(128, 128, 32) >> bias(bias) >> add(res)
  return y
"""
REDUCED = """program energy(a: f32[B, M, K], b: f32[B, K, N], shift: f32[N]) -> f32[B, N]
  y = bmm(a, b).tile(64, 128, 32).schedule(pingpong) >> bias(shift)
       >> square() >> reduce(mean, dim=1)
  return y
"""
STRICT = """program strict(x: f32[M, K], w: f32[N, K], c: f32[M, 1]) -> f32[M, N]
  y = gemm(x, w.T).math(f32).tile(64, 64, 16) >> mul(c)
  return y
"""


def units(
    text: str, *shapes: tuple[int, ...], parameters: int = 0, policy: Policy = Policy.HALF
) -> dict[str, Unit]:
    """The units of a program by stage; the last ``parameters`` of its tensors are a model's, the others inputs."""
    program = parse(text)
    written = zip(program.parameters, shapes, strict=True)
    specs = [TensorSpec(each.name, DType(each.type.dtype), shape) for each, shape in written]
    bound: dict[int | str, int] = {}
    for each, shape in zip(program.parameters, shapes, strict=True):
        bound |= zip(each.type.shape, shape, strict=True)
    result = program.results[0]
    output = TensorSpec("y", DType(result.dtype), tuple(bound[extent] for extent in result.shape))
    first = len(specs) - parameters
    signature = Signature(tuple(specs[:first]), tuple(specs[first:]), (output,), {})
    checked = check(program, signature, Target.SM90A, policy)
    sources = {assign.target: assign for assign in checked.program.stages}
    return {stage.name: emit_stage(stage, sources.get(stage.name)).unit for stage in checked.stages}


@pytest.fixture
def linear() -> dict[str, Unit]:
    return units(LINEAR, (1024, 8192), (8192, 8192), (8192,), parameters=2)


def test_a_linear_layer(linear: dict[str, Unit], golden: Callable[[str], None]) -> None:
    golden(linear["y"].source)


def test_a_normalisation(golden: Callable[[str], None]) -> None:
    golden(units(NORMALISE, (512, 256), (512, 1), (256,))["z"].source)


def test_a_cast(golden: Callable[[str], None]) -> None:
    golden(units(NORMALISE, (512, 256), (512, 1), (256,))["y"].source)


def test_a_batched_product_with_streamk(golden: Callable[[str], None]) -> None:
    golden(units(ATTENTION, (8, 256, 64), (8, 512, 64), (1, 256, 512))["s"].source)


def test_a_transposed_product_with_a_bias_and_a_residual(golden: Callable[[str], None]) -> None:
    golden(units(PLAIN_TF32, (256, 64), (64, 512), (512,), (256, 512), policy=Policy.TF32)["y"].source)


def test_a_transposed_batch_reduced_over_its_rows(golden: Callable[[str], None]) -> None:
    golden(units(REDUCED, (5, 200, 64), (5, 64, 300), (300,), policy=Policy.TF32)["y"].source)


def test_a_strict_product(golden: Callable[[str], None]) -> None:
    golden(units(STRICT, (100, 70), (50, 70), (100, 1), policy=Policy.STRICT)["y"].source)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (5, "cutlass::half_t, cutlass::layout::ColumnMajor, 8,"),
        (6, "using Accumulator = float;"),
        (7, "using Tile = Shape<_128, _256, _64>;"),
        (7, "using Cluster = Shape<_2, _1, _1>;"),
        (8, "cutlass::gemm::KernelTmaWarpSpecializedCooperative>::CollectiveOp;"),
        (8, "cutlass::gemm::collective::StageCountAutoCarveout<"),
        (9, "using Bias0 = fusion::Sm90EVT<"),
        (10, "struct Relu1Of {"),
    ],
)
def test_knobs_operands_and_links_point_at_their_own_lines(
    linear: dict[str, Unit], line: int, expected: str
) -> None:
    unit = linear["y"]
    rows = unit.source.splitlines()
    assert any(expected in rows[link.cpp - 1] for link in unit.lines if link.mu == line)


def test_a_knob_left_out_points_nowhere_and_is_marked() -> None:
    text = LINEAR.replace(".cluster(2, 1)", "")
    unit = units(text, (1024, 8192), (8192, 8192), (8192,), parameters=2)["y"]
    row = next(at for at, code in enumerate(unit.source.splitlines(), start=1) if "using Cluster" in code)
    assert row not in {link.cpp for link in unit.lines}
    assert "(default)" in unit.source.splitlines()[row - 1]


def test_programs_that_differ_in_sizes_and_names_share_their_units(linear: dict[str, Unit]) -> None:
    other = LINEAR.replace("gemm.weight", "w").replace("xh", "half")
    again = units(other, (512, 4096), (1024, 4096), (1024,), parameters=2)
    assert again["y"].symbol == linear["y"].symbol
    assert again["xh" if "xh" in again else "half"].symbol == linear["xh"].symbol == linear["wh"].symbol
