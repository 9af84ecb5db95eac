"""The page of hit rates, and the findings on a candidate's page."""

from __future__ import annotations

import math
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agent.feedback import Advice, Finding, Severity
from agent.steps import Measured, Profiled
from kernels.harness.evaluation import Outcome
from kernels.records import to_json
from kernels.targets import Target
from runs.feedback_table import FeedbackFilter, tool_rows, wilson
from runs.models import Attempt, Event, Followed, Raised
from tests.web import gallery
from tests.web.reading import html, part, words

HOSTILE = "<script>alert(1)</script>"
WIDER = Finding(
    "host-registers",
    Severity.CRITICAL,
    "Few sums are under way at once.",
    (Advice("A tile that fills the registers.", "y", "micro", (12, 32), (4, 16)), Advice("Or this.")),
    1.8,
    "90% of the time 2x as fast",
    ("4x16 sums take 4 of 32 vector registers",),
    "y",
)
NOTE = Finding("hot-stage", Severity.NOTE, "One stage.", (Advice("Look there."),), evidence=("y takes 90%",))


@pytest.fixture
def best(alice: User) -> Attempt:
    found = gallery.near_sol(alice).trajectories.get().best
    assert found is not None
    assert found.parent is not None
    return found


def address(attempt: Attempt) -> str:
    t = attempt.trajectory
    return f"/runs/{t.run_id}/{t.problem.slug}/{attempt.number}/"


def log(attempt: Attempt, *findings: Finding, profiled: bool = False) -> None:
    """An event with findings, as the engine appends it."""
    number = attempt.number
    event = Profiled(number, findings) if profiled else Measured(
        number, Outcome.PASSED, "", attempt.time_s, attempt.eager_s, feedback=findings
    )  # fmt: skip
    count = Event.objects.filter(trajectory=attempt.trajectory).count()
    Event.objects.create(
        trajectory=attempt.trajectory, sequence=count + 1, kind=event.kind, record=to_json(event)
    )  # fmt: skip


def raised(attempt: Attempt, tool: str = "host-registers", target: Target = Target.HOST) -> Raised:
    return Raised.objects.create(attempt=attempt, tool=tool, target=target, severity="critical", expected=1.8)


def follow(row: Raised, attempt: Attempt, gain: float | None, named: bool = False) -> Followed:
    log_gain = None if gain is None else math.log(gain)
    return Followed.objects.create(
        raised=row, attempt=attempt, log_gain=log_gain, improved=gain is not None and gain > 1.01, named=named
    )


def section(client: Client, attempt: Attempt) -> str:
    return part(html(client.get(address(attempt))), "advice", "section")


def test_findings_stand_on_the_candidate_s_page_gravest_first(as_alice: Client, best: Attempt) -> None:
    log(best, NOTE, WIDER)
    text = words(section(as_alice, best))
    assert text.index("Register tile") < text.index("One stage dominates")
    assert "y.micro(12, 32) A tile that fills the registers." in text
    assert "1.80×" in text
    assert "4x16 sums take 4 of 32 vector registers" in text
    assert "by the bound alone: there is no profile" in text


def test_a_profile_s_findings_take_the_place_of_those_before(as_alice: Client, best: Attempt) -> None:
    log(best, WIDER)
    log(best, NOTE, profiled=True)
    text = words(section(as_alice, best))
    assert "One stage dominates" in text
    assert "Register tile" not in text


def test_who_followed_is_told_at_both_ends(as_alice: Client, best: Attempt) -> None:
    parent = best.parent
    assert parent is not None
    log(parent, WIDER)
    follow(raised(parent), best, 1.5)
    assert f"Followed by #{best.number} 1.50×" in words(section(as_alice, parent))
    own = words(section(as_alice, best))
    assert f"It follows register tile at #{parent.number}" in own
    assert "1.50× over it" in own


