"""Moves on convolutions of a card: those of the product that one is on the tensor cores, and those that lead there."""

from __future__ import annotations

from agent.proposers.moves.move import family_of
from kernels.dtypes import DType
from kernels.problems.inspection import Signature, TensorSpec
from kernels.targets import Policy, Target
from tests.agent.test_moves import legal, scene

SHAPE = (32, 64, 56, 56)
CONV = Signature(
    (TensorSpec("x", DType.F32, SHAPE),),
    (TensorSpec("w", DType.F32, (64, 64, 3, 3)),),
    (TensorSpec("y", DType.F32, SHAPE),),
    {},
)
HEAD = "program p(x: f32[N, C, H, W], w: f32[C, C, 3, 3]) -> f32[N, C, H, W]\n"
TURNED = "  t = relayout(x, channels_last)\n  v = relayout(w, channels_last) @once\n  y = conv2d(t, v, padding=1)\n"


def test_a_convolution_on_the_tensor_cores_has_a_products_moves() -> None:
    made = legal(scene(f"{HEAD}{TURNED}  return y\n", Target.SM90A, Policy.TF32, CONV))
    assert {"tile", "cluster", "schedule", "stages", "raster"} <= {family_of(change) for change in made}
    assert "y.tile(64, 128, 32)" in made


def test_one_on_the_cuda_cores_is_multiplied_in_half_precision_where_the_policy_allows() -> None:
    text = f"{HEAD}  y = conv2d(x, w, padding=1)\n  return y\n"
    assert "y.math(f16)" in legal(scene(text, Target.SM90A, Policy.HALF, CONV))
    assert "y.math(f16)" not in legal(scene(text, Target.SM90A, Policy.TF32, CONV))


def test_its_operands_are_turned_for_the_tensor_cores() -> None:
    text = f"{HEAD}  y = conv2d(x, w, padding=1).math(f32) >> relu()\n  return y\n"
    made = legal(scene(text, Target.SM90A, Policy.TF32, CONV))
    turned = made["relayout operands of y for the tensor cores"].splitlines()
    assert [line.strip() for line in turned[1:4]] == [
        "x_relayout = relayout(x, channels_last)",
        "w_relayout = relayout(w, channels_last) @once",
        "y = conv2d(x_relayout, w_relayout, padding=1) >> relu()",
    ]
    assert "relayout operands of y for the tensor cores" not in legal(
        scene(text, Target.SM90A, Policy.STRICT, CONV)
    )


def test_three_channels_are_padded_on_the_way() -> None:
    first = Signature(
        (TensorSpec("x", DType.F32, (8, 3, 56, 56)),),
        (TensorSpec("w", DType.F32, (64, 3, 3, 3)),),
        (TensorSpec("y", DType.F32, (8, 64, 54, 54)),),
        {},
    )
    head = "program p(x: f32[N, C, H, W], w: f32[K, C, 3, 3]) -> f32[N, K, 54, 54]\n"
    made = legal(scene(f"{head}  y = conv2d(x, w)\n  return y\n", Target.SM90A, Policy.TF32, first))
    turned = made["relayout operands of y for the tensor cores"]
    assert "x_pad = pad(x, [0, 0, 0, 0, 0, 1])" in turned
    assert "x_relayout = relayout(x_pad, channels_last)" in turned
