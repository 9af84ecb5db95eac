from __future__ import annotations

import numpy as np
import pytest

from agent.proposers.moves import FAMILIES, all_moves
from agent.proposers.moves.move import Move, Scene, family_of, size
from agent.proposers.normal import normal_text
from agent.steps import Started
from kernels.dsl import ProgramErrors, check, format_program, parse
from kernels.dsl.simd import AVX512
from kernels.dtypes import DType
from kernels.problems.inspection import Signature, TensorSpec
from kernels.targets import Policy, Target
from tests.agent.driving import started
from tests.agent.evaluating import evaluate

HEAD = "program p(x: f32[M, K], weight: f32[N, K], bias: f32[N]) -> f32[M, N]\n"
PROGRAMS = {
    "maps": "  y = gemm(x, weight.T)\n  z = map(y + bias)\n  out = map(relu(z))\n  return out\n",
    "chain": "  out = gemm(x, weight.T) >> bias(bias) >> relu() >> mul(2)\n  return out\n",
    "parameter_work": "  w = cast(weight, f32)\n  v = map(w * 2)\n  out = gemm(x, v.T)\n  return out\n",
    "used_twice": "  y = gemm(x, weight.T)\n  z = map(tanh(y))\n  out = map(y + z)\n  return out\n",
    "inner": "  y = gemm(x, weight.T)\n  out = map(2 - relu(bias - y) / 3) >> tanh()\n  return out\n",
    "twice_inside": "  y = gemm(x, weight.T)\n  out = map(y * tanh(y))\n  return out\n",
    "late_operand": "  y = gemm(x, weight.T)\n  t = map(bias * 3)\n  out = map(y - t)\n  return out\n",
    "view_between": "  y = gemm(weight, x.T)\n  out = map(y.T + bias)\n  return out\n",
}


def spec(name: str, *shape: int) -> TensorSpec:
    return TensorSpec(name, DType.F32, shape)


SMALL = Signature((spec("x", 24, 40),), (spec("weight", 32, 40), spec("bias", 32)), (spec("y", 24, 32),), {})
LARGE = Signature(
    (spec("x", 4096, 4096),), (spec("weight", 4096, 4096), spec("bias", 4096)), (spec("y", 4096, 4096),), {}
)


def scene(
    text: str, target: Target = Target.HOST, policy: Policy = Policy.STRICT, signature: Signature = SMALL
) -> Scene:
    begin = started(seed_program=text, target=target, policy=policy, signature=signature)
    return Scene(begin, check(parse(text), signature, target, policy, AVX512), AVX512)


def legal(here: Scene) -> dict[str, str]:
    """Each legal move's change with the program that it makes."""
    made = {}
    for move in all_moves(here):
        text = format_program(move.edit(here.program))
        try:
            check(parse(text), here.started.signature, here.started.target, here.started.policy, AVX512)
        except ProgramErrors:
            continue
        made[move.change] = text
    return made


def body(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()[1:-1]]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("policy", [Policy.STRICT, Policy.HALF])
def test_every_legal_move_keeps_what_the_program_computes(name: str, policy: Policy) -> None:
    here = scene(HEAD + PROGRAMS[name], policy=policy)
    (expected,) = evaluate(here.checked)
    made = legal(here)
    assert made
    for change, text in made.items():
        again = check(parse(text), SMALL, Target.HOST, policy, AVX512)
        (seen,) = evaluate(again)
        tolerance = 5e-2 if policy is Policy.HALF else 1e-12
        np.testing.assert_allclose(seen, expected, rtol=tolerance, atol=tolerance, err_msg=change)


@pytest.mark.parametrize(
    ("name", "change", "lines"),
    [
        ("maps", "fuse z into y", ["z = gemm(x, weight.T) >> add(bias)", "out = map(relu(z))"]),
        ("maps", "fuse out into z", ["y = gemm(x, weight.T)", "out = map(y + bias) >> relu()"]),
        ("inner", "fuse out into y",
         ["out = gemm(x, weight.T) >> rsub(bias) >> relu() >> div(3) >> rsub(2) >> tanh()"]),
        ("twice_inside", "fuse out into y", ["out = gemm(x, weight.T) >> expr(acc * tanh(acc))"]),
        ("late_operand", "fuse out into y", ["t = map(bias * 3)", "out = gemm(x, weight.T) >> sub(t)"]),
        ("chain", "split out before bias(bias) >> relu() >> mul(2)",
         ["out_head = gemm(x, weight.T)", "out = map(out_head) >> bias(bias) >> relu() >> mul(2)"]),
        ("chain", "split out before mul(2)",
         ["out_head = gemm(x, weight.T) >> bias(bias) >> relu()", "out = map(out_head) >> mul(2)"]),
        ("chain", "relayout weight.T @once for out",
         ["weight_T_laid = map(weight.T) @once", "out = gemm(x, weight_T_laid) >> bias(bias) >> relu() >> mul(2)"]),
        ("parameter_work", "once w", ["w = cast(weight, f32) @once", "v = map(w * 2)", "out = gemm(x, v.T)"]),
    ],
)  # fmt: skip
def test_structural_moves_say_and_do_the_same(name: str, change: str, lines: list[str]) -> None:
    assert body(legal(scene(HEAD + PROGRAMS[name]))[change]) == lines


