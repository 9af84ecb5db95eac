"""Whether inputs that were never seen take as long as the same inputs once more.

Timed calls find the same few sets of inputs again and again, so a candidate that keeps answers by the contents of its
inputs would be timed at looking them up, and every answer would be right. Here each pair of calls has contents of its
own, and the second call of a pair those of the first; all else is the same for both. Runs only in the supervisor
(torch at the top).
"""

from __future__ import annotations

import time

from torch import Tensor

from kernels.harness.evaluation import Check, EvaluationRequest
from kernels.harness.reference import Reference
from kernels.harness.subject import Subject
from kernels.harness.timing import numbers
from kernels.harness.verification import fill

NAME = "unseen inputs"

_PAIRS, _MORE_PAIRS = (5, 2), (10, 5)
"""At most and at least, at first and where these say that something is wrong."""
_SECONDS = {"host": 0.5, "cuda": 0.2}
"""A card's calls differ less from one another, so that fewer tell."""
_SLOW_CALL_S = 0.1
_FACTOR, _SLACK_S = 1.5, 50e-6
_TELLING = 2 / 3
"""Where others want the cores too, calls come in quick and slow ones by chance. Of 15 pairs with no difference between
first and second calls, none of the first being quick and ten of the second is a chance of one in ten thousand."""


def unseen_check(request: EvaluationRequest, reference: Reference, subject: Subject, estimate_s: float) -> Check:
    """The quickest first call against the quickest repeated one. Outputs are not compared, so no reference has to run.

    ``estimate_s`` is about how long a call takes. Raises ProblemFailed and SubjectFailed.
    """
    if not any(spec.elements > 1 for spec in request.signature.inputs):
        return _not_done("the inputs have no elements to vary")
    first: list[float] = []
    again: list[float] = []
    for most, least in (_PAIRS, _MORE_PAIRS):
        began = time.monotonic()
        for made in range(most):
            due = time.monotonic() - began + reference.making_s
            if made >= least and due > _SECONDS[request.device]:
                break
            inputs = reference.inputs()
            first.append(_call(subject, inputs, estimate_s))
            again.append(_call(subject, inputs, estimate_s))
        limit = _FACTOR * min(again) + _SLACK_S
        if min(first) <= limit:
            break
    right = min(first) <= limit
    quick = sum(seconds <= limit for seconds in again)
    if not right and quick < _TELLING * len(again):
        return _not_done(f"too busy a machine to tell: of {len(again)} repeated calls {quick} were quick")
    note = f"seconds of the quickest of {len(first)} calls on contents never seen before; on the same once more "
    note += f"{min(again):.3g} s"
    return Check(NAME, min(first), limit, right, note)


def _not_done(why: str) -> Check:
    return Check(NAME, None, None, False, why, done=False)


def _call(subject: Subject, inputs: list[Tensor], estimate_s: float) -> float:
    """Seconds of a call on contents that were just put there, after calls on the other set that wake everything up."""
    fill(subject, 0, inputs)
    subject.ask({"do": "fetch", "sets": [0], "slots": []})
    spare = subject.layout.warmup_slot
    pairs = [[0, spare]] if estimate_s > _SLOW_CALL_S else [[1, spare], [1, spare], [0, spare]]
    return numbers(subject.ask({"do": "block", "pairs": pairs}), "samples", len(pairs))[-1]
