"""Audits of files without a run: what somebody gives, what it is audited beside, and the report that is kept.

Nothing given is executed, and the texts go before the detectors in a child process with limits. A problem of one's
own is text too: what it is compared with, never run.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile

from kernels.errors import UserError
from kernels.languages import Language, language_of
from kernels.models import Problem, ProblemSize
from kernels.problems.inspection import Inspection, Signature
from kernels.records import from_json, to_json
from kernels.targets import Policy, Target
from runs.audit_models import Audit
from sol.audit import AuditOutcome, Subject
from sol.audit.apart import audit_apart
from sol.audit.form import AuditForm, refused, text_of
from sol.audit.version import audit_version

MOST_FILES = 20
MOST_BYTES = 8 * 2**20
"""Bytes of all files of one audit together."""
KEPT_BYTES = 2**20
"""A longer text is audited, and its report shows no code."""
NAME_LETTERS = 120

_GRAVER = (AuditOutcome.CLEAN, AuditOutcome.REFUSED, AuditOutcome.SUSPECT, AuditOutcome.SEVERE)
_AT_ONCE = threading.BoundedSemaphore(2)
_WAIT_S = 10.0


class AuditsBusy(UserError):
    """More audits at a time than this server makes."""

    template = "other audits are under way here; in a few seconds there is room again, and nothing given is lost"


@dataclass(frozen=True, slots=True)
class Given:
    """One file as it came: its name and its bytes."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Beside:
    """What files are audited beside. ``name`` is empty without a problem; ``row`` is None of one of one's own, whose
    ``signature`` is not known: that takes running it."""

    policy: Policy
    name: str = ""
    text: str | None = None
    row: Problem | None = None
    signature: Signature | None = None


@dataclass(frozen=True, slots=True)
class KeptFile:
    """One file of a report. ``text`` is null where there is none to show, ``language`` where its name tells none."""

    form: AuditForm
    language: Language | None
    text: str | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Kept:
    """What a report keeps: its files, in the order in which they were given."""

    files: tuple[KeptFile, ...]


def given_file(upload: UploadedFile[bytes]) -> Given:
    """An uploaded file, by the last part of its name."""
    return Given(plain_name(upload.name or ""), upload.read())


def plain_name(name: str) -> str:
    """A name as it is kept and shown: one line, without control characters, its ending kept where it is cut."""
    plain = "".join(letter if letter.isprintable() else "�" for letter in name).strip() or "unnamed"
    if len(plain) <= NAME_LETTERS:
        return plain
    ending = Path(plain).suffix[:8]
    return f"{plain[: NAME_LETTERS - len(ending) - 1]}…{ending}"


def beside_problem(problem: Problem, policy: Policy) -> Beside:
    """A problem of the catalogue, with its shapes at its CPU size where it was inspected. One query."""
    rows = ProblemSize.objects.filter(problem=problem, size=problem.size_for(Target.HOST))
    record = rows.values_list("record", flat=True).first()
    signature = from_json(record, Inspection).signature if record else None
    return Beside(policy, f"{problem.slug} {problem.name}", problem.source, problem, signature)


def make(owner: User, files: Sequence[Given], beside: Beside) -> Audit:
    """Audit the files and keep the report. Raises AuditsBusy where others are under way and stay so."""
    texts: list[str | None] = []
    forms: dict[int, AuditForm] = {}
    waiting: list[tuple[int, Subject]] = []
    for number, file in enumerate(files):
        text: str | None = None
        try:
            language = language_of(Path(file.name))
            text = text_of(file.data)
        except UserError as error:
            forms[number] = refused(file.name, error)
        else:
            waiting.append((number, Subject(text, language, beside.text, beside.signature, beside.policy)))
        texts.append(text)
    with _turn():
        found = audit_apart([(files[number].name, subject) for number, subject in waiting])
    forms |= {number: form for (number, _), form in zip(waiting, found, strict=True)}
    kept = tuple(_kept(file, text, forms[n]) for n, (file, text) in enumerate(zip(files, texts, strict=True)))
    counts = Counter(form.outcome.value for form in forms.values())
    return Audit.objects.create(
        owner=owner,
        digest=digest_of(files, beside),
        problem=beside.row,
        beside=beside.name,
        policy=beside.policy,
        outcome=gravest(AuditOutcome(outcome) for outcome in counts),
        counts=dict(counts),
        version=audit_version(),
        record=to_json(Kept(kept)),
    )


def gravest(outcomes: Iterator[AuditOutcome]) -> AuditOutcome:
    """The outcome of several: severe before suspect, and clean only where every one is."""
    return max(outcomes, key=_GRAVER.index, default=AuditOutcome.CLEAN)


def digest_of(files: Sequence[Given], beside: Beside) -> str:
    """SHA-256 of the texts, their names, and what they were audited beside."""
    digest = hashlib.sha256()
    for part in (beside.policy.value, beside.name, beside.text or "", audit_version()):
        digest.update(part.encode("utf-8", "replace") + b"\0")
    for file in files:
        digest.update(file.name.encode("utf-8", "replace") + b"\0" + hashlib.sha256(file.data).digest())
    return digest.hexdigest()


def _kept(file: Given, text: str | None, form: AuditForm) -> KeptFile:
    """A database need not hold NUL, and a page need not show megabytes."""
    shown = text if text is not None and "\0" not in text and len(file.data) <= KEPT_BYTES else None
    try:
        language = language_of(Path(file.name))
    except UserError:
        language = None
    return KeptFile(form, language, shown, len(file.data))


@contextmanager
def _turn() -> Iterator[None]:
    """Two audits at a time: each takes a core, and the pages need theirs."""
    if not _AT_ONCE.acquire(timeout=_WAIT_S):
        raise AuditsBusy()
    try:
        yield
    finally:
        _AT_ONCE.release()
