"""The problem's own code under guard, in this process."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch

from kernels.harness.arena import same_bits
from kernels.harness.changes import Change
from kernels.harness.evaluation import Outcome
from kernels.harness.module_runner import flatten, interleave
from kernels.harness.reference import Guard, ProblemFailed, Reference
from tests.harness.conftest import MakeRequest
from tests.harness.local import guard, write
from tests.harness.programs import COLUMNS, PROBLEM


@pytest.mark.parametrize(
    ("line", "outcome", "said"),
    [
        ("1 / 0", Outcome.PROBLEM_ERROR, "loading the problem file raised ZeroDivisionError"),
        ("raise SystemExit(4)", Outcome.PROBLEM_ERROR, "SystemExit: 4"),
        ("torch.ones(1 << 50)", Outcome.OUT_OF_MEMORY, "the problem's own code"),
        ("raise MemoryError", Outcome.OUT_OF_MEMORY, "the problem's own code"),
        ("def get_inputs(): return []", Outcome.PROBLEM_ERROR, "0 inputs where its inspection says 1"),
        ("def get_inputs(): raise KeyError(7)", Outcome.PROBLEM_ERROR, "get_inputs raised KeyError"),
    ],
)
def test_whatever_a_problem_raises_is_its_own_outcome(
    make_request: MakeRequest, tmp_path: Path, line: str, outcome: Outcome, said: str
) -> None:
    request = make_request(problem_path=write(tmp_path, "bad.py", f"{PROBLEM}\n{line}\n"))

    def use() -> None:
        with guard() as watching:
            Reference(request, watching, "cpu").inputs()

    with pytest.raises(ProblemFailed) as failed:
        use()
    assert failed.value.outcome is outcome
    assert said in failed.value.detail


def test_each_step_is_announced_before_and_after() -> None:
    descriptor = os.memfd_create("steps")
    try:
        with Guard(descriptor, 5).step("forward"):
            pass
        lines = os.pread(descriptor, 1000, 0).splitlines()
    finally:
        os.close(descriptor)
    assert [json.loads(line)["step"] for line in lines] == ["forward", ""]


def test_inputs_are_fresh_each_time_and_changed_as_asked(make_request: MakeRequest) -> None:
    with guard() as watching:
        reference = Reference(make_request(), watching, "cpu")
        first, second = reference.inputs()[0], reference.inputs()[0]
        scaled, shifted = reference.inputs(Change.SCALED)[0], reference.inputs(Change.SHIFTED)[0]
    assert not torch.equal(first, second)
    assert 5 < float(scaled.std()) < 20
    assert 4.5 < float(shifted.mean()) < 5.5


def test_weights_differ_between_evaluations_and_expected_outputs_follow_them(make_request: MakeRequest) -> None:
    with guard() as watching:
        one, two = (Reference(make_request(), watching, "cpu") for _ in range(2))
        inputs = one.inputs()
        expected = one.expect(inputs)
    assert not torch.equal(one.parameters["bias"], two.parameters["bias"])
    assert expected.exact[0].dtype == torch.float64
    assert torch.equal(expected.own[0], torch.relu(inputs[0] + one.parameters["bias"]))
    assert expected.exact_note == ""


COUNTING = PROBLEM.replace(
    "return torch.relu", "self.seen += 1\n        x.mul_(self.seen)\n        return torch.relu"
)
COUNTING = COUNTING.replace("def forward", '    self.register_buffer("seen", torch.zeros(()))\n\n    def forward')


def test_a_forward_that_changes_its_buffers_or_inputs_changes_no_later_one(
    make_request: MakeRequest, tmp_path: Path
) -> None:
    request = make_request(problem_path=write(tmp_path, "counting.py", COUNTING))
    with guard() as watching:
        reference = Reference(request, watching, "cpu")
        inputs = reference.inputs()
        kept = inputs[0].clone()
        first, second = reference.expect(inputs), reference.expect(inputs)
    assert same_bits(inputs[0], kept)
    assert same_bits(first.own[0], second.own[0])
    assert first.own[0].shape[1] == COLUMNS


def test_constants_go_to_their_positions_and_results_come_out_flat() -> None:
    a, b = torch.zeros(1), torch.ones(1)
    assert interleave([a, b], {1: 7, 3: "s"}) == [a, 7, b, "s"]
    assert [int(tensor) for tensor in flatten((a, [b, (a,)]))] == [0, 1, 0]
