"""Correctness: rounds of fresh secret inputs through one child, each output poisoned before and compared after.

The rounds differ in what a candidate could hold on to: other values in the same storage, one element of them, another
storage, another scale, another mean, other strides. Runs only in the supervisor. It times nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from operator import gt

from torch import Tensor

from kernels.codegen.emission import Launch
from kernels.harness import checks
from kernels.harness.arena import INPUT_SETS, poison, same_bits
from kernels.harness.changes import Change, change_one
from kernels.harness.checks import Round
from kernels.harness.comparison import Expected, disagree, magnitude, measure, moved
from kernels.harness.correctness import RoundErrors
from kernels.harness.evaluation import Check, EvaluationRequest, Outcome, PlanCandidate, Tolerance
from kernels.harness.failures import SubjectFailed
from kernels.harness.reference import ProblemFailed, Reference
from kernels.harness.subject import Patience, Subject
from kernels.harness.tolerance import UNIT_ROUNDOFF
from kernels.problems.inspection import TensorSpec

REPEATED_CALLS = 3
"""Calls on the same inputs that must agree."""

_RANDOM_LIMIT = 1e-2
_RANDOM_SHARE = 0.99
_LEAST_ROUNDS = 3
_CHANGED_ROUNDS = (Change.SCALED, Change.SHIFTED)
_ELEMENT_TRIES, _ELEMENT_SECONDS = 4, 1.0
_PLACES, _PLACES_SECONDS = 3, 0.2
"""Elements that are changed, one at a time, while that is quick: who looks at every 37th misses one of them with 36 of
37, and all three but once in fifty thousand."""
_ONE, _ANOTHER, _STRIDED = "one element changed", "another element changed", "strided inputs"
_TELLING = 32.0
"""How many times a result's own rounding the reference must move by, for an answer that stays the same to be stale."""
_PLAIN = 0.5
"""A move by so much of an output's magnitude tells in any case: 8-bit floats round by up to an eighth."""


@dataclass(frozen=True, slots=True)
class Case:
    """One set of inputs with what the reference gives for it."""

    inputs: list[Tensor]
    expected: Expected


def planned_outputs(candidate: PlanCandidate) -> list[TensorSpec]:
    """Shapes and types of the plan's outputs."""
    values = {value.name: value for value in candidate.plan.values}
    return [TensorSpec(name, values[name].dtype, values[name].shape) for name in candidate.plan.outputs]


def copied_bytes(request: EvaluationRequest) -> int:
    """Bytes of the outputs that a call does not write to their slots itself, so that they are copied after it.

    On a CPU no call does: see ``Session.binding``.
    """
    outputs = request.signature.outputs
    if request.device == "host" or not isinstance(request.candidate, PlanCandidate):
        return sum(spec.bytes for spec in outputs)
    plan = request.candidate.plan
    written = {name for step in plan.steps if isinstance(step, Launch) for name in step.results}
    return sum(spec.bytes for name, spec in zip(plan.outputs, outputs, strict=True) if name not in written)


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
        eager=case.expected.eager(tolerance),
        inputs_kept=kept,
        exact_note=case.expected.exact_note,
    )


def make_case(reference: Reference, change: Change = Change.NONE) -> Case:
    """Fresh inputs and their expected outputs; raises ProblemFailed."""
    inputs = reference.inputs(change)
    return Case(inputs, reference.expect(inputs))


