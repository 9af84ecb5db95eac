"""The playground: what is shown for a program right and wrong, what is evaluated, what is refused, who may come."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.dsl.parser import SOURCE_LIMIT
from kernels.models import Problem, ProblemSize
from runs.models import Attempt, Job, Run
from runs.states import JobKind
from tests.web import gallery
from tests.web.reading import html, links, part, text_of, words

HEAD = "program p(x: f32[512, 512], gemm.weight: f32[512, 512]) -> f32[512, 512]\n"
RIGHT = HEAD + "  y = gemm(x, gemm.weight.T) >> relu()\n  return y\n"
WRONG = HEAD + "  y = gemm(x, gemm.weight.T) >> rellu()\n  return y\n"
TWO = HEAD + "  a = gemm(x, gemm.weight.T) >> relu()\n  y = map(exp(a))\n  return y\n"
HOSTILE = "</textarea><script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


@pytest.fixture
def two(db: None) -> Problem:
    return gallery.problems(2)[1]


def form(source: str, **fields: str) -> dict[str, str]:
    return {"problem": "own/2", "target": "host", "policy": "strict", "source": source, **fields}


def typed(source: str) -> str:
    """The text of the editor as the browser would show it."""
    from html import unescape

    found = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", source, re.S)
    assert found is not None
    return unescape(found[1])


def test_it_opens_with_the_translated_program_beside_its_code(as_alice: Client, two: Problem) -> None:
    page = html(as_alice.get("/playground/?problem=own/2&target=host&policy=strict"))
    assert typed(page).startswith("program gemm_bias_relu(x: f32[512, 512]")
    assert "mu/gemm.h" in words(part(page, "cpp", "pre"))
    assert "disabled" not in part(page, "go", "button")


def test_it_opens_with_a_kernel_that_was_named(as_alice: Client, alice: User, two: Problem) -> None:
    one = gallery.attempt(gallery.trajectory(gallery.run(alice), two), 1, time_s=0.001)
    page = html(as_alice.get(f"/playground/?problem=own/2&kernel={one.kernel_id}"))
    assert typed(page) == one.kernel.source
    assert str(one.kernel) in words(page)


def test_a_candidate_and_a_problem_lead_to_it(as_alice: Client, alice: User, two: Problem) -> None:
    run = gallery.run(alice)
    one = gallery.attempt(gallery.trajectory(run, two), 1, time_s=0.001)
    here = f"/playground/?problem=own/2&target=host&policy=strict&kernel={one.kernel_id}"
    assert here in links(html(as_alice.get(f"/runs/{run.pk}/own/2/1/")))
    assert "/playground/?problem=own/2" in links(html(as_alice.get("/problems/own/2/")))
    assert typed(html(as_alice.get(here))) == one.kernel.source


@pytest.mark.parametrize(
    "query", ["problem=own/404", "kernel=999", "kernel=x", "kernel=%F0%9D%9F%99", f"kernel={9**30}"]
)
def test_what_is_not_there_is_not_found(as_alice: Client, two: Problem, query: str) -> None:
    assert as_alice.get(f"/playground/?{query}").status_code == 404


def test_an_address_without_a_problem_takes_one_that_is_inspected(as_alice: Client, db: None) -> None:
    gallery.broken_problem(1)
    gallery.problem(2)
    assert typed(html(as_alice.get("/playground/?target=abacus&policy=loose"))).startswith("program gemm_bias_relu")


def test_without_any_problem_it_says_how_to_get_some(as_alice: Client) -> None:
    assert "manage.py import_problems" in text_of(as_alice.get("/playground/"))


def test_checking_names_each_error_with_its_place_and_what_would_be_right(as_alice: Client, two: Problem) -> None:
    page = html(as_alice.post("/playground/check/", form(WRONG)))
    assert 'data-goto="2:30"' in page
    said = words(page)
    assert "1 error" in said
    assert "unknown-function" in said
    assert "did you mean 'relu'?" in said
    assert "Generated" not in said
    go = part(page, "go-with", "div")
    assert "The program has 1 error" in go
    assert "disabled" in part(go, "go", "button")


def test_checking_a_right_program_shows_its_code_and_lets_it_be_evaluated(as_alice: Client, two: Problem) -> None:
    page = html(as_alice.post("/playground/check/", form(RIGHT)))
    assert 'data-to="M2"' in part(page, "cpp", "pre")
    assert "No host worker online: it would wait" in page
    assert "disabled" not in part(page, "go", "button")


def test_a_stage_is_chosen_where_there_are_several(as_alice: Client, two: Problem) -> None:
    first = html(as_alice.post("/playground/check/", form(TWO)))
    other = html(as_alice.post("/playground/check/", form(TWO, unit="y")))
    assert '<option value="a" selected>' in first
    assert '<option value="y" selected>' in other
    assert part(first, "cpp", "pre") != part(other, "cpp", "pre")
    gone = html(as_alice.post("/playground/check/", form(TWO, unit="no-such-stage")))
    assert part(gone, "cpp", "pre") == part(first, "cpp", "pre")


def test_cautions_are_listed_beside_the_code(
    as_alice: Client, two: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from kernels.dsl import check
    from kernels.dsl.ir import Caution
    from kernels.dsl.syntax import Span

    def cautious(*given: Any) -> Any:
        return replace(check(*given), warnings=(Caution("copies", HOSTILE, Span(2, 7, 2, 9)),))

    monkeypatch.setattr("runs.playground.check", cautious)
    page = html(as_alice.post("/playground/check/", form(RIGHT)))
    assert "caution: copies" in words(page)
    assert 'data-goto="2:7"' in page
    assert "<script>alert" not in page


def test_a_text_over_the_limit_is_refused_and_kept(as_alice: Client, two: Problem) -> None:
    long = RIGHT + "#" * SOURCE_LIMIT
    assert "source-size" in text_of(as_alice.post("/playground/check/", form(long)))
    page = html(as_alice.post("/playground/", form(long, evaluate="1")))
    assert typed(page) == long
    assert Run.objects.count() == 0


def test_without_a_script_the_form_checks_and_keeps_the_text(as_alice: Client, two: Problem) -> None:
    response = as_alice.post("/playground/", form(WRONG.replace("\n", "\r\n")))
    page = html(response)
    assert response.status_code == 200
    assert typed(page) == WRONG
    assert "unknown-function" in words(page)
    assert '<noscript><button class="btn">Check</button></noscript>' in page


def test_evaluating_launches_a_run_of_one_attempt_that_begins_with_the_text(
    as_alice: Client, two: Problem, sent: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        response = as_alice.post("/playground/", form(RIGHT.replace("\n", "\r\n"), policy="tf32", evaluate="1"))
    run = Run.objects.get()
    assert (response.status_code, response.headers["Location"]) == (302, f"/runs/{run.pk}/")
    assert (run.title, run.attempts, run.policy) == ("playground: own/2 Gemm_Bias_ReLU", 1, "tf32")
    assert run.owner.get_username() == "alice"
    assert run.trajectories.get().seed_program == RIGHT
    assert sent == [Job.objects.get(kind=JobKind.PREPARE).pk]


def test_a_program_that_does_not_check_is_not_evaluated(as_alice: Client, two: Problem) -> None:
    response = as_alice.post("/playground/", form(WRONG, evaluate="1"))
    page = html(response)
    assert response.status_code == 422
    assert "Not evaluated: the program has 1 error" in words(page)
    assert "unknown-function" in words(page)
    assert typed(page) == WRONG
    assert (Run.objects.count(), Job.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("problem", "own/404", "Problem: not here any more"),
        ("target", "sm_120", "Target: unknown; one of host, sm_90a"),
        ("policy", "", "Precision policy: nothing chosen"),
        ("source", RIGHT + "# \0", "Program: Null characters are not allowed"),
    ],
)
def test_a_forged_choice_is_said_and_nothing_typed_is_lost(
    as_alice: Client, two: Problem, field: str, value: str, said: str
) -> None:
    given = form(RIGHT, evaluate="1") | {field: value}
    response = as_alice.post("/playground/", given)
    assert response.status_code == 422
    assert said in words(html(response))
    assert typed(html(response)) == given["source"]
    assert said in text_of(as_alice.post("/playground/check/", given))
    assert Run.objects.count() == 0


@pytest.mark.parametrize("error", [None, "problem-timed-out"])
def test_a_problem_that_cannot_be_measured_says_why(as_alice: Client, two: Problem, error: str | None) -> None:
    seen = ProblemSize.objects.filter(problem=two)
    if error is None:
        seen.delete()
    else:
        seen.update(error=error, detail="it ran for 60 s", record=None)
    why = "own/2 has not been inspected at size cpu yet" if error is None else "own/2 cannot be measured"
    page = html(as_alice.get("/playground/?problem=own/2"))
    assert why in words(page)
    response = as_alice.post("/playground/", form(RIGHT, evaluate="1"))
    assert response.status_code == 422
    assert why in words(html(response))
    assert "Only its grammar was checked" in words(html(response))
    assert Run.objects.count() == 0


@pytest.mark.parametrize("around", ["{}", HEAD + "  y = map({})\n  return y\n", RIGHT + "# {}\n", "program {}()"])
def test_hostile_text_stays_text(as_alice: Client, two: Problem, around: str) -> None:
    text = around.format(HOSTILE)
    for address in ("/playground/", "/playground/check/"):
        page = html(as_alice.post(address, form(text)))
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert not re.search(r"<[^>]+\son[a-z]+=|<[^>]+\sstyle=", page)
        assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert typed(html(as_alice.post("/playground/", form(text)))) == text


def test_a_name_with_markup_reaches_the_code_pane_as_text(as_alice: Client, two: Problem) -> None:
    page = html(as_alice.post("/playground/check/", form(RIGHT + f"# {HOSTILE} */\n")))
    assert "Generated C++" in words(page)
    assert "<script>alert" not in page


def test_a_problem_s_hostile_name_stays_text(as_alice: Client, db: None) -> None:
    gallery.problem(2, HOSTILE)
    page = html(as_alice.get("/playground/"))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_it_takes_a_fixed_number_of_queries(as_alice: Client, two: Problem, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(7):
        as_alice.get("/playground/?problem=own/2")
    gallery.problems(9)
    with django_assert_num_queries(7):
        as_alice.get("/playground/?problem=own/2")
    with django_assert_num_queries(6):
        as_alice.post("/playground/check/", form(TWO))


def test_it_is_for_signed_in_people(outsider: Client, two: Problem) -> None:
    for response in (
        outsider.get("/playground/"), outsider.post("/playground/", form(RIGHT, evaluate="1")),
        outsider.post("/playground/check/", form(RIGHT)),
    ):  # fmt: skip
        assert response.status_code == 302
        assert response.headers["Location"].startswith("/sign-in/")
    assert Run.objects.count() == 0


def test_checking_takes_a_post_and_a_forged_form_is_refused(as_alice: Client, alice: User, two: Problem) -> None:
    assert as_alice.get("/playground/check/").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert strict.post("/playground/", form(RIGHT, evaluate="1")).status_code == 403
    assert (Run.objects.count(), Attempt.objects.count()) == (0, 0)
