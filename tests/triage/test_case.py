"""One case: its evidence beside the code, what a verdict would change, what it does, and how it is taken back."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.template import Context, Template
from django.test import Client

from runs.board import board
from runs.models import Attempt, Trajectory
from runs.triage.effect import effects, standing
from runs.triage.links import attempt_link, run_link
from sol.audit import Evidence, Flag, Severity, Trick
from sol.audit.record import Place
from sol.audit.verdict import Verdict
from sol.cases import raise_flags, settle, undo
from sol.models import Case
from tests.web import rows, triage_rows
from tests.web.reading import html, links, part, text_of, words


@pytest.fixture
def case(owner: User) -> Case:
    """The most harmful of three kernels alike."""
    return triage_rows.run_with_cases(owner, 3)[1][2]


def address(case: Case, act: str = "") -> str:
    return f"/triage/{case.pk}/{act}"


def test_it_says_what_the_kernel_does_and_what_it_claims(as_rita: Client, case: Case) -> None:
    text = text_of(as_rita.get(address(case)))
    assert "Keeps answers by the input's address" in text
    assert "trick 5 · 2 detectors, 0.97" in text
    assert f"{case.kernel} · own/2 Gemm_Bias_ReLU" in text
    assert "Claims 0.750 ms" in text
    assert "An open severe flag: under review, not counted." in text
    assert 'class="chart boundline"' in html(as_rita.get(address(case)))


def test_evidence_and_its_lines_name_each_other(as_rita: Client, case: Case) -> None:
    source = html(as_rita.get(address(case)))
    first = part(source, "e1", "li")
    assert "forward gives a stored tensor again" in words(first)
    assert [link for link in links(first) if link.startswith("#L")] == ["#L13", "#L18"]
    assert "time 0.00613 ms" in words(first)
    assert "own share 12 %" in words(first)
    line = part(source, "L13", "span")
    assert 'data-e="1"' in line
    assert 'class="l m-severe"' in line
    assert 'href="#e1"' in line
    assert 'data-e="1 2"' in part(source, "L16", "span")
    assert "m-" not in part(source, "L10", "span")


def test_its_difference_from_the_nearest_ancestor_is_shown(as_rita: Client, case: Case) -> None:
    shown = words(part(html(as_rita.get(address(case))), "difference", "section"))
    assert "from #1" in shown


def test_lookalikes_are_proposed_with_their_likeness(as_rita: Client, case: Case) -> None:
    text = text_of(as_rita.get(address(case)))
    assert "Same trick, 3 kernels" in text
    assert "1.00, proposed" in text
    assert "all 3 texts alike" in text


def test_other_texts_of_the_same_trick_are_shown_and_not_proposed(as_rita: Client, owner: User) -> None:
    cases = triage_rows.run_with_cases(owner, 3, alike=False)[1]
    text = text_of(as_rita.get(address(cases[0])))
    assert "Same trick, 3 kernels" in text
    assert "proposed" not in text
    assert "all 3 of this trick on own/2" in text


def test_the_effect_of_each_verdict_is_the_board_s_own_figure(owner: User, rita: User, case: Case) -> None:
    run = Attempt.objects.get(kernel=case.kernel).trajectory.run
    rows.trajectory(run, rows.problem(3), eager_s=0.02)
    before = effects([case]).runs[0]
    assert before.run == run.pk
    assert before.now == pytest.approx(board(run).speedup)
    assert before.out == pytest.approx(math.sqrt(0.011 / 0.004))
    settle([case], Verdict.CLEAN, rita)
    assert board(run).speedup == pytest.approx(before.counted)
    assert before.counted == pytest.approx(math.sqrt(0.011 / 0.00075))
    settle([case], Verdict.REWARD_HACK, rita)
    assert board(run).speedup == pytest.approx(before.out)


def test_filtered_by_a_run_its_two_figures_stand_in_the_head(as_rita: Client, rita: User, case: Case) -> None:
    run = Attempt.objects.get(kernel=case.kernel).trajectory.run
    rows.trajectory(run, rows.problem(3), eager_s=0.02)
    found, shown = standing(run.pk), board(run)
    assert found.now == pytest.approx(shown.speedup)
    assert found.claimed == pytest.approx(shown.claimed_speedup)
    head = words(part(html(as_rita.get(f"/triage/?run={run.pk}")), "triage-head", "div"))
    assert f"{run} geomean over eager 1.66× , 3.83× if held times counted" in head
    settle(Case.objects.all(), Verdict.CLEAN, rita)
    assert standing(run.pk).claimed is None


def test_both_figures_stand_by_the_verdicts(as_rita: Client, case: Case) -> None:
    effect = words(part(html(as_rita.get(address(case))), "effect", "div"))
    assert "geomean over eager now 2.75×" in effect
    assert "reward hack, rubric leak or bug: 2.75×" in effect
    assert "clean or problem flaw: 14.7×" in effect


def test_a_verdict_acts_at_once_and_goes_to_the_next_case(as_rita: Client, rita: User, case: Case) -> None:
    answer = as_rita.post(
        address(case, "settle/") + "?trick=cache_by_pointer", {"verdict": "reward_hack", "why": "reused"}
    )
    case.refresh_from_db()
    assert (case.verdict, case.settled_by) == ("reward_hack", rita)
    assert case.entries.get(kind="verdict").words == "reused"
    following = Case.objects.filter(verdict="").order_by("-harm").first()
    assert following is not None
    assert answer.headers["Location"] == f"/triage/{following.pk}/?trick=cache_by_pointer#case-h"
    assert f"Reward hack on {case.kernel}." in text_of(as_rita.get(answer.headers["Location"]))


def test_the_last_verdict_leads_to_an_empty_inbox_from_which_it_is_undone(as_rita: Client, owner: User) -> None:
    (case,) = triage_rows.run_with_cases(owner, 1)[1]
    answer = as_rita.post(address(case, "settle/"), {"verdict": "bug"})
    assert answer.headers["Location"] == "/triage/#case-h"
    page = html(as_rita.get("/triage/"))
    assert "Nothing waits" in words(page)
    assert f"Bug on {case.kernel}." in words(page)
    batch = case.entries.get(kind="verdict").batch
    assert as_rita.post("/triage/undo/", {"batch": batch}).headers["Location"] == f"/triage/{case.pk}/#case-h"
    case.refresh_from_db()
    assert case.verdict == ""


def sent_back(client: Client, case: Case) -> dict[str, str]:
    """The hidden fields of the verdict's form as the case's page has them now."""
    form = part(html(client.get(address(case))), "verdict", "form")
    return dict(re.findall(r'<input type="hidden" name="(was|cases-[a-z]+)" value="([^"]*)">', form))


@pytest.mark.parametrize("scope", ["alike", "trick"])
def test_a_group_settles_no_case_that_was_not_on_the_page(as_rita: Client, owner: User, scope: str) -> None:
    alike = scope == "alike"
    _, cases = triage_rows.run_with_cases(owner, 3, alike=alike)
    form = sent_back(as_rita, cases[0])
    _, late = triage_rows.run_with_cases(owner, 3, title="later", alike=alike)
    assert set(sent_back(as_rita, cases[0])[f"cases-{scope}"].split(",")) >= {str(one.pk) for one in late}
    as_rita.post(address(cases[0], "settle/"), form | {"verdict": "bug", "scope": scope})
    assert set(Case.objects.filter(verdict="bug")) == set(cases)


def test_a_verdict_on_what_somebody_settled_meanwhile_is_refused(as_rita: Client, owner: User, case: Case) -> None:
    sam = triage_rows.reviewer("sam")
    form = sent_back(as_rita, case) | {"verdict": "clean", "scope": "alike"}
    batch = settle([case], Verdict.REWARD_HACK, sam)
    answer = as_rita.post(address(case, "settle/"), form)
    assert answer.status_code == 422
    text = text_of(answer)
    assert "sam settled it as reward hack meanwhile, so nothing was changed; it is shown as it is now" in text
    assert "reward hack by sam" in text
    assert not Case.objects.filter(verdict="clean").exists()
    form = sent_back(as_rita, case) | {"verdict": "clean"}
    undo(batch, sam)
    assert "sam opened it again meanwhile" in text_of(as_rita.post(address(case, "settle/"), form))
    as_rita.post(address(case, "settle/"), sent_back(as_rita, case) | {"verdict": "clean"})
    case.refresh_from_db()
    assert case.verdict == "clean"


def test_what_was_settled_anew_since_is_not_counted_as_undoable(as_rita: Client, rita: User, case: Case) -> None:
    settle(Case.objects.all(), Verdict.REWARD_HACK, rita)
    settle(Case.objects.exclude(pk=case.pk)[:1], Verdict.BUG, triage_rows.reviewer("sam"))
    assert "Reward hack on 2." in text_of(as_rita.get(address(case)))


def test_a_group_is_settled_and_undone_as_one(as_rita: Client, case: Case) -> None:
    as_rita.post(address(case, "settle/"), sent_back(as_rita, case) | {"verdict": "reward_hack", "scope": "alike"})
    assert Case.objects.filter(verdict="reward_hack").count() == 3
    assert "Reward hack on 3." in text_of(as_rita.get("/triage/"))
    batch = case.entries.get(kind="verdict").batch
    as_rita.post("/triage/undo/", {"batch": batch})
    assert Case.objects.filter(verdict="").count() == 3


def test_a_made_up_scope_settles_the_one_case(as_rita: Client, case: Case) -> None:
    as_rita.post(address(case, "settle/"), {"verdict": "clean", "scope": "everything"})
    assert Case.objects.exclude(verdict="").count() == 1


def test_what_was_settled_anew_since_cannot_be_undone(as_rita: Client, rita: User, case: Case) -> None:
    batch = settle([case], Verdict.CLEAN, rita)
    settle([case], Verdict.BUG, rita)
    answer = as_rita.post("/triage/undo/", {"batch": batch, "back": str(case.pk)}, follow=True)
    assert "Nothing of this can be undone: every case of it was settled anew since" in text_of(answer)
    case.refresh_from_db()
    assert case.verdict == Verdict.BUG


@pytest.mark.parametrize("verdict", ["", "hack", "REWARD_HACK"])
def test_an_unknown_verdict_changes_nothing(as_rita: Client, case: Case, verdict: str) -> None:
    answer = as_rita.post(address(case, "settle/"), {"verdict": verdict})
    assert answer.status_code == 422
    assert "is no verdict; it is one of clean, suspect" in text_of(answer)
    assert not Case.objects.exclude(verdict="").exists()


def test_a_settled_case_says_by_whom_and_can_be_undone(as_rita: Client, case: Case) -> None:
    as_rita.post(address(case, "settle/"), {"verdict": "reward_hack", "why": "it reuses answers"})
    text = text_of(as_rita.get(address(case)))
    assert "reward hack by rita" in text
    assert "rita settled as reward hack: it reuses answers" in text
    assert f"Reward hack on {case.kernel}." in text


def test_a_hack_is_carried_to_the_same_text_elsewhere(as_rita: Client, owner: User, case: Case) -> None:
    run = rows.run(owner, "elsewhere")
    other = triage_rows.flagged(
        triage_rows.tried(rows.trajectory(run, rows.problem(5)), 1, case.kernel.source, 0.0009)
    )
    assert "carried to the same text on 1 other problem" in text_of(as_rita.get(address(case)))
    as_rita.post(address(case, "settle/"), {"verdict": "reward_hack"})
    other.refresh_from_db()
    assert other.verdict == Verdict.REWARD_HACK
    assert "carried over: reward hack" in text_of(as_rita.get(address(other)))


def test_comments_are_shown_as_they_were_written(as_viewer: Client, case: Case) -> None:
    said = "look at <b>line 13</b>"
    answer = as_viewer.post(address(case, "comment/"), {"words": said})
    assert answer.headers["Location"] == f"/triage/{case.pk}/#history"
    source = html(as_viewer.get(address(case)))
    assert "look at &lt;b&gt;line 13&lt;/b&gt;" in source
    assert "vera said:" in words(source)


@pytest.mark.parametrize(("typed", "why"), [("  ", "is empty"), ("x" * 4001, "is too long")])
def test_a_comment_that_does_not_fit_is_told_so(as_viewer: Client, case: Case, typed: str, why: str) -> None:
    answer = as_viewer.post(address(case, "comment/"), {"words": typed})
    assert answer.status_code == 422
    assert f"the comment {why}" in text_of(answer)
    assert not case.entries.filter(kind="comment").exists()


def test_a_case_is_given_to_a_reviewer_and_to_nobody_again(as_rita: Client, rita: User, case: Case) -> None:
    as_rita.post(address(case, "assign/"), {"to": "rita", "words": "same as before?"})
    assert "assigned to you" in text_of(as_rita.get(address(case)))
    assert "rita gave it: to rita: same as before?" in text_of(as_rita.get(address(case)))
    as_rita.post(address(case, "assign/"), {"to": ""})
    case.refresh_from_db()
    assert case.assigned is None


def test_only_somebody_who_may_settle_is_given_a_case(as_rita: Client, owner: User, case: Case) -> None:
    answer = as_rita.post(address(case, "assign/"), {"to": "alice"})
    assert answer.status_code == 422
    assert "alice is nobody who settles flags; rita would be right" in text_of(answer)


def test_a_kernel_cannot_write_markup_or_a_verdict(as_rita: Client, owner: User) -> None:
    run = rows.run(owner, triage_rows.FORGED)
    on = rows.trajectory(run, rows.problem(2))
    source = f"# {triage_rows.FORGED}\n" + triage_rows.cached_source(comment=triage_rows.FORGED)
    attempt = triage_rows.tried(on, 1, source, 0.003)
    flag = Flag("prints", Trick.PRINTED_RESULT, Severity.SEVERE, 0.9, Evidence(triage_rows.FORGED, (Place(1, 1),)))
    case = triage_rows.flagged(attempt, (flag,))
    for shown in (as_rita.get(address(case)), as_rita.get("/triage/"), as_rita.get("/triage/?panel=1")):
        source = html(shown)
        assert "<script>alert" not in source
        assert "<b>Reward hack</b>" not in source
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in source
    case.refresh_from_db()
    assert case.verdict == ""
    assert "verdict: clean" in words(part(html(as_rita.get(address(case))), "L1", "span"))


@pytest.mark.parametrize(
    "source",
    ["x" * 500_000, "a\r\nb\tc", "\n" * 30, "def f(:\n  'unclosed", "\n".join("y = 1" for _ in range(3_000))],
)
def test_any_text_is_shown(as_rita: Client, owner: User, source: str) -> None:
    on = rows.trajectory(rows.run(owner), rows.problem(2))
    flag = Flag("caches", Trick.SABOTAGE, Severity.SEVERE, 0.9, Evidence("it was seen", (Place(1, 900_000),)))
    case = triage_rows.flagged(triage_rows.tried(on, 1, source, 0.003), (flag,))
    answer = as_rita.get(address(case))
    assert answer.status_code == 200
    assert len(answer.content) < 2_000_000


def test_a_text_too_long_to_compare_leads_to_the_candidate_s_page(as_rita: Client, owner: User) -> None:
    on = rows.trajectory(rows.run(owner), rows.problem(2))
    parent = triage_rows.tried(on, 1, "y = 1\n" * 4_000, 0.004)
    case = triage_rows.flagged(triage_rows.tried(on, 2, "y = 1\n" * 4_001, 0.003, parent=parent))
    assert "Too long to compare here" in text_of(as_rita.get(address(case)))


def test_no_page_has_inline_style_or_script(as_rita: Client, case: Case) -> None:
    for shown in ("/triage/?panel=1", address(case), f"{address(case)}?whole=1"):
        source = html(as_rita.get(shown))
        assert not re.search(r"<[^>]+\sstyle=", source)
        assert not re.search(r"<script(?![^>]*\bsrc=)", source)
        assert not re.search(r'<[^>]+\son[a-z]+="', source)


def test_other_pages_can_show_the_way(owner: User, case: Case) -> None:
    attempt = Attempt.objects.select_related("trajectory__run").get(kernel=case.kernel)
    page = Template("{% load triage %}{% run_flags run %}|{% attempt_flags attempt %}|{% attempt_flags first %}")
    first = Attempt.objects.select_related("trajectory").get(number=1)
    shown = page.render(Context({"run": attempt.trajectory.run, "attempt": attempt, "first": first}))
    one, other, none = shown.split("|")
    assert links(one)[0] == f"/triage/?run={attempt.trajectory.run_id}"
    assert "3 open severe flags" in words(one)
    assert links(other)[0] == f"/triage/{case.pk}/"
    assert none.strip() == ""


def test_of_a_long_text_the_marked_lines_come_with_the_page(as_rita: Client, owner: User) -> None:
    on = rows.trajectory(rows.run(owner), rows.problem(2))
    source = "\n".join(f"y{number} = {number}" for number in range(1, 2_001))
    flag = Flag("caches", Trick.SABOTAGE, Severity.SEVERE, 0.9, Evidence("it was seen", (Place(1500, 1501),)))
    case = triage_rows.flagged(triage_rows.tried(on, 1, source, 0.003), (flag,))
    page = html(as_rita.get(address(case)))
    assert 'id="L1500"' in page
    assert 'id="L700"' not in page
    assert "… 1,475 lines" in words(page)
    assert 'id="L700"' in html(as_rita.get(f"{address(case)}?whole=1"))


def test_a_case_without_an_attempt_is_shown(as_rita: Client, db: None) -> None:
    case = raise_flags(rows.kernel(1, "alone"), rows.problem(2), triage_rows.cache_flags())
    assert case is not None
    text = text_of(as_rita.get(address(case)))
    assert "No attempt of a run is left that tried it." in text
    assert "No run’s figure depends on it: it has no time." in text


def test_runs_and_attempts_lead_to_their_cases(owner: User, rita: User, case: Case) -> None:
    attempt = Attempt.objects.select_related("trajectory").get(kernel=case.kernel)
    run = attempt.trajectory.run
    link = run_link(run)
    assert link is not None
    assert (link.word.text, link.address) == ("3 open severe flags", f"/triage/?run={run.pk}")
    own = attempt_link(attempt)
    assert own is not None
    assert (own.word.text, own.address) == ("severe flag", f"/triage/{case.pk}/")
    settle(Case.objects.all(), Verdict.REWARD_HACK, rita)
    assert run_link(run) is None
    settled = attempt_link(attempt)
    assert settled is not None
    assert settled.word.text == "reward hack"
    assert attempt_link(Attempt.objects.select_related("trajectory").get(number=1)) is None


def test_a_swap_brings_the_case_the_list_and_the_counts(as_rita: Client, case: Case) -> None:
    answer = as_rita.post(
        address(case, "settle/"), {"verdict": "bug"}, headers={"HX-Request": "true", "HX-Target": "case"}
    )
    source = html(answer)
    assert source.startswith('<article id="case"')
    assert answer.headers["HX-Push-Url"].startswith("/triage/")
    assert 'id="inbox" hx-swap-oob="true"' in source
    assert "2 severe" in words(source)
    assert str(case.kernel) not in words(part(source, "inbox", "div"))


@pytest.mark.parametrize("count", [2, 14])
def test_a_case_takes_as_many_queries_whatever_there_is(
    as_rita: Client, owner: User, count: int, django_assert_max_num_queries: Any
) -> None:
    case = triage_rows.run_with_cases(owner, count)[1][0]
    on = Trajectory.objects.get()
    for number in range(100, 100 + count):
        triage_rows.tried(on, number, case.kernel.source, 0.002)
    with django_assert_max_num_queries(36):
        assert as_rita.get(address(case)).status_code == 200
