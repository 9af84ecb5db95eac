"""The pool: attempts that all problems of a run share. Each submission takes one; whoever comes too late ends.

Whose turn it is decides who takes them: see ``runs.turns``.
"""

from __future__ import annotations

from django.db.models import F

from agent.steps import Finish, FinishReason
from runs import figures
from runs.models import Run


def most_attempts(each: int, problems: int, pool: int | None) -> int:
    """Attempts at most of so many problems: ``each`` of them, and all together no more than the pool."""
    return each * problems if pool is None else min(each * problems, pool)


def take_one(run: Run) -> bool:
    """Whether one more attempt may be submitted; it counts from then on. Always where the run has no pool.

    One conditional update, so that two at once never take the last one both.
    """
    if run.pool is None:
        return True
    left = Run.objects.filter(pk=run.pk, pool_used__lt=F("pool"))
    return bool(left.update(pool_used=F("pool_used") + 1))


def spent(run: Run) -> Finish:
    """The finish of a problem for which nothing is left."""
    words = f"the run's pool of {figures.counted(run.pool or 0, 'attempt')} is used up"
    return Finish(FinishReason.ATTEMPTS_SPENT, words)
