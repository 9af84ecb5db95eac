"""What is audited: a candidate's text with what is known of its problem, its evaluation and its bounds."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.harness.evaluation import Evaluation
from kernels.languages import Language
from kernels.problems.inspection import Signature
from kernels.targets import Policy
from sol.audit.relatives import Relative
from sol.bounds.record import Bounds


@dataclass(frozen=True, slots=True)
class Subject:
    """Everything that a detector may look at; what is not known is None, and its detectors say nothing.

    ``policy`` is the lowest precision that was allowed. ``bounds`` are those of the device that ``evaluation`` ran on,
    ``cache_bytes`` is that device's last-level cache. ``relatives`` are what it came from and what it resembles.
    """

    text: str
    language: Language
    problem_text: str | None = None
    signature: Signature | None = None
    policy: Policy = Policy.TF32
    evaluation: Evaluation | None = None
    bounds: Bounds | None = None
    cache_bytes: int | None = None
    relatives: tuple[Relative, ...] = ()
