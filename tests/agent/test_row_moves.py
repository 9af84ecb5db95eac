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
