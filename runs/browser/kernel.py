"""One kernel: its text, every attempt with it on every problem and card, and what was made of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet

from kernels.highlight import highlight
from kernels.languages import Language
from kernels.models import Kernel
from runs.browser.rows import KernelRow, shown
from runs.kernel_models import Contender
from runs.models import Attempt
from sol.models import Case

LEAST_DIGITS = 6
MOST_ALIKE = 50
SHOWN_LINES = 600
ATTEMPTS = 50
_NAME = re.compile(r"(?:k-)?([0-9a-f]{6,64})\Z")


def named(name: str) -> list[Kernel]:
    """Kernels that a name may mean: ``k-`` and the first digits of a digest, six at least. One query."""
    found = _NAME.match(name.strip().lower())
    if found is None:
        return []
    digits = found[1]
    # A range, because no database finds a prefix by an index under every collation.
    rows = Kernel.objects.filter(digest__gte=digits, digest__lte=digits.ljust(64, "f"))
    return list(rows.only("digest", "language", "created").order_by("digest")[:MOST_ALIKE])


@dataclass(frozen=True, slots=True)
class KernelPage:
    """What the page of one kernel shows. ``cut`` counts lines that are left out unless all are asked for."""

    kernel: Kernel
    lines: tuple[str, ...]
    cut: int
    rows: tuple[KernelRow, ...]
    cases: tuple[Case, ...]
    attempts: Page[Attempt]

    @property
    def total_lines(self) -> int:
        """How long its text is."""
        return len(self.lines) + self.cut

    @property
    def label(self) -> str:
        """Its language as people call it."""
        return Language(self.kernel.language).label


def kernel_page(kernel: Kernel, number: str | None, *, whole: bool) -> KernelPage:
    """One kernel with all that its page shows. Six queries."""
    lines = highlight(kernel.source, kernel.language)
    kept = lines if whole else lines[:SHOWN_LINES]
    contenders = shown(Contender.objects.filter(kernel=kernel)).order_by("problem_id", "device")[:ATTEMPTS]
    cases = Case.objects.filter(kernel=kernel).select_related("problem", "settled_by")
    cases = cases.defer("sketch", "problem__source", "problem__summary")
    return KernelPage(
        kernel=kernel,
        lines=kept,
        cut=len(lines) - len(kept),
        rows=tuple(KernelRow(one) for one in contenders),
        cases=tuple(cases.order_by("-rank", "pk")[:ATTEMPTS]),
        attempts=Paginator(_attempts(kernel), ATTEMPTS).get_page(number),
    )


def _attempts(kernel: Kernel) -> QuerySet[Attempt]:
    found = Attempt.objects.filter(kernel=kernel).select_related("trajectory__problem", "trajectory__run__owner")
    put_off = (
        "trajectory__bounds",
        "trajectory__seed_program",
        "trajectory__problem__source",
        "detail",
        "hypothesis",
    )
    return found.defer(*put_off).order_by("-pk")
