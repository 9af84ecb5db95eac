"""Python and C++ on the pages: the playground, the candidate's page, and a run that begins with such a text."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.candidates import emission_of
from kernels.harness.evaluation import Evaluation, Outcome, StageShare
from kernels.languages import EDITOR_BYTES, Language
from kernels.models import Kernel, Problem, ProblemSize
from kernels.problems.inspection import Inspection
from kernels.records import from_json, to_json
from kernels.targets import Policy, Target
from runs.models import Attempt, Run
from tests.web import gallery
from tests.web.reading import html, part, text_of, words
from tests.web.test_launch import GOOD
from tests.web.test_playground import form, typed

PY = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
CPP = '#include "problem.h"\n\nint unfinished;\n'
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def two(db: None) -> Problem:
    return gallery.problems(2)[1]


@pytest.mark.parametrize(
    ("language", "target", "holds"),
    [
        ("py", "host", "class ModelNew(nn.Module):"),
        ("cpp", "host", "const auto* gemm_weight = problem::gemm_weight::of(inputs);  // f32[512, 512]"),
        ("cu", "sm_90a", "fill_with_zero<<<"),
    ],
)
def test_each_language_starts_from_the_problem(
    as_alice: Client, two: Problem, language: str, target: str, holds: str
) -> None:
    page = html(as_alice.get(f"/playground/?problem=own/2&target={target}&language={language}"))
    assert holds in typed(page)
    assert f'<option value="{language}" selected>' in page
    assert "disabled" not in part(page, "go", "button")
    again = html(as_alice.post("/playground/", form("something", language=language, target=target, fresh="1")))
    assert typed(again) == typed(page)


def test_an_unknown_language_in_the_address_is_the_first_one(as_alice: Client, two: Problem) -> None:
    assert typed(html(as_alice.get("/playground/?problem=own/2&language=fortran"))).startswith("program ")


def test_a_forged_language_is_said(as_alice: Client, two: Problem) -> None:
    response = as_alice.post("/playground/", form(PY, language="fortran", evaluate="1"))
    assert response.status_code == 422
    assert "Language: unknown; one of mu, py, cu, cpp" in words(html(response))
    assert Run.objects.count() == 0


def test_python_is_checked_for_its_syntax_with_the_place(as_alice: Client, two: Problem) -> None:
    right = text_of(as_alice.post("/playground/check/", form(PY, language="py")))
    assert "No errors of syntax. Python runs as it is" in right
    wrong = html(as_alice.post("/playground/check/", form(PY + "def f(:\n", language="py")))
    assert "python-syntax" in words(wrong)
    assert 'data-goto="7:7"' in wrong
    missing = text_of(as_alice.post("/playground/check/", form("x = 1", language="py")))
    assert "class-missing" in missing
    assert "class ModelNew(torch.nn.Module) would be right" in missing


def test_python_is_never_executed_by_the_page(as_alice: Client, two: Problem, tmp_path: Any) -> None:
    trap = tmp_path / "executed"
    source = f"open({str(trap)!r}, 'w').close()\n" + PY
    as_alice.post("/playground/check/", form(source, language="py"))
    as_alice.post("/playground/", form(source, language="py", evaluate="1"))
    assert not trap.exists()


@pytest.mark.parametrize(
    "source",
    ["(" * 200_000, "-" * 200_000 + "1", "x" + ".x" * 100_000, "f" + "()" * 100_000, "#" * (EDITOR_BYTES + 1)],
)
def test_python_made_to_break_the_parser_is_refused(as_alice: Client, two: Problem, source: str) -> None:
    said = text_of(as_alice.post("/playground/check/", form(source, language="py")))
    assert "source-refused" in said or "python-syntax" in said


def test_c_stands_beside_the_header_made_for_it(as_alice: Client, two: Problem) -> None:
    page = html(as_alice.post("/playground/check/", form(CPP, language="cpp")))
    assert "problem.h" in words(page)
    assert "struct gemm_weight" in words(part(page, "cpp", "pre"))
    assert "made from the problem’s signature" in words(page)


def test_a_language_that_the_target_has_no_compiler_for_is_an_error(as_alice: Client, two: Problem) -> None:
    page = as_alice.post("/playground/", form(CPP, language="cu", evaluate="1"))
    assert page.status_code == 422
    assert "a .cu source does not run on host" in words(html(page))
    assert "a .cpp source does not run on sm_90a" in text_of(
        as_alice.post("/playground/check/", form(CPP, language="cpp", target="sm_90a"))
    )


@pytest.mark.parametrize(("language", "source"), [("py", PY), ("cpp", CPP)])
def test_evaluating_launches_a_run_in_the_language(
    as_alice: Client, two: Problem, sent: list[int], language: str, source: str
) -> None:
    response = as_alice.post("/playground/", form(source, language=language, evaluate="1"))
    trajectory = Run.objects.get().trajectories.get()
    assert response.status_code == 302
    assert (trajectory.seed_language, trajectory.seed_program, trajectory.run.attempts) == (language, source, 1)


def attempt_in(alice: User, two: Problem, language: Language, source: str, outcome: Outcome) -> Attempt:
    one = gallery.attempt(gallery.trajectory(gallery.run(alice), two), 1, outcome, time_s=0.002)
    one.kernel = Kernel.objects.of_source(language, source)
    record = ProblemSize.objects.get(problem=two, size="cpu").record
    if language is Language.PY:
        one.build = None
    else:
        assert record is not None
        signature = from_json(record, Inspection).signature
        assert one.build is not None
        emission = emission_of(source, language, signature, Target.HOST, Policy.STRICT)
        one.build.emission = to_json(emission)
        one.build.save()
    assert one.evaluation is not None
    evaluation = from_json(one.evaluation.record, Evaluation)
    stage = StageShare("forward", 0.002, None) if language is Language.PY else StageShare("launch", 0.002, False)
    one.evaluation.record = to_json(evaluation) | {"stages": [to_json(stage)], "once_s": 0.5}
    one.evaluation.save()
    one.save()
    return one


def headings(page: str) -> list[str]:
    return [words(found) for found in re.findall(r"<h2[^>]*>(.*?)</h2>", page, re.S)]


def test_a_python_candidate_has_its_source_and_no_build(as_alice: Client, alice: User, two: Problem) -> None:
    one = attempt_in(alice, two, Language.PY, PY + f"# {HOSTILE}\n", Outcome.PASSED)
    page = html(as_alice.get(f"/runs/{one.trajectory.run_id}/own/2/1/"))
    assert HOSTILE not in page
    assert "ModelNew" in words(part(page, "mu", "pre"))
    assert "Python (ModelNew)" in headings(page)
    assert not {"Build", "sm_90a", "Generated C++"} & set(headings(page))
    assert 'href="#build"' not in page
    assert 'href="#sm_90a"' not in page
    assert "Import, construction, first call" in words(page)
    assert "in library stages" not in words(page)


def test_a_c_candidate_stands_beside_its_header(as_alice: Client, alice: User, two: Problem) -> None:
    one = attempt_in(alice, two, Language.CPP, CPP, Outcome.PASSED)
    page = html(as_alice.get(f"/runs/{one.trajectory.run_id}/own/2/1/"))
    assert {"C++", "problem.h", "Build"} <= set(headings(page))
    assert "sm_90a" not in headings(page)
    assert 'href="#build"' in page
    assert "int unfinished;" in words(part(page, "mu", "pre"))
    assert "namespace problem" in words(part(page, "cpp", "pre"))


@pytest.mark.parametrize(("language", "source"), [(Language.PY, PY), (Language.CPP, CPP)])
def test_a_candidate_is_edited_in_its_own_language(
    as_alice: Client, alice: User, two: Problem, language: Language, source: str
) -> None:
    one = attempt_in(alice, two, language, source, Outcome.PASSED)
    page = html(as_alice.get(f"/playground/?problem=own/2&target=host&policy=strict&kernel={one.kernel_id}"))
    assert typed(page) == source
    assert f'<option value="{language}" selected>' in page


def test_a_place_in_a_refused_python_program_is_shown_in_its_line(
    as_alice: Client, alice: User, two: Problem
) -> None:
    detail = "3:5: python-syntax: invalid syntax"
    one = gallery.attempt(gallery.trajectory(gallery.run(alice), two), 1, Outcome.REFUSED, detail=detail)
    one.kernel = Kernel.objects.of_source(Language.PY, "import torch\n\nx = = 1\n")
    one.save()
    page = words(html(as_alice.get(f"/runs/{one.trajectory.run_id}/own/2/1/")))
    assert "line 3 python-syntax" in page
    assert "3 │ x = = 1" in page


def test_a_run_that_begins_with_such_a_text_is_cloned_for_one_attempt(
    as_alice: Client, alice: User, two: Problem, sent: list[int]
) -> None:
    run = gallery.run(alice, "By hand", controller="flat", attempts=1)
    trajectory = gallery.trajectory(run, two)
    trajectory.seed_program, trajectory.seed_language = CPP, "cpp"
    trajectory.save()
    page = html(as_alice.get(f"/runs/new/?clone={run.pk}"))
    assert re.search(r'<input type="hidden" name="seed_language" value="cpp"', page)
    given = {**GOOD, "problems": [two.pk], "seed_program": CPP, "seed_language": "cpp", "patience": ""}
    refused = as_alice.post("/runs/new/", {**given, "attempts": "20", "target": "sm_90a"})
    assert refused.status_code == 422
    assert "in C++, which no proposer changes; 1 attempt" in text_of(refused)
    assert "in C++, which does not run there; another" in text_of(refused)
    assert as_alice.post("/runs/new/", {**given, "attempts": "1"}).status_code == 302
    launched = Run.objects.latest("pk").trajectories.get()
    assert (launched.seed_program, launched.seed_language) == (CPP, "cpp")
