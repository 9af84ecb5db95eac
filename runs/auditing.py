"""Audits of attempts: what is known of one goes before all detectors, and what they find becomes its kernel's case."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from django.contrib.auth.models import User

from kernels.candidates import PythonSyntax
from kernels.dsl import ProgramErrors
from kernels.errors import UserError
from kernels.harness.evaluation import Evaluation
from kernels.languages import Language, SourceRefused
from kernels.models import ProblemSize
from kernels.problems.inspection import Inspection
from kernels.records import from_json
from kernels.targets import Policy
from runs.gap_pane import bounds_of
from runs.kinship import relatives_of
from runs.looks import note
from runs.machines import machine_of
from runs.models import Attempt
from sol.audit import Evidence, Flag, Severity, Subject, Trick, audit
from sol.gap.standing import standing_of

logger = logging.getLogger(__name__)

READER = "reader"
"""The name under which a text that no detector could read is raised."""


class TextUnread(UserError):
    """A text that the detectors refused in their child process."""

    template = "{words}"


class NotAudited(UserError):
    """An audit that a limit or a mistake of ours ended: nobody looked, and it says nothing of the text."""

    template = "it was not audited, which says nothing of it: {why}"


_UNREADABLE = (SourceRefused, PythonSyntax, ProgramErrors, TextUnread)
"""Errors that are about the text itself."""


def subject_of(attempt: Attempt, evaluation: Evaluation | None) -> Subject:
    """Everything that is known of an attempt, for the detectors, in a fixed number of queries."""
    trajectory = attempt.trajectory
    record = ProblemSize.objects.filter(problem_id=trajectory.problem_id, size=trajectory.size)
    known = record.values_list("record", flat=True).first()
    machine = machine_of(trajectory)
    return Subject(
        text=attempt.kernel.source,
        language=Language(attempt.kernel.language),
        problem_text=trajectory.problem.source,
        signature=from_json(known, Inspection).signature if known else None,
        policy=Policy(trajectory.run.policy),
        evaluation=evaluation,
        bounds=bounds_of(trajectory),
        cache_bytes=machine.cache_bytes if machine is not None else None,
        relatives=relatives_of(attempt),
    )


def audit_attempt(
    attempt: Attempt,
    evaluation: Evaluation | None,
    *,
    detect: Callable[[Subject], tuple[Flag, ...]] = audit,
) -> tuple[Flag, ...]:
    """All flags of an attempt that was just measured; none where it was not audited, for that must cost no attempt."""
    try:
        return flags_of(attempt, evaluation, detect=detect)
    except NotAudited:
        return ()


def flags_of(
    attempt: Attempt,
    evaluation: Evaluation | None,
    *,
    detect: Callable[[Subject], tuple[Flag, ...]] = audit,
    user: User | None = None,
) -> tuple[Flag, ...]:
    """All flags of an attempt, and a note that it was looked at (by whose wish: ``user``; null: the product's).

    A text that cannot be read is one flag. Raises NotAudited where a limit or a mistake of ours ended the audit: no
    flag and no note are left then.
    """
    try:
        flags = detect(subject_of(attempt, evaluation))
    except _UNREADABLE as error:
        flags = (_unread(str(error)),)
    except Exception as error:
        logger.exception("no audit of %s", attempt)
        raise NotAudited(why=error if isinstance(error, UserError) else "a detector failed on it") from error
    note(attempt, measured=evaluation is not None, user=user)
    return tuple(_waiting(flag, attempt, evaluation) for flag in flags)


def _unread(why: str) -> Flag:
    words = f"no detector could read it: {why}"
    return Flag(READER, Trick.SABOTAGE, Severity.SUSPECT, 0.3, Evidence(words))


def _waiting(flag: Flag, attempt: Attempt, evaluation: Evaluation | None) -> Flag:
    """A time below the floor is out until a person says otherwise, so its flag must reach one, however mild."""
    if flag.severity is not Severity.INFO or flag.detector != "bounds":
        return flag
    if evaluation is None or evaluation.candidate is None:
        return flag
    below = standing_of(evaluation.candidate.median_s, attempt.trajectory.floor_s).held
    return replace(flag, severity=Severity.SUSPECT) if below else flag
