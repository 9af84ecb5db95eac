"""From a text and its language to what is measured: each language, each refusal, and texts made to break a parser."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.candidates import (
    ClassMissing,
    NothingToBuild,
    PythonSyntax,
    built,
    check_python,
    emission_of,
    prepare,
)
from kernels.codegen.emission import Emission
from kernels.dsl import ProgramErrors
from kernels.dtypes import DType
from kernels.errors import UserError
from kernels.harness.evaluation import EvaluationRequest, ModuleCandidate, PlanCandidate
from kernels.harness.tolerance import profile
from kernels.languages import EDITOR_BYTES, SOURCE_BYTES, Language, LanguageUnknown, SourceRefused, language_of
from kernels.problems.inspection import Signature, TensorSpec
from kernels.records import dumps, loads
from kernels.targets import Policy, Target

SPEC = TensorSpec("x", DType.F32, (8, 8))
SIGNATURE = Signature((SPEC,), (), (TensorSpec("output0", DType.F32, (8, 8)),), {})
MU = "program p(x: f32[8, 8]) -> f32[8, 8]\n  y = map(relu(x))\n  return y\n"
PY = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
CPP = '#include "problem.h"\n'


def made(source: str, language: Language, target: Target = Target.HOST) -> Emission | ModuleCandidate:
    return prepare(source, language, SIGNATURE, target, Policy.STRICT)


@pytest.mark.parametrize(
    ("name", "language"),
    [("a.mu", Language.MU), ("b/c.PY", Language.PY), ("k.v2.cu", Language.CU), ("x.cpp", Language.CPP)],
)
def test_a_files_ending_names_its_language(name: str, language: Language) -> None:
    assert language_of(Path(name)) is language


@pytest.mark.parametrize("name", ["kernel", "kernel.cc", "kernel.mu.txt", ".mu", "kernel.", "-"])
def test_other_endings_are_refused_with_the_legal_ones(name: str) -> None:
    with pytest.raises(LanguageUnknown, match=r"\.mu, \.py, \.cu, \.cpp would be right"):
        language_of(Path(name))


def test_compiled_languages_give_a_plan_and_python_its_text() -> None:
    for source, language, target in ((MU, Language.MU, Target.HOST), (CPP, Language.CU, Target.SM90A)):
        prepared = made(source, language, target)
        assert isinstance(prepared, Emission)
        assert built(prepared, {"s": Path("/s.so")}) == PlanCandidate(prepared.plan, {"s": "/s.so"})
    assert made(PY, Language.PY) == built(made(PY, Language.PY), {}) == ModuleCandidate(PY)


def test_python_has_nothing_to_build() -> None:
    with pytest.raises(NothingToBuild, match="evaluate runs it as it is"):
        emission_of(PY, Language.PY, SIGNATURE, Target.HOST, Policy.STRICT)


def test_a_hand_written_source_is_passed_on_byte_for_byte() -> None:
    prepared = made(CPP + "// \té\r\n", Language.CPP)
    assert isinstance(prepared, Emission)
    assert prepared.units[0].source == CPP + "// \té\r\n"
    assert prepared.plan.steps[0].kind == "launch"


def test_each_kind_of_candidate_survives_its_record() -> None:
    emission = made(MU, Language.MU)
    for candidate in (built(emission, {"s": "/s.so"}), ModuleCandidate(PY, "Other")):
        tolerance = profile("kernelbench", DType.F32)
        request = EvaluationRequest("/p.py", "default", SIGNATURE, candidate, "host", tolerance)
        assert loads(dumps(request), EvaluationRequest) == request


def test_a_wrong_program_of_the_language_is_refused_with_all_its_errors() -> None:
    with pytest.raises(ProgramErrors):
        made("program", Language.MU)


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ("def f(:\n", PythonSyntax, "line 1, column 7"),
        ("x = 1\n  y = 2\n", PythonSyntax, "unexpected indent"),
        ("class Model: pass\n", ClassMissing, "no class ModelNew"),
        ("# ModelNew\n'ModelNew'\n", ClassMissing, "no class ModelNew"),
        ("import torch\nModelNew(1)\n", ClassMissing, "no class ModelNew"),
        ("x\0y", SourceRefused, "NUL bytes"),
        ("'\ud800'", SourceRefused, "surrogate"),
        ("", SourceRefused, "is empty"),
        ("a" * (SOURCE_BYTES + 1), SourceRefused, f"{SOURCE_BYTES + 1} bytes long"),
        ("é" * (SOURCE_BYTES // 2 + 1), SourceRefused, "bytes long"),
        ("x = '" + "a" * 5_000_000 + "'", SourceRefused, "bytes long"),
    ],
)  # fmt: skip
def test_python_that_is_none_is_refused_where_it_stands(source: str, error: type[UserError], words: str) -> None:
    with pytest.raises(error) as told:
        check_python(source)
    assert words in str(told.value)


@pytest.mark.parametrize(
    "source",
    [
        PY,
        "class ModelNew: pass",
        "from other import ModelNew",
        "from other import *",
        "from other import Model as ModelNew",
        "Base = object\nModelNew = Base",
        "if True:\n    class ModelNew: pass",
    ],
)
def test_a_class_bound_in_any_way_is_left_to_the_run(source: str) -> None:
    check_python(source)


def test_a_long_text_is_left_to_the_candidates_own_process() -> None:
    check_python("(" * (EDITOR_BYTES + 1))


N = 250_000


@pytest.mark.parametrize(
    "source",
    [
        "(" * N, "[" * N, "-" * N + "1", "not " * (N // 4) + "1", "a" + ".a" * (N // 2), "1" + "+1" * (N // 2),
        "lambda:" * (N // 7) + "1", "x if x else " * (N // 12) + "1", "1" + "**1" * (N // 3), "f" + "()" * (N // 2),
        "a" + "[0]" * (N // 3), "if 1:pass\n" + "elif 1:pass\n" * (N // 12), "9" * N, "f'{" * (N // 3),
        "match 1:\n case " + "[" * N + ":pass", "".join(" " * i + "if 1:\n" for i in range(300)),
    ],
)  # fmt: skip
def test_texts_made_to_break_the_parser_are_refused(source: str) -> None:
    with pytest.raises((SourceRefused, PythonSyntax)):
        check_python(source)
