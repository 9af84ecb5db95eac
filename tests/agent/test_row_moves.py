"""Moves on row stages: they exist on both targets, and the checker takes them."""

from __future__ import annotations

import pytest

from agent.proposers.moves.move import family_of
from kernels.dtypes import DType
from kernels.problems.inspection import Signature, TensorSpec
from kernels.targets import Target
from tests.agent.test_moves import legal, scene

ROWS = Signature((TensorSpec("x", DType.F32, (512, 1024)),), (), (TensorSpec("y", DType.F32, (512, 1024)),), {})
PROGRAM = "program p(x: f32[M, K]) -> f32[M, K]\n  y = softmax(x)\n  return y\n"


@pytest.mark.parametrize("target", [Target.HOST, Target.SM90A])
def test_row_stages_have_moves_that_are_legal(target: Target) -> None:
    made = legal(scene(PROGRAM, signature=ROWS, target=target))
    assert {"vector", "threads"} <= {family_of(change) for change in made}
    assert "y.vector(2)" in made


def test_a_row_gets_no_more_threads_of_a_card_than_it_has_elements() -> None:
    short = Signature((TensorSpec("x", DType.F32, (512, 64)),), (), (TensorSpec("y", DType.F32, (512, 64)),), {})
    made = legal(scene(PROGRAM, signature=short, target=Target.SM90A))
    assert "y.threads(64)" in made
    assert "y.threads(128)" not in made


LOSS = Signature(
    (TensorSpec("p", DType.F32, (512, 1024)), TensorSpec("t", DType.F32, (512, 1024))),
    (),
    (TensorSpec("y", DType.F32, (512,)),),
    {},
)
HEAD = "program p(p: f32[M, K], t: f32[M, K]) -> f32[M]\n"


@pytest.mark.parametrize("target", [Target.HOST, Target.SM90A])
def test_a_map_goes_into_the_row_stage_that_alone_reads_it_and_out_again(target: Target) -> None:
    apart = f"{HEAD}  e = map(p - t)\n  y = reduce(e * e, mean)\n  return y\n"
    joined = legal(scene(apart, signature=LOSS, target=target))["inline e in y"]
    assert "reduce((p - t) * (p - t), mean)" in joined
    assert "map(" not in joined
    parted = legal(scene(joined, signature=LOSS, target=target))["outline (p - t) * (p - t) of y"]
    assert "y_rows = map((p - t) * (p - t))" in parted
    assert "y = reduce(y_rows, mean)" in parted


@pytest.mark.parametrize(
    "body",
    [
        "e = map(p - t)\n  y = reduce(e, mean) >> add(e.select(1, 0))",
        "e = map(p - t) >> abs()\n  y = reduce(e, mean)",
        "e = map(p.T - t.T)\n  y = reduce(e, mean, dim=0)",
    ],
)
def test_what_others_read_has_a_chain_or_no_rows_to_follow_stays(body: str) -> None:
    made = legal(scene(f"{HEAD}  {body}\n  return y\n", signature=LOSS, target=Target.HOST))
    assert "inline" not in {family_of(change) for change in made}
