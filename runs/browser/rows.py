"""Contenders as tables show them: without sources, each with its gap strip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from kernels.languages import Language
from runs import words
from runs.charts.strip import strip
from runs.kernel_models import Contender

STRIP_WIDTH = 150
DIGITS = 12
"""Digits of a digest in addresses: enough to name one kernel among millions."""

_COLUMNS = (
    "target", "device", "language", "outcome", "held", "standing", "tries", "time_s", "counted_s", "sol_s", "eager_s",
    "gap", "speedup", "at", "best__number", "kernel__digest", "problem__slug", "problem__name", "run_id",
    "owner__username", "problem_id", "kernel_id", "best_id", "owner_id",
)  # fmt: skip


def shown(rows: QuerySet[Contender]) -> QuerySet[Contender]:
    """The columns that a table shows, with what they belong to. One query."""
    return rows.select_related("problem", "kernel", "best", "owner").only(*_COLUMNS)


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One contender of a table."""

    contender: Contender

    @property
    def label(self) -> str:
        """Its language, as short as a column wants it."""
        language = Language(self.contender.language)
        return "ModelNew" if language is Language.PY else language.label

    @property
    def address(self) -> str:
        """Its candidate page."""
        one = self.contender
        return reverse("candidate", args=[one.run_id, one.problem.slug, one.best.number])

    @property
    def kernel_address(self) -> str:
        """The page of its text."""
        return reverse("kernel", args=[f"k-{self.contender.kernel.digest[:DIGITS]}"])

    @property
    def strip(self) -> dict[str, Any] | None:
        """Its distance to SOL; a time that does not count is not drawn as reached."""
        one = self.contender
        return strip(one.sol_s, one.counted_s, one.eager_s, STRIP_WIDTH)

    @property
    def word(self) -> words.Word:
        """How its attempt ended."""
        return words.of_outcome(self.contender.outcome)

    @property
    def why_none(self) -> str:
        """Why there is no figure that counts."""
        one = self.contender
        if one.time_s is None:
            return f"not measured: {self.word.text}"
        if one.held:
            return f"does not count: {one.said.words}"
        return "not bounded" if one.sol_s is None else "torch eager was not measured beside it"
