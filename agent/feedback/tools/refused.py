"""A program that the checker refused: its rules, with what would be right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from agent.feedback.case import Case
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.failures import TAIL, FailureTool
from agent.feedback.tools.tool import Judgement, Sight
from kernels.harness.evaluation import Outcome

_LINE = re.compile(r"^(?P<place>\d+:\d+): (?P<rule>[a-z0-9-]+): (?P<words>.*)$")


class Refused(FailureTool):
    """The checker's own words, line by line."""

    name = "refused"
    title = "Refused by the checker"
    general = "Read the language reference of the stage that is named; every knob lists its legal values there."
    outcomes: ClassVar[frozenset[Outcome]] = frozenset({Outcome.REFUSED})

    def trigger(self, case: Case) -> Sight | None:
        """Every refused candidate."""
        if not self.looks_at(case):
            return None
        lines = [line.strip() for line in case.evidence.detail.splitlines() if line.strip()]
        return Sight(tuple(line[:TAIL] for line in lines[:4]), value=len(lines))

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """How much is wrong, and with which rules."""
        rules = {found["rule"] for line in sight.evidence if (found := _LINE.match(line))}
        named = f": {', '.join(sorted(rules))}" if rules else ""
        count = int(sight.value)
        return Judgement(
            Severity.CRITICAL, f"The checker refused the program for {count} reason{'s' * (count != 1)}{named}."
        )

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """What the rule says would be right stands behind its semicolon."""
        for line in sight.evidence:
            found = _LINE.match(line)
            if found is not None:
                yield Advice(f"{found['place']}: {found['words'].rpartition('; ')[2] or found['words']}")
