"""Correctness: rounds of fresh secret inputs through one child, each output poisoned before and compared after.

Runs only in the supervisor. It times nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from torch import Tensor

from kernels.harness import checks
from kernels.harness.arena import INPUT_SETS, poison, same_bits
from kernels.harness.checks import Round
from kernels.harness.comparison import Expected, magnitude, measure
from kernels.harness.evaluation import Check, EvaluationRequest, Outcome, Tolerance
from kernels.harness.reference import Change, ProblemFailed, Reference
from kernels.harness.subject import Subject
from kernels.problems.inspection import TensorSpec

_RANDOM_LIMIT = 1e-2
_RANDOM_SHARE = 0.99


@dataclass(frozen=True, slots=True)
class Case:
    """One set of inputs with what the reference gives for it."""

    inputs: list[Tensor]
    expected: Expected


def planned_outputs(request: EvaluationRequest) -> list[TensorSpec]:
    """Shapes and types of the plan's outputs."""
    values = {value.name: value for value in request.plan.values}
    return [TensorSpec(name, values[name].dtype, values[name].shape) for name in request.plan.outputs]


def fill(subject: Subject, chosen: int, inputs: list[Tensor]) -> None:
    """New values in the same storage of input set ``chosen``."""
    for shared, tensor in zip(subject.arena.inputs[chosen], inputs, strict=True):
        shared.copy_(tensor)


def inputs_kept(subject: Subject, chosen: int, inputs: list[Tensor]) -> bool:
    """Whether the child's inputs are still what was put there."""
    return all(map(same_bits, subject.arena.inputs[chosen], inputs))


def compare(label: str, case: Case, outputs: list[Tensor], tolerance: Tolerance, *, kept: bool) -> Round:
    """The candidate's outputs, and eager's own, against the reference."""
    return Round(
        label=label,
        candidate=measure(outputs, case.expected, tolerance),
        eager=measure(case.expected.own, case.expected, tolerance, as_far_as_eager=False),
        inputs_kept=kept,
        exact_note=case.expected.exact_note,
    )


def make_case(reference: Reference, change: Change = Change.NONE) -> Case:
    """Fresh inputs and their expected outputs; raises ProblemFailed."""
    inputs = reference.inputs(change)
    return Case(inputs, reference.expect(inputs))


class Verification:
    """All correctness rounds of one candidate. ``call_s`` is about how long its last call took, by the host clock."""

    def __init__(self, request: EvaluationRequest, reference: Reference, subject: Subject) -> None:
        self._request = request
        self._reference = reference
        self._subject = subject
        self.call_s = 0.0
        self._plain_magnitude = 0.0

    def run(self) -> list[Check]:
        """All checks. Raises ProblemFailed and SubjectFailed."""
        found: list[Round] = []
        determinism: Check | None = None
        for number in range(max(self._request.rounds, 1)):
            case = make_case(self._reference)
            self._plain_magnitude = max(self._plain_magnitude, magnitude(case.expected))
            round_ = self._round(f"round {number + 1}", number % INPUT_SETS, case, self._request.tolerance)
            if number == 0:
                self._refuse_random(case, round_)
                determinism = self._repeat(number % INPUT_SETS)
            found.append(round_)
        results = checks.value_checks(found, self._request.tolerance)
        if determinism is not None:
            results.append(determinism)
        results += [self._changed(change) for change in (Change.SCALED, Change.SHIFTED)]
        return results

    def _round(self, label: str, chosen: int, case: Case, tolerance: Tolerance) -> Round:
        fill(self._subject, chosen, case.inputs)
        outputs = self._call(chosen, 0)
        kept = inputs_kept(self._subject, chosen, case.inputs)
        return compare(label, case, outputs, tolerance, kept=kept)

    def _call(self, chosen: int, slot: int) -> list[Tensor]:
        outputs = self._subject.arena.outputs[slot]
        for tensor in outputs:
            poison(tensor)
        moved = {"sets": [chosen], "slots": [slot]}
        self._subject.ask({"do": "fetch", **moved})
        began = time.perf_counter()
        self._subject.ask({"do": "verify", "pair": [chosen, slot]})
        self.call_s = time.perf_counter() - began
        self._subject.ask({"do": "publish", **moved})
        return outputs

    def _repeat(self, chosen: int) -> Check:
        first = [tensor.clone() for tensor in self._subject.arena.outputs[0]]
        again = self._call(chosen, 1)
        same = all(map(same_bits, first, again))
        worst = 0.0
        if not same:
            differences = [(a.double() - b.double()).abs() for a, b in zip(first, again, strict=True)]
            worst = max(float(d.nan_to_num(0.0).max()) for d in differences if d.numel())
        return checks.determinism_check(same, worst)

    def _refuse_random(self, case: Case, round_: Round) -> None:
        if round_.eager.matched >= _RANDOM_SHARE:
            return
        if not self._reference.agrees_with_itself(case.inputs, case.expected, _RANDOM_LIMIT):
            raise ProblemFailed(
                Outcome.PROBLEM_ERROR,
                "the reference gives different results for the same inputs, so nothing can be compared with it",
            )

    def _changed(self, change: Change) -> Check:
        try:
            case = make_case(self._reference, change)
        except ProblemFailed as failed:
            return checks.skipped_check(change.value, failed.detail)
        tolerance = self._request.tolerance
        if self._plain_magnitude:
            growth = max(1.0, magnitude(case.expected) / self._plain_magnitude)
            tolerance = replace(tolerance, absolute=tolerance.absolute * growth)
        round_ = self._round(change.value, 0, case, tolerance)
        if not round_.inputs_kept:
            return Check(f"{change.value} inputs", None, None, False, "the call changed its inputs")
        return checks.changed_check(round_, tolerance)
