"""The decision on unseen inputs, with a scripted child: nothing here measures."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from kernels.dtypes import DType
from kernels.harness.evaluation import Check, EvaluationRequest
from kernels.harness.unseen import unseen_check
from kernels.problems.inspection import TensorSpec
from tests.harness.conftest import MakeRequest
from tests.harness.programs import SIGNATURE


class Scripted:
    """Answers a call with the next of ``first`` seconds where its contents are new, with ``again`` where they are not.

    The last of either is given over and over.
    """

    def __init__(self, first: list[float], again: list[float]) -> None:
        self.arena = SimpleNamespace(inputs=[[torch.zeros(64, 96)], []])
        self.layout = SimpleNamespace(warmup_slot=9)
        self.script = {True: first, False: again}
        self.calls = {True: 0, False: 0}
        self.known: set[float] = set()
        self.pairs: list[Any] = []

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["do"] == "fetch":
            return {}
        self.pairs.append(message["pairs"])
        contents = float(self.arena.inputs[0][0].sum())
        new = contents not in self.known
        self.known.add(contents)
        seconds = self.script[new][min(self.calls[new], len(self.script[new]) - 1)]
        self.calls[new] += 1
        return {"samples": [int(value * 1e9) for value in [1.0] * (len(message["pairs"]) - 1) + [seconds]]}


def decide(request: EvaluationRequest, child: Any, estimate_s: float = 1e-3, making_s: float = 0.0) -> Check:
    reference: Any = SimpleNamespace(inputs=lambda: [torch.randn(64, 96)], making_s=making_s)
    return unseen_check(request, reference, child, estimate_s)


def test_calls_on_new_contents_may_take_as_long_as_repeated_ones(make_request: MakeRequest) -> None:
    child = Scripted([1.2e-3], [1e-3])
    assert decide(make_request(), child).passed
    assert child.calls == {True: 5, False: 5}


def test_inputs_that_take_long_to_make_are_made_as_seldom_as_will_do(make_request: MakeRequest) -> None:
    child = Scripted([1.2e-3], [1e-3])
    assert decide(make_request(), child, making_s=0.6).passed
    assert child.calls == {True: 2, False: 2}


def test_only_repeated_contents_answered_fast_fail_after_one_more_try(make_request: MakeRequest) -> None:
    child = Scripted([5e-3], [1e-3])
    check = decide(make_request(), child)
    assert check.failed
    assert check.seen == 5e-3
    assert child.calls == {True: 15, False: 15}


def test_one_quick_call_on_new_contents_proves_that_it_can(make_request: MakeRequest) -> None:
    assert decide(make_request(), Scripted([9e-3] * 6 + [1e-3], [1e-3])).passed


def test_where_few_repeated_calls_are_quick_a_busy_machine_is_to_blame(make_request: MakeRequest) -> None:
    check = decide(make_request(), Scripted([9e-3], [1e-3] * 9 + [9e-3]))
    assert not check.done
    assert "9 were quick" in check.note
    assert decide(make_request(), Scripted([9e-3], [1e-3] * 10 + [9e-3])).failed


@pytest.mark.parametrize(("estimate_s", "calls"), [(1e-3, 3), (0.05, 3), (0.3, 1)])
def test_slow_calls_are_not_made_on_the_other_set(make_request: MakeRequest, estimate_s: float, calls: int) -> None:
    child = Scripted([estimate_s], [estimate_s])
    assert decide(make_request(), child, estimate_s).passed
    assert {len(given) for given in child.pairs} == {calls}
    assert {given[-1][0] for given in child.pairs} == {0}


def test_inputs_without_elements_to_vary_are_not_done(make_request: MakeRequest) -> None:
    scalar = replace(SIGNATURE, inputs=(TensorSpec("x", DType.F32, ()),))
    assert not decide(make_request(signature=scalar), Scripted([1.0], [1.0])).done
