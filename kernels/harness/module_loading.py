"""The supervisor's side of a Python candidate: what its child is told, how long it may build, what its first call says.

The child gets the source and plain data and never the problem's file. What it answers is a description; the values of
its outputs are compared later, by the same checks as everybody's.
"""

from __future__ import annotations

from typing import Any

from kernels.harness import checks, plain_data, verification
from kernels.harness.errors import InitInputsNotPlain
from kernels.harness.evaluation import Check, EvaluationRequest, ModuleCandidate, Outcome
from kernels.harness.failures import SubjectFailed
from kernels.harness.reference import ProblemFailed, Reference
from kernels.harness.subject import Patience, Subject


class ModuleLoading:
    """One module from its source to the end of its first call."""

    def __init__(self, candidate: ModuleCandidate, request: EvaluationRequest, reference: Reference) -> None:
        self._candidate = candidate
        self._request = request
        self._reference = reference
        self._structure = ""
        self.first_call_s = 0.0

    def form(self) -> dict[str, Any]:
        """What the child is told to load; raises ProblemFailed where the constructor's arguments are no plain data."""
        arguments, keywords = self._reference.init_arguments()
        try:
            given = plain_data.to_plain(arguments, "the list"), plain_data.to_plain(keywords, "the dict")
        except InitInputsNotPlain as error:
            raise ProblemFailed(Outcome.REFUSED, str(error)) from error
        return {
            "kind": "source",
            "source": self._candidate.source,
            "class_name": self._candidate.class_name,
            "arguments": given[0],
            "keywords": given[1],
            "constants": {str(position): value for position, value in self._request.signature.constants.items()},
        }

    @property
    def building(self) -> Patience:
        """For importing the file and building the module."""
        seconds = self._request.limits.build_seconds
        return Patience(seconds, Outcome.BUILD_TIMEOUT, "importing the file and building the module")

    def before_load(self, subject: Subject) -> None:
        """Put inputs where the first call finds them."""
        verification.fill(subject, 0, self._reference.inputs())

    def first_call(self, subject: Subject, loaded: dict[str, Any]) -> list[Check]:
        """Make the first call, and say of what kind, number, shape and type its outputs are; and of the weights."""
        seconds = self._request.limits.build_seconds
        waiting = Patience(seconds, Outcome.TIMEOUT, "the first call, with whatever it compiles,")
        answer = subject.ask({"do": "first", "pair": [0, 0]}, waiting)
        try:
            self.first_call_s = float(answer["seconds"])
            self._structure = str(answer["structure"])
            found = checks.first_call_checks(answer, list(self._request.signature.outputs))
            return [*found, checks.weights_check(loaded["weights"])]
        except (KeyError, TypeError, ValueError) as error:
            raise SubjectFailed(Outcome.CRASH, "the child described its first call in no known way") from error

    def structure_check(self) -> Check:
        """Once the reference has run: whether the result is put together as its is."""
        return checks.structure_check(self._structure, self._reference.structure)
