"""What the search turns on an Ampere card."""

from __future__ import annotations

from agent.proposers.moves import all_moves
from agent.proposers.moves.sm80_product import Tiling
from kernels.dsl import check, parse
from kernels.dsl.simd import AVX512
from kernels.targets import Policy, Target
from tests.agent.test_moves import HEAD, LARGE, PROGRAMS, families, legal, scene
from tests.agent.test_moves import _assert_well_formed as assert_well_formed

SM80 = Target.SM80


def knobs(text: str) -> dict[str, object]:
    """Of the program's last stage."""
    return check(parse(text), LARGE, SM80, Policy.TF32, AVX512).stages[-1].knobs


def test_the_card_has_its_families() -> None:
    made = legal(scene(HEAD + PROGRAMS["chain"], SM80, Policy.HALF, LARGE))
    wanted = {"tile", "warps", "stages", "schedule", "swizzle", "math", "split", "cast"}
    assert families(made) >= wanted
    assert not families(made) & {"cluster", "raster", "micro"}


def test_every_move_is_well_formed() -> None:
    for text in PROGRAMS.values():
        for move in all_moves(scene(HEAD + text, SM80, Policy.HALF, LARGE)):
            assert_well_formed(move)


def test_stages_that_need_the_larger_shared_memory_ask_for_it() -> None:
    body = "  out = gemm(x, weight.T).tile(128, 256, 16)\n  return out\n"
    made = legal(scene(HEAD + body, SM80, Policy.TF32, LARGE))
    assert knobs(made["out.stages(3)"])["shared"] == 99
    assert knobs(made["out.stages(6).shared(163)"])["shared"] == 163
    assert "out.stages(2)" not in made


def test_a_product_of_a_batch_is_not_divided() -> None:
    body = "  y = bmm(x.unsqueeze(0), weight.T.unsqueeze(0))\n  out = map(y.squeeze(0))\n  return out\n"
    made = legal(scene(HEAD + body, SM80, Policy.TF32, LARGE))
    assert not families(made) & {"split", "schedule"}


def test_few_tiles_speak_for_a_split() -> None:
    few = Tiling(m=256, n=256, k=8192, batch=1, tile=(128, 128, 32), warps=(2, 2), split=1, streams=False)
    many = Tiling(m=8192, n=8192, k=8192, batch=1, tile=(128, 128, 32), warps=(2, 2), split=1, streams=False)
    assert few.better(split=8)[0] > 1.5
    assert many.better(split=8)[0] < 1
    assert "4 blocks are 1 waves on 108 SMs" in few.better(split=8)[1]


def test_a_split_product_may_be_lowered() -> None:
    body = "  out = gemm(x, weight.T).math(tf32x3)\n  return out\n"
    made = legal(scene(HEAD + body, SM80, Policy.HALF, LARGE))
    assert {"out.math(tf32)", "out.math(f16)", "out.math(bf16)"} <= set(made)
