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


def test_on_the_host_a_convolution_has_blocks_and_register_tiles_to_turn() -> None:
    made = legal(
        scene(f"{HEAD}  y = conv2d(x, w, padding=1) >> relu()\n  return y\n", Target.HOST, Policy.STRICT, CONV)
    )
    assert {"tile", "micro", "threads"} <= {family_of(change) for change in made}
    assert "y.tile(1024, 64)" in made


def test_a_plain_convolution_of_a_card_has_other_tiles_and_one_of_each_channel_none() -> None:
    made = legal(scene(f"{HEAD}  y = conv2d(x, w, padding=1)\n  return y\n", Target.SM80, Policy.STRICT, CONV))
    assert "y.tile(64, 64, 16)" in made or "y.tile(128, 64, 8)" in made
    depthwise = Signature(CONV.inputs, (TensorSpec("w", DType.F32, (64, 1, 3, 3)),), CONV.outputs, {})
    head = "program p(x: f32[N, C, H, W], w: f32[C, 1, 3, 3]) -> f32[N, C, H, W]\n"
    text = f"{head}  y = conv2d(x, w, padding=1, groups=C)\n  return y\n"
    assert "tile" not in {family_of(change) for change in legal(scene(text, Target.SM80, Policy.STRICT, depthwise))}
