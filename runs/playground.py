"""The playground: one program against one problem, checked and turned into C++ in the web process.

Parsing, checking and generating are pure and bounded by the parser's limit of text. Of Python only the syntax is
checked, of C++ nothing before its build. Nothing is compiled or run here: evaluating launches an ordinary run of one
attempt whose first program is the edited text.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.contrib.auth.models import User

from kernels.candidates import PythonSyntax, check_python
from kernels.codegen import emit
from kernels.codegen.emission import Emission
from kernels.dsl import DslError, ProgramErrors, check, parse
from kernels.dsl.ir import Caution
from kernels.dsl.parser import SOURCE_LIMIT
from kernels.errors import UserError
from kernels.harness.baselines import quick_baselines
from kernels.languages import EDITOR_BYTES, Language, check_target, check_text
from kernels.models import Problem, ProblemSize
from kernels.problems.inspection import Inspection
from kernels.problems.module_text import module_text
from kernels.raw import emit_raw, skeleton
from kernels.records import from_json
from kernels.targets import Policy, Target
from kernels.translate import translate
from runs import launching
from runs.code_panes import UnitPane, unit_pane
from runs.forms import LANGUAGES, POLICIES, TARGETS, one_of
from runs.launching import LaunchOrder
from runs.models import Run

LINES_SHOWN = 2000
"""Lines of generated code that an answer carries; few units are longer, and those are whole on a candidate's page."""
_TITLE_LIMIT = 200


class PlaygroundForm(forms.Form):
    """What is edited, and against what. The text may be empty or wrong: that is the checker's business."""

    problem = forms.ModelChoiceField(
        label="Problem",
        queryset=Problem.objects.defer("source"),
        to_field_name="slug",
        error_messages={"required": "none chosen; one of the list", "invalid_choice": "not here any more"},
    )
    target = one_of("Target", TARGETS)
    policy = one_of("Precision policy", POLICIES)
    language = one_of("Language", LANGUAGES, required=False)
    source = forms.CharField(label="Program", required=False, strip=False)

    def clean_language(self) -> Language:
        """μCUTLASS where none is named."""
        return Language(self.cleaned_data["language"] or Language.MU)

    def clean_source(self) -> str:
        """The text with the line ends of the language; browsers send CRLF."""
        return str(self.cleaned_data["source"]).replace("\r\n", "\n").replace("\r", "\n")


@dataclass(frozen=True)
class Setting:
    """What a program is checked against. ``why_not`` says why nothing can be evaluated; empty where it can."""

    problem: Problem
    target: Target
    policy: Policy
    size: str
    inspection: Inspection | None
    why_not: str

    @classmethod
    def of(cls, problem: Problem, target: Target, policy: Policy) -> Setting:
        """The setting with the problem's inspection at the size it has on the target. One query."""
        size = problem.size_for(target)
        row = ProblemSize.objects.filter(problem=problem, size=size, digest=problem.digest).first()
        why_not = ""
        if row is None:
            why_not = f"{problem.slug} has not been inspected at size {size} yet; a worker does it when it is idle"
        elif row.error:
            why_not = f"{problem.slug} cannot be measured: {row.error}: {row.detail}"
        record = from_json(row.record, Inspection) if row is not None and row.record else None
        return cls(problem, target, policy, size, record, why_not)

    def template(self, language: Language) -> tuple[str, str]:
        """A text to start from, made from the problem, or an empty one and why there is none."""
        if language is Language.PY:
            return module_text(self.problem.source), ""
        if self.inspection is None:
            return "", self.why_not
        if language.is_raw:
            return skeleton(self.inspection.signature, language), ""
        try:
            return translate(self.problem.name, self.inspection, self.target).program, ""
        except UserError as error:
            return "", str(error)


def setting_of(data: dict[str, Any]) -> Setting:
    """The setting that a valid form names."""
    return Setting.of(data["problem"], Target(data["target"]), Policy(data["policy"]))


