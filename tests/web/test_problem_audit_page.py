"""A problem's flaws on its page, in the list of problems and on its speed-of-light page."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.test import Client

from kernels.models import Problem, ProblemSize
from kernels.problems.sample import Distance, Run, Sample, Spread
from kernels.records import to_json
from sol.audit.problems import Flaw, ProblemAudit, ProblemFlaw
from sol.audit.record import Severity
from tests.web import gallery
from tests.web.reading import html, links, text_of

FLAW = ProblemFlaw(
    Flaw.REMOVABLE_WORK,
    Severity.SEVERE,
    0.9,
    "graph",
    "algebra leaves 0.1 of it <b>as</b> shown",
    {"left_share": 0.1},
)
HINT = ProblemFlaw(Flaw.REDUNDANT_OPERATION, Severity.INFO, 0.97, "graph", "mul (mul): by one")
SPREAD = Spread("out", -1.5, 2.5, 0.125, 0.5, finite=True)
SAMPLE = Sample(
    "cpu", "B", 4, 64, 1.25, (Run(11, 101, (SPREAD,)),), Distance(0.0, 0.0), Distance(0.25, 0.5), None, None,
    {"x": Distance(0.25, 0.5), "y": Distance(0.0, 0.0)}, None, ("gradients of parameters: RuntimeError",),
)  # fmt: skip
AUDIT = ProblemAudit("cpu", (FLAW, HINT), SAMPLE, "", "")


def audited(audit: ProblemAudit | None, size: str = "cpu") -> Problem:
    problem = gallery.problem(1)
    if audit is not None:
        ProblemSize.objects.filter(problem=problem, size=size).update(
            audit=to_json(audit), gravest=audit.gravest or "", flaws=len(audit.flaws)
        )
    return problem


def page(client: Client, query: str = "") -> str:
    return text_of(client.get(f"/problems/own/1/audit/{query}"))


def test_flaws_stand_with_evidence_and_what_is_allowed(as_alice: Client) -> None:
    audited(AUDIT)
    response = as_alice.get("/problems/own/1/audit/")
    text = text_of(response)
    assert "severe The problem’s work can be removed by algebra removable_work algebra leaves 0.1 of it" in text
    assert "from the graph, 90 % sure" in text
    assert "A kernel may leave the work out: that is algebra, not cheating." in text
    assert "<b>as</b>" not in html(response)
    assert text.index("removable_work") < text.index("redundant_operation")


def test_what_the_runs_gave(as_alice: Client) -> None:
    audited(AUDIT)
    text = page(as_alice)
    assert "1 run with B = 4 of 64" in text
    assert "seed 11 seed 101 out −1.50 2.50 0.125 0.500" in text
    assert "Same parameters and inputs twice the same to the last bit" in text
    assert "Another y alone changes nothing" in text
    assert "Samples affect each other – not measured" in text
    assert "gradients of parameters: RuntimeError" in text


def test_what_was_not_run_says_why(as_alice: Client) -> None:
    audited(replace(AUDIT, flaws=(), sample=None, not_run="it does not fit the machine"))
    text = page(as_alice)
    assert "it does not fit the machine" in text
    assert "None found in its graph." in text
    assert "What the runs gave" not in text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "Size cpu is not audited yet"),
        ("?size=gpu", "Size gpu is not audited yet"),
        ("?size=none", "Size cpu is"),
    ],
)
def test_a_size_that_nobody_looked_at(as_alice: Client, query: str, words: str) -> None:
    audited(None)
    assert words in page(as_alice, query)


def test_a_size_that_could_not_be_inspected(as_alice: Client) -> None:
    gallery.broken_problem(9)
    assert "This size could not be looked at: problem-does-not-parse" in text_of(
        as_alice.get("/problems/own/9/audit/")
    )


def test_the_list_marks_what_is_flawed(as_alice: Client) -> None:
    audited(AUDIT)
    gallery.problem(2)
    response = as_alice.get("/problems/")
    assert "2 problem flaws, the gravest severe own/1 Gemm" in text_of(response)
    assert html(response).count("the gravest severe</span>") == 1
    assert "/problems/own/1/audit/?size=cpu" in links(html(response))


def test_remarks_are_no_mark(as_alice: Client) -> None:
    audited(replace(AUDIT, flaws=(HINT,)))
    assert "the gravest" not in html(as_alice.get("/problems/"))


def test_the_speed_of_light_says_so(as_alice: Client) -> None:
    audited(AUDIT)
    response = as_alice.get("/problems/own/1/sol/?size=cpu")
    assert "severe problem flaw : 2 problem flaws" in text_of(response)
    assert "/problems/own/1/audit/?size=cpu" in links(html(response))
    assert "problem flaw" not in text_of(as_alice.get("/problems/own/1/sol/?size=gpu"))


def test_a_stranger_is_sent_to_the_door(client: Client, db: None) -> None:
    audited(AUDIT)
    assert client.get("/problems/own/1/audit/").status_code == 302
