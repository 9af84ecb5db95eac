"""One file's audit in the form that the command line prints and the pages keep: a line of JSON."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernels.candidates import PythonSyntax
from kernels.dsl import ProgramErrors
from kernels.errors import UserError
from kernels.harness.evaluation import Outcome
from kernels.languages import SOURCE_BYTES, SourceRefused
from sol.audit.record import Flag
from sol.audit.report import AuditOutcome, audit, outcome_of
from sol.audit.subject import Subject

_ERRORS_TOLD = 5
_OF_TEXT = frozenset(kind.slug() for kind in (SourceRefused, PythonSyntax, ProgramErrors))


@dataclass(frozen=True, slots=True)
class AuditForm:
    """One line of ``mucutlass audit --json``. ``error`` says why a file was refused, else null; ``evaluation`` is how
    its evaluation ended, null where there was none, and ``detail`` its words; ``notes`` tell of a model that judged."""

    file: str
    outcome: AuditOutcome
    flags: tuple[Flag, ...]
    error: str | None = None
    evaluation: Outcome | None = None
    detail: str = ""
    notes: tuple[str, ...] = ()

    @property
    def unreadable(self) -> bool:
        """Whether the text itself was refused; False for one that was read, and where a limit or a mistake is ours."""
        return self.error is not None and self.error.partition(": ")[0] in _OF_TEXT

    @property
    def gravest_first(self) -> tuple[Flag, ...]:
        """The flags as people read them: the gravest first, then by the order of the detectors."""
        return tuple(sorted(self.flags, key=lambda flag: flag.gravity, reverse=True))


def form_of(file: str, subject: Subject) -> AuditForm:
    """The audit of a text. Raises nothing for one that cannot be audited: its form says why."""
    try:
        flags = audit(subject)
    except (UserError, ProgramErrors) as error:
        return refused(file, error)
    return AuditForm(file, outcome_of(flags), flags)


def refused(file: str, error: UserError | ProgramErrors) -> AuditForm:
    """The form of a file that was not audited."""
    if isinstance(error, ProgramErrors):
        words = "; ".join(str(one) for one in error.errors[:_ERRORS_TOLD])
        return AuditForm(file, AuditOutcome.REFUSED, (), f"program-errors: {words}")
    return AuditForm(file, AuditOutcome.REFUSED, (), f"{error.slug()}: {error}")


def renamed(form: AuditForm, file: str) -> AuditForm:
    """The same audit of a file by another name."""
    return replace(form, file=file)


def text_of(data: bytes, most: int = SOURCE_BYTES) -> str:
    """The text of a file's bytes, its line ends those of the language. Raises SourceRefused."""
    if len(data) > most:
        raise SourceRefused(wrong=f"is {len(data)} bytes long", right=f"at most {most} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        wrong = f"is no UTF-8 (byte 0x{data[error.start]:02x} at {error.start})"
        raise SourceRefused(wrong=wrong, right="text in UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
