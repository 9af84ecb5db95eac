"""The timing phase with the candidate's session in this process; nothing here asserts how fast anything is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from kernels.harness import timing
from kernels.harness.arena import INPUT_SETS
from kernels.harness.evaluation import EvaluationRequest, Limits, Outcome
from kernels.harness.failures import SubjectFailed
from kernels.harness.verification import fill, make_case
from tests.harness.conftest import MakeRequest
from tests.harness.local import local


def phase_of(request: EvaluationRequest, here: SimpleNamespace, subjects: list[timing.Timed]) -> timing.TimingPhase:
    plan = timing.Plan(request.repeats, request.warmup, request.tolerance, request.limits)
    return timing.TimingPhase(plan, subjects, lambda: make_case(here.reference))


def timed(request: EvaluationRequest) -> tuple[timing.TimingPhase, timing.Timed]:
    with local(request) as here:
        one = timing.Timed(here.subject, True, 1e-4)
        phase = phase_of(request, here, [one])
        phase.run()
        return phase, one


def test_every_timed_call_is_counted_and_its_output_compared(make_request: MakeRequest) -> None:
    phase, one = timed(make_request("bias_relu", repeats=23))
    assert len(one.samples) == 23
    assert phase.checked_calls == 23
    assert phase.sets >= 2
    assert phase.outputs_check().passed
    assert all(sample > 0 for sample in one.samples)


@pytest.mark.parametrize("symbol", ["once_right", "remembers", "wrong", "changes_input"])
def test_a_wrong_output_of_a_timed_call_fails(make_request: MakeRequest, symbol: str) -> None:
    phase, _ = timed(make_request(symbol, repeats=12))
    check = phase.outputs_check()
    assert not check.passed
    assert "timed call" in check.note


def test_calls_on_a_cpu_write_to_one_place_and_each_output_is_in_its_slot(make_request: MakeRequest) -> None:
    with local(make_request("bias_relu")) as here:
        cases = [make_case(here.reference) for _ in range(INPUT_SETS)]
        for chosen, case in enumerate(cases):
            fill(here.subject, chosen, case.inputs)
        here.subject.ask({"do": "block", "pairs": [[0, 0], [1, 1], [0, 2]]})
        addresses = {here.subject.session.binding([0, slot]).address("y") for slot in range(3)}
        outputs = [here.subject.arena.outputs[slot][0] for slot in range(3)]
        for chosen, seen in zip((0, 1, 0), outputs, strict=True):
            assert torch.allclose(seen, cases[chosen].expected.own[0])
    assert addresses.isdisjoint(seen.data_ptr() for seen in outputs)
    assert len(addresses) == 1


@pytest.mark.parametrize("how", ["block", "verify"])
def test_a_call_that_writes_nothing_leaves_no_answer_of_the_call_before(
    make_request: MakeRequest, how: str
) -> None:
    with local(make_request("nothing")) as here:
        case = make_case(here.reference)
        fill(here.subject, 0, case.inputs)
        for (tensor,) in here.subject.arena.outputs:
            tensor.copy_(case.expected.own[0])
        message = {"pairs": [[0, 0]]} if how == "block" else {"pair": [0, 0]}
        here.subject.ask({"do": how, **message})
        assert here.subject.arena.outputs[0][0].isnan().all()


def test_subjects_take_turns_on_the_same_inputs(make_request: MakeRequest) -> None:
    request = make_request("bias_relu", repeats=20)
    order: list[str] = []
    with local(request) as here, local(request) as there:
        subjects = []
        for name, subject in (("baseline", here.subject), ("candidate", there.subject)):
            subjects.append(timing.Timed(_Noting(name, subject, order), True, 1e-4))  # type: ignore[arg-type]
            for key, tensor in subject.arena.parameters.items():
                tensor.copy_(here.reference.parameters[key])
        phase = phase_of(request, here, subjects)
        phase.run()
        assert phase.outputs_check().passed
    assert order == ["baseline", "candidate"] * (len(order) // 2)
    assert len(order) >= 4


class _Noting:
    def __init__(self, name: str, subject: Any, order: list[str]) -> None:
        self._name, self._subject, self._order = name, subject, order

    def __getattr__(self, name: str) -> Any:
        return getattr(self._subject, name)

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["do"] == "block":
            self._order.append(self._name)
        answer: dict[str, Any] = self._subject.ask(message)
        return answer


def test_slow_calls_are_ended_by_time_and_not_before_ten() -> None:
    one = timing.Timed(None, True, 1.0)  # type: ignore[arg-type]
    one.samples, one.spent_s = [0.2] * 9, 1.8
    limits = Limits(seconds=60)
    assert not one.done(30, limits)
    one.samples.append(0.2)
    assert one.done(30, limits)
    one.samples, one.spent_s = [6.0] * 3, 18.0
    assert one.done(30, limits)


def test_the_clocks_agree_when_the_samples_fill_the_bracket_and_not_when_they_do_not() -> None:
    one = timing.Timed(None, True, 1e-3)  # type: ignore[arg-type]
    one.samples = [0.1] * 20
    one.gaps = [(1.02, 1.0), (1.9, 1.0), (1.01, 1.0)]
    assert timing.clock_check(one).passed, "one disturbed block of three is no disagreement"
    one.gaps = [(1.0, 0.1), (1.0, 0.1), (1.0, 0.9)]
    assert not timing.clock_check(one).passed
    one.gaps = [(1.0, 1.2)] * 3
    assert not timing.clock_check(one).passed, "samples cannot be longer than the bracket around them"


def test_work_that_the_events_do_not_see_fails_the_device_check() -> None:
    one = timing.Timed(None, True, 1e-3)  # type: ignore[arg-type]
    one.samples, one.hidden = [1e-3] * 5, [2e-5] * 5
    assert timing.events_check(one).passed
    one.hidden = [9e-4] * 5
    assert not timing.events_check(one).passed


@pytest.mark.parametrize("samples", [None, [1], [1, "2"], [1, -2], [1, 2.5]])
def test_a_child_that_sends_no_proper_samples_is_a_crash(samples: Any) -> None:
    with pytest.raises(SubjectFailed) as failed:
        timing.numbers({"samples": samples}, "samples", 2)
    assert failed.value.outcome is Outcome.CRASH


def test_quartiles_are_the_inclusive_ones() -> None:
    one = timing.Timed(None, True, 1e-3)  # type: ignore[arg-type]
    one.samples = [5.0, 1.0, 2.0, 4.0, 3.0]
    record = timing.timing_of("candidate", one, "by hand")
    assert (record.minimum_s, record.q1_s, record.median_s, record.q3_s) == (1.0, 2.0, 3.0, 4.0)
    assert record.samples == (5.0, 1.0, 2.0, 4.0, 3.0)


def test_the_time_of_each_stage_comes_from_one_call_of_its_own(make_request: MakeRequest) -> None:
    with local(make_request("bias_relu")) as here:
        for chosen, shared in enumerate(here.subject.arena.inputs):
            for tensor in shared:
                tensor.fill_(chosen)
        shares = timing.stage_shares(here.subject)
    assert [(share.stage, share.library) for share in shares] == [("y", False)]
    assert shares[0].seconds > 0
