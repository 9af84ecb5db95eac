"""Signs of a gamed benchmark in a candidate's text, its evaluation, its profile and its bounds.

Pure: no Django, and nothing of a candidate is executed here.
"""

from __future__ import annotations

from sol.audit.record import Evidence, Flag, Place, Severity
from sol.audit.relatives import Relative, Tie
from sol.audit.report import DETECTORS, AuditOutcome, audit, outcome_of
from sol.audit.subject import Subject
from sol.audit.tricks import Trick

__all__ = [
    "DETECTORS",
    "AuditOutcome",
    "Evidence",
    "Flag",
    "Place",
    "Relative",
    "Severity",
    "Subject",
    "Tie",
    "Trick",
    "audit",
    "outcome_of",
]
