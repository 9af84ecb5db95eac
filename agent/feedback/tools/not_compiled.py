"""Code that the compiler refused or took too long for: the compiler's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from agent.feedback.case import Case, is_product, scaled
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.failures import FailureTool, last_lines
from agent.feedback.tools.tool import Judgement, Sight
from kernels.harness.evaluation import Outcome
from kernels.toolchain.report import BuildOutcome

_ERROR = re.compile(r"^.*\b(?:error|fatal)\b\s*:?.*$", re.IGNORECASE | re.MULTILINE)
_KEPT = 300


class NotCompiled(FailureTool):
    """The first errors of the first unit that was not built."""

    name = "not-compiled"
    title = "Not compiled"
    general = "Mend the first error; those behind it often follow from it."
    outcomes: ClassVar[frozenset[Outcome]] = frozenset({Outcome.BUILD_ERROR, Outcome.BUILD_TIMEOUT})

    def trigger(self, case: Case) -> Sight | None:
        """Every candidate that was not built."""
        if not self.looks_at(case):
            return None
        build = case.evidence.build
        unit = (
            next((each for each in build.units if each.outcome is not BuildOutcome.BUILT), None) if build else None
        )
        log = unit.log if unit is not None else ""
        errors = [line.strip()[:_KEPT] for line in _ERROR.findall(log)][:3]
        seen = errors or [words for words in (last_lines(log), case.evidence.detail[:_KEPT]) if words][:1]
        return Sight(tuple(seen), case.stage_of_symbol(unit.symbol) if unit is not None else None)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """Which of the two."""
        if case.evidence.outcome is Outcome.BUILD_TIMEOUT:
            return Judgement(Severity.CRITICAL, "The compiler took longer than the limit.")
        return Judgement(Severity.CRITICAL, "The compiler refused the code.")

    def recommend(self, case: Case, sight: Sight) -> Iterable[Advice]:
        """A configuration that takes less of the compiler, where it ran out of time."""
        if case.evidence.outcome is not Outcome.BUILD_TIMEOUT or not is_product(sight.stage) or sight.stage is None:
            return ()
        smaller = scaled(sight.stage, "tile", (1, 0.5, 1), (0.5, 1, 1))
        return case.knob(sight.stage, "tile", smaller, "A smaller tile is less code to unroll.")
