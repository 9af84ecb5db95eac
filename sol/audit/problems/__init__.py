"""Flaws of problems themselves: found in the traced reference without running it, and in a few runs of it."""

from __future__ import annotations

from sol.audit.problems.audit import audit
from sol.audit.problems.budget import budget
from sol.audit.problems.record import Flaw, ProblemAudit, ProblemFlaw

__all__ = ["Flaw", "ProblemAudit", "ProblemFlaw", "audit", "budget"]