@pytest.mark.parametrize("name", ["used_twice", "view_between"])
def test_a_result_that_is_read_elsewhere_or_as_a_view_is_not_fused(name: str) -> None:
    assert not any(change.endswith("into y") for change in legal(scene(HEAD + PROGRAMS[name])))


def test_a_cast_joins_the_product_in_front_as_its_type() -> None:
    text = HEAD.replace("-> f32", "-> f16") + "  y = gemm(x, weight.T)\n  out = cast(y, f16)\n  return out\n"
    signature = Signature(SMALL.inputs, SMALL.parameters, (TensorSpec("y", DType.F16, (24, 32)),), {})
    made = legal(scene(text, policy=Policy.HALF, signature=signature))
    assert body(made["fuse out into y"]) == ["out = gemm(x, weight.T).out(f16)"]


@pytest.mark.parametrize("policy", [Policy.STRICT, Policy.TF32])
def test_no_move_goes_below_the_policy(policy: Policy) -> None:
    for name, text in PROGRAMS.items():
        made = legal(scene(HEAD + text, policy=policy))
        assert made, name
        assert not any("f16" in program for program in made.values())


def test_half_precision_casts_parameters_once_and_inputs_each_time() -> None:
    made = legal(scene(HEAD + PROGRAMS["chain"], policy=Policy.HALF))
    assert body(made["cast operands of out to f16"]) == [
        "x_f16 = cast(x, f16)",
        "weight_f16 = cast(weight, f16) @once",
        "out = gemm(x_f16, weight_f16.T).out(f32) >> bias(bias) >> relu() >> mul(2)",
    ]


def families(made: dict[str, str]) -> set[str]:
    return {family_of(change) for change in made}


def test_the_host_has_its_families() -> None:
    made = legal(scene(HEAD + PROGRAMS["maps"]))
    assert families(made) >= {"tile", "micro", "stages", "threads", "vector", "fuse", "relayout"}


def test_the_card_has_its_families() -> None:
    here = scene(HEAD + PROGRAMS["chain"], Target.SM90A, Policy.HALF, LARGE)
    wanted = {"tile", "cluster", "schedule", "stages", "swizzle", "raster", "math", "split", "cast"}
    assert families(legal(here)) >= wanted


def test_a_small_k_is_not_split() -> None:
    assert not any(change.startswith("y.split") for change in legal(scene(HEAD + PROGRAMS["maps"])))
    wide = legal(scene(HEAD + PROGRAMS["maps"], signature=started().signature))
    assert "y.split(2)" in wide


def test_every_move_has_risks_of_at_least_one_a_gain_and_a_sentence() -> None:
    for target in (Target.HOST, Target.SM90A):
        for text in PROGRAMS.values():
            for move in all_moves(scene(HEAD + text, target, Policy.HALF, LARGE)):
                _assert_well_formed(move)


def _assert_well_formed(move: Move) -> None:
    assert move.implementation_risk >= 1
    assert move.performance_risk >= 1
    assert 0.2 < move.gain <= 20
    assert any(character.isdigit() for character in move.hypothesis)
    assert move.hypothesis.endswith(".")


def test_moves_come_in_a_fixed_order() -> None:
    here = scene(HEAD + PROGRAMS["maps"])
    assert [move.change for move in all_moves(here)] == [move.change for move in all_moves(here)]
    assert len({move.change for move in all_moves(here)}) == len([*all_moves(here)])
    assert len(FAMILIES) == len(set(FAMILIES))


def test_the_family_is_the_knob_or_the_first_word() -> None:
    assert family_of("layers.0.y.tile(96, 512, 256)") == "tile"
    assert family_of("y.micro(12, 32).tile(96, 512, 256)") == "micro"
    assert family_of("fuse y into h") == "fuse"
    assert family_of("split y before bias(b) >> relu()") == "split"


def test_bytes_are_told_in_units() -> None:
    assert [size(count) for count in (80, 2048, 512 * 1024, 3 * 2**20)] == ["80 B", "2 KiB", "512 KiB", "3 MiB"]


def begin(text: str) -> Started:
    return started(seed_program=text, signature=SMALL)


def test_the_normal_text_forgets_order_and_defaults() -> None:
    knobs = check(parse(HEAD + PROGRAMS["maps"]), SMALL, Target.HOST, Policy.STRICT).stages[0].knobs
    tile = ", ".join(map(str, knobs["tile"]))
    written = PROGRAMS["maps"].replace("weight.T)", f"weight.T).tile({tile}).threads(1).stages(2)")
    other = PROGRAMS["maps"].replace("weight.T)", "weight.T).stages(2).split(1).threads(1)")
    normal = normal_text(begin(""), parse(HEAD + written))
    assert normal == normal_text(begin(""), parse(HEAD + other))
    assert "tile" not in normal
    assert ".threads(1)" in normal


def test_the_normal_text_of_an_illegal_program_is_refused() -> None:
    with pytest.raises(ProgramErrors):
        normal_text(begin(""), parse(HEAD + "  y = gemm(x, nothing)\n  return y\n"))