class Verification:
    """All correctness rounds of one candidate. ``call_s`` is about how long its last call took, by the host clock.

    ``rounds`` are the records of those that were made, or could not be. ``ahead`` is a case for the first of them,
    where one was made before.
    """

    def __init__(
        self, request: EvaluationRequest, reference: Reference, subject: Subject, ahead: Case | None = None
    ) -> None:
        self._request = request
        self._reference = reference
        self._subject = subject
        self.call_s = 0.0
        self.rounds: list[RoundErrors] = []
        self._made: list[Round] = []
        self._stale: list[str] = []
        self._first: dict[int, list[Tensor]] = {}
        self._plain_magnitude = 0.0
        self._last: Case | None = None
        self._ahead = ahead

    def run(self) -> list[Check]:
        """All checks but that of strided inputs. Raises ProblemFailed and SubjectFailed."""
        plain: list[Round] = []
        others: list[Check] = []
        number = 0
        for number in range(max(self._request.rounds, _LEAST_ROUNDS) - len(_CHANGED_ROUNDS)):
            case = self._last = self._ahead or make_case(self._reference)
            self._ahead = None
            self._plain_magnitude = max(self._plain_magnitude, magnitude(case.expected))
            where = "fresh values" + (", new storage" if 0 < number < INPUT_SETS else "")
            plain.append(
                self._round(f"round {number + 1}", where, number % INPUT_SETS, case, self._request.tolerance)
            )
            if number == 0:
                self._refuse_random(case, plain[0])
                others = [self._repeat(case), self._one_element(case, plain[0])]
        for change in _CHANGED_ROUNDS:
            number += 1
            others.append(self._changed(change, number % INPUT_SETS))
        tolerance = self._request.tolerance
        found = checks.value_checks(plain, tolerance) + checks.recorded_checks(plain, tolerance)
        return found + others + checks.all_rounds_checks(self._made, self._stale)

    def strided(self) -> list[Check]:
        """One round on views of the last plain inputs that are not dense.

        For a module, and after everything that is timed: what compiles itself for the strides of its inputs would go on
        with what it made for these. A module may refuse such inputs; it may not read them wrongly.
        """
        assert self._last is not None
        if isinstance(self._request.candidate, PlanCandidate):
            return [self._skip(_STRIDED, "does not apply: a launch is handed dense inputs by its ABI")]
        fill(self._subject, 0, self._last.inputs)
        waiting = Patience(self._request.limits.build_seconds, Outcome.TIMEOUT, "a call on strided inputs")
        try:
            outputs = self._call(0, 0, "strided", waiting)
        except SubjectFailed as failed:
            if failed.outcome is not Outcome.LAUNCH_ERROR:
                raise
            return [self._skip(_STRIDED, f"the module refuses them: {failed.detail}")]
        how = "the last round's values, transposed in memory, with gaps and an offset"
        round_ = self._judge(_STRIDED, how, 0, self._last, outputs, self._request.tolerance)
        found = [checks.changed_check(round_, self._request.tolerance, how)]
        return [*found, checks.inputs_kept_check([round_])]

    # --- rounds ---------------------------------------------------------------------------------

    def _round(self, label: str, what: str, chosen: int, case: Case, tolerance: Tolerance, slot: int = 0) -> Round:
        fill(self._subject, chosen, case.inputs)
        outputs = self._call(chosen, slot)
        return self._judge(label, what, chosen, case, outputs, tolerance)

    def _judge(
        self, label: str, what: str, chosen: int, case: Case, outputs: list[Tensor], tolerance: Tolerance
    ) -> Round:
        kept = inputs_kept(self._subject, chosen, case.inputs)
        round_ = compare(label, case, outputs, tolerance, kept=kept)
        self._made.append(round_)
        self.rounds.append(RoundErrors(label, what, round_.candidate.errors, round_.eager.errors))
        if round_.candidate.matched < 1.0:
            self._look_for_stale(label, outputs)
        if chosen not in self._first:
            self._first[chosen] = [tensor.clone() for tensor in outputs]
        return round_

    def _look_for_stale(self, label: str, outputs: list[Tensor]) -> None:
        """Whether a wrong answer is, bit by bit, one that was given before, for other inputs."""
        if any(all(map(same_bits, outputs, before)) for before in self._first.values()):
            self._stale.append(f"{label}: the answer is that of other inputs, bit by bit")

    def _call(self, chosen: int, slot: int, do: str = "verify", patience: Patience | None = None) -> list[Tensor]:
        outputs = self._subject.arena.outputs[slot]
        for tensor in outputs:
            poison(tensor)
        moved = {"sets": [chosen], "slots": [slot]}
        self._subject.ask({"do": "fetch", **moved})
        began = time.perf_counter()
        self._subject.ask({"do": do, "pair": [chosen, slot]}, patience)
        self.call_s = time.perf_counter() - began if do == "verify" else self.call_s
        self._subject.ask({"do": "publish", **moved})
        return outputs

    def _repeat(self, case: Case) -> Check:
        """The first round's call again, into another slot."""
        first, largest, beyond = self._first[0], 0.0, 0
        for _ in range(REPEATED_CALLS - 1):
            again = self._call(0, 1)
            if not all(map(same_bits, first, again)):
                gap, count = disagree(first, again, case.expected, self._request.tolerance)
                largest, beyond = max(largest, gap), max(beyond, count)
        return checks.determinism_check(REPEATED_CALLS, largest, beyond)

    def _refuse_random(self, case: Case, round_: Round) -> None:
        if round_.eager.matched >= _RANDOM_SHARE:
            return
        if not self._reference.agrees_with_itself(case.inputs, case.expected, _RANDOM_LIMIT):
            raise ProblemFailed(
                Outcome.PROBLEM_ERROR,
                "the reference gives different results for the same inputs, so nothing can be compared with it",
            )

    # --- inputs changed on purpose --------------------------------------------------------------

    def _one_element(self, before: Case, plain: Round) -> Check:
        """Elements of the first round's inputs changed in place, one at a time, in the storage of that round."""
        if plain.candidate.matched < 1.0:
            return self._skip(_ONE, "the candidate is wrong before anything is changed")
        noise = self._noise(plain.candidate.relative)
        began = time.monotonic()
        found = self._one_place(before, noise)
        if isinstance(found, str):
            return self._skip(_ONE, found)
        check = self._judge_one(_ONE, *found)
        for place in range(1, _PLACES):
            if not check.passed or time.monotonic() - began > _PLACES_SECONDS:
                break
            found = self._one_place(before, noise)
            if isinstance(found, str):
                break
            check = self._judge_one(_ANOTHER, *found, slot=place % 2)
        return check

    def _one_place(self, before: Case, noise: list[float]) -> tuple[Case, str] | str:
        """One element changed so that an output of the reference moves by more than its ``noise``, and where; or why
        there is none."""
        began = time.monotonic()
        for _ in range(_ELEMENT_TRIES):
            changed = change_one(before.inputs)
            if changed is None:
                return "the inputs have no element that could be changed"
            inputs, where = changed
            try:
                case = Case(inputs, self._reference.expect(inputs))
            except ProblemFailed as failed:
                return failed.detail
            shifts = moved(before.expected, case.expected)
            if any(map(gt, shifts, noise)):
                return case, where
            if time.monotonic() - began > _ELEMENT_SECONDS:
                break
        return f"{where} moves the reference by {max(shifts):.2g} of its magnitude, too little to tell"

    def _judge_one(self, label: str, case: Case, where: str, slot: int = 0) -> Check:
        """``slot`` is the one that does not hold the answer for the element before: who happened to look at that one
        gives its answer again."""
        what = f"{where}, same storage"
        round_ = self._round(label, what, 0, case, self._request.tolerance, slot)
        answer, before = self._subject.arena.outputs[slot], self._subject.arena.outputs[1 - slot]
        stayed = all(map(same_bits, answer, self._first[0]))
        if not stayed and round_.candidate.matched < 1.0:
            stayed = all(map(same_bits, answer, before))
        if stayed and not self._stale:
            self._stale.append(f"{label}: the answer stayed the same bit by bit")
        return replace(checks.changed_check(round_, self._request.tolerance, what), name=_ONE)

    def _noise(self, relative: float) -> list[float]:
        """What each output must move by, as a share of its magnitude, for an answer that stays the same to be wrong.

        ``relative`` is the candidate's error: both answers may be off by it, and still be right.
        """
        roundings = [UNIT_ROUNDOFF.get(spec.dtype, 0.0) for spec in self._request.signature.outputs]
        return [max(2 * relative, min(_PLAIN, max(8 * relative, _TELLING * one))) for one in roundings]

    def _changed(self, change: Change, chosen: int) -> Check:
        label = f"{change.value} inputs"
        try:
            case = make_case(self._reference, change)
        except ProblemFailed as failed:
            return self._skip(label, failed.detail)
        tolerance = self._request.tolerance
        if self._plain_magnitude:
            growth = max(1.0, magnitude(case.expected) / self._plain_magnitude)
            tolerance = replace(tolerance, absolute=tolerance.absolute * growth)
        what = "fresh values times 10" if change is Change.SCALED else "fresh values plus 5"
        round_ = self._round(label, what, chosen, case, tolerance)
        return checks.changed_check(round_, tolerance, f"{what}, the absolute part grown with the outputs")

    def _skip(self, name: str, reason: str) -> Check:
        self.rounds.append(RoundErrors(name, "", None, None, reason))
        return checks.not_done(name, reason)
