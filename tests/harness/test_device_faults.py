"""Faults that end a card's context, without a card: what the process that meets one says, and what that ends in."""

from __future__ import annotations

import pytest

from kernels.harness import evaluate
from kernels.harness.errors import DeviceFault
from kernels.harness.evaluation import EAGER, ModuleCandidate, Outcome
from kernels.harness.session import failure
from tests.harness.conftest import MakeRequest
from tests.harness.local import local
from tests.harness.modules import with_forward

FAULTY = """global calls; calls += 1
if calls > {most}: raise RuntimeError("CUDA error: an illegal memory access was encountered")
return (x + self.bias).clamp_min(0)"""


@pytest.mark.parametrize("most", [0, 20, 60], ids=["first call", "timed calls", "after them"])
def test_a_fault_that_ends_a_cards_context_is_a_crash_whenever_it_shows_and_costs_one_child(
    make_request: MakeRequest, most: int
) -> None:
    """A stand-in on the host: what such a fault looks like to a child is an exception with these words."""
    source = with_forward(FAULTY.format(most=most), "calls = 0")
    evaluation = evaluate(make_request(candidate=ModuleCandidate(source)))
    assert evaluation.outcome is Outcome.CRASH, evaluation.detail
    assert "broke the card's context" in evaluation.detail
    assert "illegal memory access" in evaluation.detail
    assert evaluation.candidate is None, "no time of a candidate that crashed, however late"
    assert evaluation.speedup(EAGER) is None
    assert evaluate(make_request("bias_relu")).outcome is Outcome.PASSED, "nothing of it is left"


@pytest.mark.parametrize("do", ["verify", "finish"])
def test_a_fault_that_only_a_wait_for_the_card_shows_is_told_as_one(
    make_request: MakeRequest, monkeypatch: pytest.MonkeyPatch, do: str
) -> None:
    def wait() -> None:
        raise RuntimeError("CUDA error: misaligned address")

    with local(make_request("bias_relu")) as here:
        monkeypatch.setattr(here.subject.session.device, "synchronize", wait)
        with pytest.raises(RuntimeError) as raised:
            here.subject.ask({"do": do, "pair": [0, 0]})
    said = failure(raised.value)
    assert said["error"] == DeviceFault.slug()
    assert "misaligned address" in said["detail"]
