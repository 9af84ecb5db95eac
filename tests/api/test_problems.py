"""Problems, bounds, programs and the language through the API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kernels.dsl import check, parse, reference
from kernels.models import Problem
from kernels.problems.files import own_directory
from kernels.problems.inspect import inspect
from kernels.problems.inspection import Inspection
from kernels.records import to_json
from kernels.targets import Policy, Target
from mucutlass_web.cli.main import main
from tests.api.asking import Asker, name_of
from tests.runs.worlds import make_problem
from tests.web import gallery

FILE = own_directory() / "02_gemm_bias_relu.py"


@pytest.fixture(scope="module")
def inspection() -> Inspection:
    """The problem as a child process sees it, once for all tests here."""
    return inspect(FILE, "cpu")


@pytest.fixture
def problem(db: None, inspection: Inspection) -> Problem:
    row = Problem.objects.create(
        slug="own/2", collection="own", number=2, name="Gemm_Bias_ReLU", file_name=FILE.name,
        source=FILE.read_text(), digest="d", sizes=["cpu", "gpu"],
    )  # fmt: skip
    row.inspections.create(size="cpu", digest="d", record=to_json(inspection), kind="gemm", flops=1, bytes=2)
    return row


def test_problems_are_paged_in_a_stable_order(as_alice: Asker) -> None:
    for number in range(1, 6):
        make_problem(number)
    first = as_alice.get("/problems", limit=2).json()
    make_problem(6)
    seen, after = [item["slug"] for item in first["items"]], first["next"]
    while after is not None:
        page = as_alice.get("/problems", limit=2, after=after).json()
        seen += [item["slug"] for item in page["items"]]
        after = page["next"]
    assert seen == [f"own/{number}" for number in range(1, 7)]


def test_problems_are_found_by_name_slug_and_collection(as_alice: Asker, problem: Problem) -> None:
    make_problem(1)
    assert [item["slug"] for item in as_alice.get("/problems", q="bias relu").json()["items"]] == ["own/2"]
    assert len(as_alice.get("/problems", collection="own").json()["items"]) == 2
    assert as_alice.get("/problems", q="\0nothing").json() == {"items": [], "next": None}
    assert as_alice.get("/problems", limit=0).status_code == 422


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/problems/own/%00", {}),
        ("/problems/own/%00/sol", {}),
        ("/problems/own/%00/program", {}),
        ("/problems/own/2/sol", {"size": "a\0"}),
    ],
)
def test_what_no_database_holds_is_refused(
    as_alice: Asker, problem: Problem, path: str, asked: dict[str, str]
) -> None:
    answer = as_alice.get(path, **asked)
    assert (answer.status_code, name_of(answer)) == (422, "request-not-valid")
    assert "NUL bytes" in answer.json()["detail"]


def test_a_problem_has_its_source_and_its_tensors(as_alice: Asker, problem: Problem) -> None:
    form = as_alice.get("/problems/own/2").json()
    assert form["source"] == problem.source
    cpu, gpu = form["inspected"]
    assert (cpu["status"], cpu["inputs"][0]["dtype"], len(cpu["inputs"][0]["shape"])) == ("inspected", "f32", 2)
    assert (gpu["status"], gpu["inputs"], gpu["flops"]) == ("waiting", None, None)
    answer = as_alice.get("/problems/own/99")
    assert (answer.status_code, name_of(answer)) == (404, "nothing-here")


def test_the_sol_record_is_the_command_lines(
    as_alice: Asker, problem: Problem, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sol", str(FILE), "--device", "h100", "--policy", "strict", "--size", "cpu", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    form = as_alice.get("/problems/own/2/sol", device="h100", policy="strict", size="cpu").json()
    assert {**form, "problem": told["problem"]} == told
    assert form["problem"] == "own/2"


def test_bounds_on_this_machine_once_it_was_measured(as_alice: Asker, problem: Problem) -> None:
    missing = as_alice.get("/problems/own/2/sol")
    assert (missing.status_code, name_of(missing)) == (404, "no-report-yet")
    gallery.device()
    assert as_alice.get("/problems/own/2/sol").json()["device"] == gallery.MACHINE


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ({"device": "abacus"}, 422, "no device 'abacus'; host, "),
        ({"device": "h100", "size": "gpu"}, 404, "a worker looks at it"),
        ({"device": "h100", "size": "huge"}, 404, "its sizes are cpu, gpu"),
        ({"device": "h100", "policy": "loose"}, 422, "query.policy"),
    ],
)
def test_a_bound_that_cannot_be_had_says_why(
    as_alice: Asker, problem: Problem, query: dict[str, Any], status: int, said: str
) -> None:
    answer = as_alice.get("/problems/own/2/sol", **query)
    assert answer.status_code == status
    assert said in answer.json()["detail"]


def test_the_program_to_start_from_is_legal(as_alice: Asker, problem: Problem, inspection: Inspection) -> None:
    form = as_alice.get("/problems/own/2/program").json()
    assert (form["size"], form["language"]) == ("cpu", "mu")
    assert check(parse(form["text"]), inspection.signature, Target.HOST, Policy.STRICT).stages
    assert "class ModelNew" in as_alice.get("/problems/own/2/program", language="py").json()["text"]
    waiting = as_alice.get("/problems/own/2/program", target="sm_90a")
    assert (waiting.status_code, name_of(waiting)) == (404, "no-report-yet")


def test_the_language_of_one_target_or_all(as_alice: Asker) -> None:
    assert as_alice.get("/language").content.decode() == reference()
    answer = as_alice.get("/language", target="host")
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert answer.content.decode() == reference(Target.HOST)
    assert as_alice.get("/language", target="abacus").status_code == 422


def test_reading_a_list_takes_as_many_queries_for_many_as_for_few(as_alice: Asker) -> None:
    make_problem(1)
    as_alice.get("/me")
    with CaptureQueriesContext(connection) as few:
        as_alice.get("/problems")
    for number in range(2, 30):
        make_problem(number)
    with CaptureQueriesContext(connection) as many:
        as_alice.get("/problems")
    assert len(many) == len(few) == 2
