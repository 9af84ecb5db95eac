"""Running all detectors over a subject, in a fixed order, and what came of it in one word."""

from __future__ import annotations

import re
from enum import StrEnum

from kernels.languages import Language, SourceRefused, check_text
from sol.audit.base import Detector, Reading
from sol.audit.detectors.algebra import Algebra
from sol.audit.detectors.bounds import AgainstBounds
from sol.audit.detectors.caches import Caches
from sol.audit.detectors.callers import Callers
from sol.audit.detectors.changed import Changed
from sol.audit.detectors.checks import Checks
from sol.audit.detectors.counters import Counters
from sol.audit.detectors.cxx_caches import CxxCaches
from sol.audit.detectors.cxx_outputs import CxxOutputs
from sol.audit.detectors.fallback import Fallback
from sol.audit.detectors.files import Files
from sol.audit.detectors.garbage import Garbage
from sol.audit.detectors.graphs import Graphs
from sol.audit.detectors.launches import Launches
from sol.audit.detectors.lazy import Lazy
from sol.audit.detectors.library import Library
from sol.audit.detectors.lineage import Lineage
from sol.audit.detectors.memory import Memory
from sol.audit.detectors.mutation import Mutation
from sol.audit.detectors.native import Native
from sol.audit.detectors.outputs import Outputs
from sol.audit.detectors.partial import Partial
from sol.audit.detectors.pasted import Pasted
from sol.audit.detectors.patches import Patches
from sol.audit.detectors.precision import Precision
from sol.audit.detectors.prints import Prints
from sol.audit.detectors.programs import Programs
from sol.audit.detectors.reference import Reference
from sol.audit.detectors.residency import Residency
from sol.audit.detectors.sabotage import Sabotage
from sol.audit.detectors.seeds import Seeds
from sol.audit.detectors.shares import Shares
from sol.audit.detectors.streams import Streams
from sol.audit.detectors.workers import Workers
from sol.audit.record import Flag, Severity
from sol.audit.subject import Subject

DETECTORS: tuple[Detector, ...] = (
    Streams(), Caches(), CxxCaches(), Counters(), Mutation(), Outputs(), CxxOutputs(), Programs(), Library(),
    Launches(),
    Fallback(), Reference(), Pasted(), Patches(), Prints(), Lazy(), Workers(), Callers(), Memory(), Files(), Seeds(),
    Precision(), Partial(), Residency(), Graphs(), Changed(), Sabotage(), Native(), Checks(), Shares(), AgainstBounds(),
    Garbage(), Algebra(), Lineage(),
)  # fmt: skip
"""All detectors, in the order in which they look."""

MOST_PIECES = 250_000
"""Words and marks of a text that is read; a syntax tree takes hundreds of bytes for each."""

_PIECE = re.compile(r"[\w+/=]+|[^\w\s]")


class AuditOutcome(StrEnum):
    """What an audit came to: the gravest of its flags, or that the text could not be read."""

    CLEAN = "clean"
    SUSPECT = "suspect"
    SEVERE = "severe"
    REFUSED = "refused"


def audit(subject: Subject) -> tuple[Flag, ...]:
    """All flags, in the order of the detectors; the same finding at the same place once.

    Raises SourceRefused, PythonSyntax and ProgramErrors of a text that cannot be read. Nothing of it is executed.
    """
    check_text(subject.text)
    if sum(1 for _ in _PIECE.finditer(subject.text)) > MOST_PIECES:
        raise SourceRefused(wrong=f"has more than {MOST_PIECES} words and marks", right="a shorter text")
    try:
        return _look(Reading(subject))
    except (RecursionError, MemoryError):
        raise SourceRefused(wrong="is nested too deeply to be read", right="flatter code") from None


def outcome_of(flags: tuple[Flag, ...]) -> AuditOutcome:
    """``clean`` where there is nothing beyond info."""
    worst = max((flag.severity for flag in flags), key=lambda severity: severity.rank, default=Severity.INFO)
    return {Severity.INFO: AuditOutcome.CLEAN, Severity.SUSPECT: AuditOutcome.SUSPECT}.get(
        worst, AuditOutcome.SEVERE
    )


def _look(reading: Reading) -> tuple[Flag, ...]:
    if reading.subject.language is Language.MU:
        from kernels.dsl import parse

        parse(reading.subject.text)
    found: dict[tuple[object, ...], Flag] = {}
    for detector in DETECTORS:
        for flag in detector.look(reading):
            places = flag.evidence.places
            found.setdefault((flag.detector, flag.trick, flag.evidence.words, places[:1]), flag)
    return tuple(found.values())