def test_why_there_is_no_finding_is_said(as_alice: Client, best: Attempt) -> None:
    assert "ended before findings were kept" in words(section(as_alice, best))
    log(best)
    assert "none has anything to say" in words(section(as_alice, best))
    Attempt.objects.filter(pk=best.pk).update(state="evaluating", outcome="")
    assert "when the attempt has ended" in words(section(as_alice, best))


def test_words_of_a_candidate_are_escaped(as_alice: Client, best: Attempt) -> None:
    log(best, Finding("wrong", Severity.CRITICAL, HOSTILE, (Advice(HOSTILE),), evidence=(HOSTILE,)))
    assert HOSTILE not in section(as_alice, best)


def test_without_rows_the_page_says_what_would_be_here(as_alice: Client) -> None:
    assert "No findings yet" in words(html(as_alice.get("/feedback/")))


def test_what_was_raised_and_never_followed_has_no_rate(as_alice: Client, best: Attempt) -> None:
    raised(best)
    page = html(as_alice.get("/feedback/"))
    assert "Nothing was followed yet" in words(page)
    assert "nobody followed it yet" in page
    assert "0 %" not in words(part(page, "feedback", "table")).replace("100 %", "")
    assert "Nobody followed it yet" in words(html(as_alice.get("/feedback/host-registers/")))


def test_rates_and_gains_are_sums_over_rows(as_alice: Client, best: Attempt) -> None:
    others = list(best.trajectory.attempts.exclude(pk=best.pk)[:4])
    row = raised(others[0])
    for attempt, gain in zip([best, *others[1:]], (2.0, 0.5, None, 1.0), strict=False):
        follow(row, attempt, gain)
    raised(best)
    (found,) = tool_rows(FeedbackFilter())
    assert (found.raised, found.followed, found.hits, found.timed) == (2, 4, 1, 3)
    assert found.rate == 0.25
    assert found.gain == pytest.approx(1.0)
    assert found.hit_gain == pytest.approx(2.0)
    text = words(html(as_alice.get("/feedback/")))
    assert "25 %" in text
    assert "Register tile" in text
    drill = words(html(as_alice.get("/feedback/host-registers/")))
    assert f"#{best.number}" in drill
    assert "improved" in drill
    assert "no faster" in drill


def test_targets_are_told_apart(as_alice: Client, best: Attempt) -> None:
    follow(raised(best, target=Target.SM90A), best, 2.0)
    raised(best, "fusion")
    assert [row.tool for row in tool_rows(FeedbackFilter("sm_90a"))] == ["host-registers"]
    page = words(html(as_alice.get("/feedback/?target=host")))
    assert "Stages to fuse" in page
    assert "Register tile" not in page
    assert FeedbackFilter.of(as_alice.get("/feedback/?target=' OR 1").wsgi_request.GET) == FeedbackFilter()
    assert as_alice.get("/feedback/no-such-tool/").status_code == 404
    assert "Not raised" in words(html(as_alice.get("/feedback/stall/")))


@pytest.mark.parametrize("where", ["/feedback/", "/feedback/host-registers/"])
def test_queries_do_not_grow_with_rows(
    as_alice: Client, best: Attempt, where: str, django_assert_max_num_queries: Any
) -> None:
    for attempt in best.trajectory.attempts.all():
        follow(raised(attempt), attempt, 1.2)
    with django_assert_max_num_queries(8):
        as_alice.get(where)


def test_outsiders_are_sent_to_the_door(outsider: Client) -> None:
    assert outsider.get("/feedback/").status_code == 302


def test_the_interval_is_wilson_s() -> None:
    assert wilson(0, 0) is None
    some = wilson(10, 100)
    assert some is not None
    assert some.low == pytest.approx(0.0552, abs=1e-4)
    assert some.high == pytest.approx(0.1744, abs=1e-4)
    none, every = wilson(0, 5), wilson(5, 5)
    assert none is not None
    assert every is not None
    assert none.low == pytest.approx(0.0)
    assert every.high == pytest.approx(1.0)
    assert none.high == pytest.approx(1 - every.low)
