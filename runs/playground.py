"""The playground: one program against one problem, checked and turned into C++ in the web process.

Parsing, checking and generating are pure and bounded by the parser's limit of text. Nothing is compiled or run here:
evaluating launches an ordinary run of one attempt whose first program is the edited text.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django import forms
from django.contrib.auth.models import User

from kernels.codegen import emit
from kernels.codegen.emission import Emission
from kernels.dsl import DslError, ProgramErrors, check, parse
from kernels.dsl.ir import Caution
from kernels.dsl.parser import SOURCE_LIMIT
from kernels.errors import UserError
from kernels.models import Problem, ProblemSize
from kernels.problems.inspection import Inspection
from kernels.records import from_json
from kernels.targets import Policy, Target
from kernels.translate import translate
from runs import launching
from runs.code_panes import UnitPane, unit_pane
from runs.forms import POLICIES, TARGETS, one_of
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
    source = forms.CharField(label="Program", required=False, strip=False)

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

    def translated(self) -> tuple[str, str]:
        """The translated program, or an empty one and why there is none."""
        if self.inspection is None:
            return "", self.why_not
        try:
            return translate(self.problem.name, self.inspection, self.target).program, ""
        except UserError as error:
            return "", str(error)


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
        return cls(None, None, error.slug(), str(error), "")


@dataclass(frozen=True)
class Looked:
    """What checking a text gave. ``seconds`` is how long parsing, checking and generating took, together."""

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


def look(source: str, setting: Setting, wanted: str = "") -> Looked:
    """Check ``source`` and generate its code; every error it earns is in what comes back."""
    began = time.perf_counter()
    errors: Sequence[UserError] = ()
    cautions: tuple[Caution, ...] = ()
    emission = None
    try:
        program = parse(source)
        if setting.inspection is not None:
            checked = check(program, setting.inspection.signature, setting.target, setting.policy)
            cautions = checked.warnings
            emission = emit(checked)
    except ProgramErrors as error:
        errors = error.errors
    except UserError as error:
        errors = (error,)
    seconds = time.perf_counter() - began
    return Looked(tuple(Mistake.of(error) for error in errors), cautions, emission, seconds, wanted)


def evaluate(owner: User, source: str, setting: Setting) -> Run:
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
    )
    return launching.launch(owner, order)


def limit_words() -> str:
    """How much text is read, in words."""
    return f"{SOURCE_LIMIT // 1024} KiB"
