"""Tricks of Python modules, each with the reason that it must end in; the honest module beside them passes."""

from __future__ import annotations

import pytest

from kernels.harness import evaluate
from kernels.harness.correctness import IncorrectReason
from kernels.harness.evaluation import Check, Evaluation, ModuleCandidate, Outcome
from tests.harness.conftest import MakeRequest
from tests.harness.modules import RIGHT, with_forward
from tests.harness.programs import COLUMNS, ROWS

ANSWER = "(x + self.bias).clamp_min(0)"

TRICKS = {
    "cache_by_object": (
        with_forward(f"if id(x) not in KEPT:\n    KEPT[id(x)] = {ANSWER}\nreturn KEPT[id(x)]", "KEPT = {}"),
        IncorrectReason.STALE,
    ),
    "cache_by_first_elements": (
        with_forward(
            f"key = tuple(x[0, :4].tolist())\nif key not in KEPT:\n    KEPT[key] = {ANSWER}\nreturn KEPT[key]",
            "KEPT = {}",
        ),
        IncorrectReason.STALE,
    ),
    "cache_by_shape": (
        with_forward(f"if x.shape not in KEPT:\n    KEPT[x.shape] = {ANSWER}\nreturn KEPT[x.shape]", "KEPT = {}"),
        IncorrectReason.STALE,
    ),
    "alters_its_inputs": (with_forward(f"y = {ANSWER}\nx[0, 0] = 0\nreturn y"), IncorrectReason.INPUTS_CHANGED),
    "its_weights_drift": (
        with_forward(f"y = {ANSWER}\nself.bias.data += 0.01\nreturn y"),
        IncorrectReason.NON_DETERMINISTIC,
    ),
    "fewer_rows": (with_forward(f"return {ANSWER}[:32]"), IncorrectReason.SHAPE),
    "fewer_rows_later": (
        with_forward(f"COUNT.append(1)\ny = {ANSWER}\nreturn y if len(COUNT) < 4 else y[:32]", "COUNT = []"),
        IncorrectReason.SHAPE,
    ),
    "half_precision": (with_forward(f"return {ANSWER}.half()"), IncorrectReason.DTYPE),
    "no_output": (with_forward("return []"), IncorrectReason.SHAPE),
    "a_list_of_one": (with_forward(f"return [{ANSWER}]"), IncorrectReason.OUTPUT_KIND),
    "lazy_subclass": (
        with_forward(f"return ({ANSWER}).as_subclass(Lazy)", "class Lazy(torch.Tensor):\n    pass"),
        IncorrectReason.OUTPUT_KIND,
    ),
    "memory_as_it_was": (
        with_forward("return torch.empty_like(x).fill_(float('nan'))"),
        IncorrectReason.NOT_FINITE,
    ),
    "ignores_its_input": (
        with_forward("return self.bias.clamp_min(0).expand(x.shape).contiguous()"),
        IncorrectReason.STALE,
    ),
    "strided_as_dense": (
        with_forward(f"x = torch.as_strided(x, x.shape, ({COLUMNS}, 1))\nreturn {ANSWER}"),
        IncorrectReason.STRIDES,
    ),
}

HONEST = {
    "honest": RIGHT,
    "copies_what_is_not_dense": with_forward(f"x = x.contiguous()\nreturn {ANSWER}"),
    "a_view_of_its_own_memory": with_forward(
        f"y = torch.cat([x, x])\ny = (y + self.bias).clamp_min(0)\nreturn y[{ROWS}:]"
    ),
}  # fmt: skip


def run(make_request: MakeRequest, source: str) -> Evaluation:
    return evaluate(make_request(candidate=ModuleCandidate(source)))


def check(evaluation: Evaluation, name: str) -> Check:
    return next(check for check in evaluation.checks if check.name == name)


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_ends_incorrect_with_its_reason(make_request: MakeRequest, trick: str) -> None:
    source, reason = TRICKS[trick]
    evaluation = run(make_request, source)
    assert evaluation.outcome is Outcome.INCORRECT, evaluation.detail
    assert evaluation.reason is reason, evaluation.detail


@pytest.mark.parametrize("module", HONEST)
def test_an_honest_module_passes_and_reads_strided_inputs_rightly(make_request: MakeRequest, module: str) -> None:
    evaluation = run(make_request, HONEST[module])
    assert evaluation.outcome is Outcome.PASSED, evaluation.detail
    strided = check(evaluation, "strided inputs")
    assert strided.done
    assert strided.seen == 1.0
    assert evaluation.rounds[-1].errors is not None


def test_a_module_that_refuses_strided_inputs_passes_with_that_check_not_done(make_request: MakeRequest) -> None:
    source = with_forward(
        f'if not x.is_contiguous():\n    raise ValueError("x must be contiguous")\nreturn {ANSWER}'
    )
    evaluation = run(make_request, source)
    assert evaluation.outcome is Outcome.PASSED, evaluation.detail
    strided = check(evaluation, "strided inputs")
    assert not strided.done
    assert not strided.passed
    assert "x must be contiguous" in strided.note


def test_a_launch_is_handed_dense_inputs_so_strided_ones_are_not_done(make_request: MakeRequest) -> None:
    evaluation = evaluate(make_request())
    assert evaluation.outcome is Outcome.PASSED, evaluation.detail
    strided = check(evaluation, "strided inputs")
    assert not strided.done
    assert not strided.passed
    assert "ABI" in strided.note
