"""Audits of texts that nobody trusts, in a child process with limits: a text made to be slow costs its own report.

Nothing of a text is executed in the child either; what it is for is the clock and the memory.
"""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernels.childprocess import ChildLimits, ChildResult, Ending, run_python
from kernels.errors import UserError
from kernels.records import dumps, loads
from sol.audit.form import AuditForm, refused, renamed
from sol.audit.subject import Subject

_CHILD = "sol.audit.apart_child"
_OUTPUT_BYTES = 64 * 2**20
_SPACE_BYTES = 8 * 2**30


class AuditTooLong(UserError):
    """A text that the detectors did not get through in time."""

    template = "the detectors were not through with it after {seconds:g} s; a shorter text would be right"


class AuditTooLarge(UserError):
    """A text that takes more memory than an audit may."""

    template = "the detectors took more than {mib} MiB of memory on it; a shorter text would be right"


class AuditBroke(UserError):
    """A mistake of ours, on this text."""

    template = "a detector failed on it ({how}); that is a mistake of the audit and says nothing of the text"


class AuditNotReached(UserError):
    """A text behind others that took all of the time."""

    template = "the texts before it took all of the {seconds:g} s; fewer at a time would be right"


@dataclass(frozen=True, slots=True)
class Patience:
    """Wall-clock seconds for one text and for all of one audit, and resident bytes of the child.

    The slowest text of the corpus takes 0.05 s, one of the most words and marks that are read about 10 s.
    """

    one_s: float = 15.0
    all_s: float = 30.0
    memory_bytes: int = 2**30


def audit_apart(subjects: Sequence[tuple[str, Subject]], patience: Patience = Patience()) -> list[AuditForm]:
    """The form of each named text, in order; of one that is not audited within the limits it says so."""
    forms: list[AuditForm] = []
    end = time.monotonic() + patience.all_s
    with tempfile.TemporaryDirectory(prefix="mu-audit-") as name:
        folder = Path(name)
        for number, (_, subject) in enumerate(subjects):
            (folder / f"{number}.json").write_text(dumps(subject), encoding="utf-8")
        while len(forms) < len(subjects):
            left = end - time.monotonic()
            if left <= 0:
                late = AuditNotReached(seconds=patience.all_s)
                forms += [refused("", late)] * (len(subjects) - len(forms))
                break
            forms += _some(folder, len(forms), len(subjects), patience, left)
    return [renamed(form, name) for form, (name, _) in zip(forms, subjects, strict=True)]


def _some(folder: Path, first: int, count: int, patience: Patience, left: float) -> list[AuditForm]:
    """At least one form: those of one child, with the refusal of the text that it did not survive, if any."""
    limits = ChildLimits(
        seconds=left,
        memory_bytes=patience.memory_bytes,
        address_space_bytes=_SPACE_BYTES,
        output_bytes=_OUTPUT_BYTES,
        file_bytes=0,
    )
    result = run_python(_CHILD, [str(folder), str(first), str(count), str(patience.one_s)], limits=limits)
    lines = result.stdout.split("\n")[:-1]
    forms = [loads(line, AuditForm) for line in lines[: count - first]]
    if first + len(forms) < count:
        forms.append(refused("", _why(result, patience)))
    return forms


def _why(result: ChildResult, patience: Patience) -> UserError:
    """What ended a child before it was through."""
    if result.ending is Ending.SIGNALLED and result.code == signal.SIGALRM:
        return AuditTooLong(seconds=patience.one_s)
    if result.ending is Ending.TIMEOUT:
        return AuditNotReached(seconds=patience.all_s)
    if result.ending is Ending.OUT_OF_MEMORY:
        return AuditTooLarge(mib=patience.memory_bytes // 2**20)
    return AuditBroke(how=f"{result.ending.value} {result.code}")
