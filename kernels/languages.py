"""The languages of candidates, told by the ending of a file's name, and what may stand in a source's text at all."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from kernels.errors import UserError
from kernels.targets import Target

SOURCE_BYTES = 4 * 2**20
"""Most bytes of a hand-written source; an exported file with its shared objects inside has some hundred thousand."""

EDITOR_BYTES = 256 * 1024
"""Most bytes of one that is checked while somebody types."""


class LanguageUnknown(UserError):
    """A file whose ending names no language."""

    template = "{path}: there is no candidate language of that ending; {endings} would be right"


class SourceRefused(UserError):
    """A text that is no source, whatever the language."""

    template = "the source {wrong}; {right} would be right"


class LanguageElsewhere(UserError):
    """A language that the target has no compiler for."""

    template = "a .{language} source does not run on {target}; {right} would be right"


class Language(StrEnum):
    """A candidate's language, by the ending of its files."""

    MU = "mu"
    PY = "py"
    CU = "cu"
    CPP = "cpp"

    @property
    def label(self) -> str:
        """What people call it."""
        return _LABELS[self]

    @property
    def is_raw(self) -> bool:
        """Whether a compiler reads it as it is: CUDA C++ and C++ by the launch ABI."""
        return self in (Language.CU, Language.CPP)

    def runs_on(self, target: Target) -> bool:
        """Whether the target has a compiler for it."""
        return not self.is_raw or (self is Language.CU) is target.is_cuda


_LABELS = {
    Language.MU: "μCUTLASS",
    Language.PY: "Python (ModelNew)",
    Language.CU: "CUDA C++",
    Language.CPP: "C++",
}


def language_of(path: Path) -> Language:
    """The language that a file's ending names; LanguageUnknown where it names none."""
    try:
        return Language(path.suffix.removeprefix(".").lower())
    except ValueError:
        raise LanguageUnknown(path=path, endings=", ".join(f".{language}" for language in Language)) from None


def check_text(source: str, most: int = SOURCE_BYTES) -> None:
    """Raise SourceRefused for a text that no compiler should be given, or of more than ``most`` bytes."""
    if "\0" in source:
        raise SourceRefused(wrong="holds NUL bytes", right="text")
    try:
        size = len(source.encode("utf-8"))
    except UnicodeEncodeError:
        raise SourceRefused(wrong="holds halves of surrogate pairs", right="text that UTF-8 can hold") from None
    if size > most:
        raise SourceRefused(wrong=f"is {size} bytes long", right=f"at most {most} bytes")
    if not source.strip():
        raise SourceRefused(wrong="is empty", right="a program")


def check_target(language: Language, target: Target) -> None:
    """Raise LanguageElsewhere where the target has no compiler for the language."""
    if not language.runs_on(target):
        right = "a .cu source, or the host," if target.is_cuda else "a .cpp source, or a card (sm_80, sm_90a),"
        raise LanguageElsewhere(language=language.value, target=target.value, right=right)
