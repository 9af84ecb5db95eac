"""From a text and its language to what the harness measures: one way for the command line and for runs.

Pure: nothing is compiled here and no line of a candidate runs. A Python candidate's syntax tree is looked at only.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from pathlib import Path

from kernels.codegen import emit
from kernels.codegen.emission import Emission
from kernels.dsl import check, parse
from kernels.errors import UserError
from kernels.harness.evaluation import Candidate, ModuleCandidate, PlanCandidate
from kernels.languages import EDITOR_BYTES, Language, SourceRefused, check_text
from kernels.problems.inspection import Signature
from kernels.raw import emit_raw
from kernels.targets import Policy, Target

CLASS_NAME = "ModelNew"
"""The class of a Python candidate, as in KernelBench."""


class PythonSyntax(UserError):
    """A Python candidate that is no Python."""

    template = "line {line}, column {column}: {wrong}; Python that this interpreter reads would be right"

    def placed(self) -> str:
        """The error as the language's own are written: ``LINE:COLUMN: rule: words``."""
        return f"{self.fields['line']}:{self.fields['column']}: {self.slug()}: {self.fields['wrong']}"


class ClassMissing(UserError):
    """A Python candidate without the class that is built and called."""

    template = "the source defines no class {name} at its top level; class {name}(torch.nn.Module) would be right"


class NothingToBuild(UserError):
    """Generating or compiling was asked for of a language that has neither."""

    template = "a .{language} source is not compiled ahead: evaluate runs it as it is"


def prepare(
    source: str, language: Language, signature: Signature, target: Target, policy: Policy
) -> Emission | ModuleCandidate:
    """What is to be built (.mu, .cu, .cpp), or a Python module that is measured as it is.

    Raises ProgramErrors for a wrong .mu program, and for the others SourceRefused, LanguageElsewhere, PythonSyntax
    and ClassMissing.
    """
    if language is Language.MU:
        return emit(check(parse(source), signature, target, policy))
    if language is Language.PY:
        check_python(source)
        return ModuleCandidate(source, CLASS_NAME)
    return emit_raw(source, language, signature, target)


def emission_of(source: str, language: Language, signature: Signature, target: Target, policy: Policy) -> Emission:
    """``prepare`` for a caller that builds; NothingToBuild for Python."""
    prepared = prepare(source, language, signature, target, policy)
    if isinstance(prepared, ModuleCandidate):
        raise NothingToBuild(language=language.value)
    return prepared


def built(prepared: Emission | ModuleCandidate, artifacts: Mapping[str, Path | str]) -> Candidate:
    """The candidate of an evaluation request; ``artifacts`` are the shared objects by symbol."""
    if isinstance(prepared, ModuleCandidate):
        return prepared
    return PlanCandidate(prepared.plan, {symbol: str(path) for symbol, path in artifacts.items()})


def check_python(source: str) -> None:
    """Raise SourceRefused, PythonSyntax or ClassMissing; the text is parsed and never executed.

    A long text is parsed by the candidate's own process alone: a syntax tree takes hundreds of times its bytes.
    """
    check_text(source)
    if len(source) > EDITOR_BYTES:
        return
    tree = parsed(source)
    # A class that is made in some other way (an assignment, an import) is found when the module has run.
    if not _binds(tree, CLASS_NAME):
        raise ClassMissing(name=CLASS_NAME)


def parsed(source: str) -> ast.Module:
    """The syntax tree; PythonSyntax where there is none, SourceRefused where the parser gives up."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source, "candidate.py")
    except SyntaxError as error:
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        raise PythonSyntax(line=line, column=column, wrong=error.msg) from None
    except (RecursionError, MemoryError):
        raise SourceRefused(wrong="is nested too deeply to be parsed", right="flatter code") from None
    except ValueError as error:
        raise SourceRefused(wrong=f"cannot be parsed ({error})", right="plain Python text") from None


def _binds(tree: ast.Module, name: str) -> bool:
    """Whether the name is bound anywhere in the file, by a class, an assignment or an import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return True
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name:
            return True
        if isinstance(node, ast.alias) and (node.asname or node.name) in (name, "*"):
            return True
    return False