@dataclass(frozen=True, slots=True)
class Mistake:
    """One error and where it is; ``line`` is None where it is about no place. ``wrong`` and ``right`` are its words."""

    line: int | None
    column: int | None
    rule: str
    wrong: str
    right: str

    @classmethod
    def of(cls, error: UserError) -> Mistake:
        """The error in parts."""
        if isinstance(error, DslError):
            return cls(error.line, error.column, error.rule, error.message, error.mend)
        if isinstance(error, PythonSyntax):
            line, column, wrong = (error.fields[name] for name in ("line", "column", "wrong"))
            return cls(line, column, error.slug(), wrong, "Python that the interpreter reads would be right")
        return cls(None, None, error.slug(), str(error), "")


@dataclass(frozen=True)
class Looked:
    """What checking a text gave. ``seconds`` is how long parsing, checking and generating took, together."""

    language: Language

    errors: tuple[Mistake, ...]
    cautions: tuple[Caution, ...]
    emission: Emission | None
    seconds: float
    wanted: str = ""

    @cached_property
    def stages(self) -> tuple[str, ...]:
        """The first stage of each unit, by which one is chosen."""
        return tuple(unit.stages[0] for unit in self.emission.units) if self.emission else ()

    @property
    def chosen(self) -> str:
        """The unit shown: the one that was asked for while it is there, else the first."""
        return self.wanted if self.wanted in self.stages else (self.stages[0] if self.stages else "")

    @cached_property
    def pane(self) -> UnitPane | None:
        """The generated code shown."""
        if self.emission is None or not self.chosen:
            return None
        return unit_pane(self.emission, self.stages.index(self.chosen), False, LINES_SHOWN)


def look(source: str, setting: Setting, language: Language = Language.MU, wanted: str = "") -> Looked:
    """Check ``source`` and generate its code; every error it earns is in what comes back."""
    began = time.perf_counter()
    errors: Sequence[UserError] = ()
    cautions: tuple[Caution, ...] = ()
    emission = None
    try:
        if language is Language.MU:
            cautions, emission = _checked(source, setting)
        elif language is Language.PY:
            check_text(source, EDITOR_BYTES)
            check_python(source)
        else:
            check_text(source, EDITOR_BYTES)
            check_target(language, setting.target)
            if setting.inspection is not None:
                emission = emit_raw(source, language, setting.inspection.signature, setting.target)
    except ProgramErrors as error:
        errors = error.errors
    except UserError as error:
        errors = (error,)
    seconds = time.perf_counter() - began
    return Looked(language, tuple(Mistake.of(error) for error in errors), cautions, emission, seconds, wanted)


def _checked(source: str, setting: Setting) -> tuple[tuple[Caution, ...], Emission | None]:
    """What a μCUTLASS program gives; nothing of one whose problem is not known yet, but its grammar is checked."""
    program = parse(source)
    if setting.inspection is None:
        return (), None
    checked = check(program, setting.inspection.signature, setting.target, setting.policy)
    return checked.warnings, emit(checked)


def evaluate(owner: User, source: str, setting: Setting, language: Language = Language.MU) -> Run:
    """Launch a run of one attempt that builds and measures ``source``. The text must have been found right."""
    order = LaunchOrder(
        title=f"playground: {setting.problem.slug} {setting.problem.name}"[:_TITLE_LIMIT],
        problems=(setting.problem.pk,),
        target=setting.target,
        policy=setting.policy,
        controller="flat",
        proposer="search",
        attempts=1,
        epsilon=None,
        patience=None,
        steering=False,
        seed=0,
        tolerance="strict",
        seed_program=source,
        seed_language=language,
        baselines=quick_baselines("cuda" if setting.target.is_cuda else "host"),
    )
    return launching.launch(owner, order)


def limit_words(language: Language = Language.MU) -> str:
    """How much text is read, in words."""
    limit = SOURCE_LIMIT if language is Language.MU else EDITOR_BYTES
    return f"{limit // 1024} KiB"
