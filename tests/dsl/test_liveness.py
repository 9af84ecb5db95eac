from __future__ import annotations

import pytest

from tests.dsl.programs import cautions, checked, refusals


def test_work_on_parameters_may_be_done_once() -> None:
    body = "  v = cast(w, f32) @once\n  u = map(v.T * b.unsqueeze(0)) @once\n  y = gemm(x, u)\n  return y"
    assert [stage.once for stage in checked(body).stages] == [True, True, False]


@pytest.mark.parametrize(
    "body",
    [
        "  t = x.T\n  v = map(t * 2) @once\n",
        "  v = map(x * 2)\n  u = map(v + 1) @once\n",
        "  v = gemm(w.slice(0, 0, 512), w.T) >> add(b) >> mul(x.select(1, 0).unsqueeze(1)) @once\n",
        "  r = torch.max(x, 1) -> f32[M], i64[M]\n  v = map(r.0 * 2) @once\n",
        "  v = torch.relu(x) @once\n",
    ],
)
def test_work_that_depends_on_an_input_by_any_way_may_not(body: str) -> None:
    errors = refusals(body + "  y = gemm(x, w.T)\n  return y")
    assert [error.rule for error in errors] == ["once"]
    assert errors[0].found == "x"


def test_stages_that_no_output_needs_are_cautions() -> None:
    body = "  a = map(x * 2)\n  c = map(a + 1)\n  y = gemm(x, w.T)\n  d = y.T\n  return d.T"
    program = checked(body)
    assert cautions(program) == ["unused-stage", "unused-stage"]
    assert {caution.span.line for caution in program.warnings} == {2, 3}


def test_stages_that_a_chain_needs_are_needed() -> None:
    assert cautions(checked("  c = map(b + 1)\n  y = gemm(x, w.T) >> bias(c)\n  return y")) == []
