"""The kernel browser: what is listed, filtered, counted, sorted and paged; contenders equal what attempts say."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client

from kernels.harness.evaluation import Outcome
from kernels.models import Kernel
from runs import contenders
from runs.browser import pages
from runs.browser.filters import KernelFilters
from runs.kernel_models import Contender, Standing
from runs.models import Attempt
from sol.audit.record import Severity
from sol.models import Case
from tests.web import kernel_rows, rows
from tests.web.reading import html, links, text_of


def _state() -> list[tuple[Any, ...]]:
    names = [field.attname for field in Contender._meta.fields if field.name != "id"]
    return sorted(Contender.objects.values_list(*names))


class TestContenders:
    def test_the_fastest_that_counts_speaks_for_a_kernel(self, alice: User) -> None:
        on = rows.trajectory(rows.run(alice), kernel_rows.problems(1)[0])
        kernel_rows.tried(on, 1, 3.0, text="program a()")
        second = kernel_rows.tried(on, 2, 2.0, text="program a()")
        kernel_rows.tried(on, 3, None, text="program a()", outcome=Outcome.CRASH)
        one = kernel_rows.contender(second)
        assert (one.best_id, one.tries, one.outcome) == (second.pk, 3, "passed")
        assert one.gap == pytest.approx(2.0)
        assert one.speedup == pytest.approx(2.0)

    def test_one_row_a_problem_and_a_card(self, alice: User) -> None:
        first, second = kernel_rows.problems(2)
        on = [rows.trajectory(rows.run(alice), first), rows.trajectory(rows.run(alice), second)]
        on.append(kernel_rows.on_card(alice, first, "H100 SXM"))
        for one in on:
            kernel_rows.tried(one, 1, 2.0, text="program same()")
        assert Contender.objects.count() == 3
        assert Kernel.objects.filter(source="program same()").count() == 1

    def test_a_case_holds_and_a_verdict_lifts(self, alice: User) -> None:
        on = rows.trajectory(rows.run(alice), kernel_rows.problems(1)[0])
        attempt = kernel_rows.tried(on, 1, 1.5)
        case = kernel_rows.case(attempt)
        one = kernel_rows.contender(attempt)
        assert (one.standing, one.held, one.gap) == (Standing.OPEN_SEVERE, "flagged", None)
        assert one.time_s is not None
        kernel_rows.settle(case, "clean")
        one = kernel_rows.contender(attempt)
        assert (one.standing, one.held) == (Standing.CLEAN, "")
        assert one.gap == pytest.approx(1.5)

    def test_an_attempt_that_has_not_ended_is_none(self, alice: User) -> None:
        on = rows.trajectory(rows.run(alice), kernel_rows.problems(1)[0])
        rows.attempt(on, 1, None, state="evaluating")
        assert not Contender.objects.exists()

    def test_what_is_kept_equals_what_is_built_anew(self, alice: User, bob: User) -> None:
        run = kernel_rows.several(alice, 12)
        other = rows.trajectory(rows.run(bob), kernel_rows.problems(3)[2])
        shared = kernel_rows.tried(other, 1, 2.5, text="program shared()")
        kernel_rows.tried(kernel_rows.on_card(bob, other.problem, "H100 SXM"), 1, 1.3, text="program shared()")
        kernel_rows.tried(other, 2, 0.2, text="program too_fast()")
        kernel_rows.case(shared, Severity.SUSPECT)
        kernel_rows.settle(kernel_rows.case(Attempt.objects.filter(trajectory__run=run)[1]), "reward_hack")
        kept = _state()
        assert len(kept) == 15
        assert contenders.rebuild() == 15
        assert _state() == kept

    def test_cases_bring_their_rows_up_to_date_in_a_fixed_number_of_queries(
        self, alice: User, bob: User, django_assert_max_num_queries: Any
    ) -> None:
        run = kernel_rows.several(alice, 30)
        cases = [kernel_rows.case(one) for one in Attempt.objects.filter(trajectory__run=run)]
        other = kernel_rows.tried(rows.trajectory(rows.run(bob), kernel_rows.problems(2)[1]), 1, 2.0)
        emptied, kept = cases[0], Contender.objects.get(problem=other.trajectory.problem)
        Case.objects.update(verdict="clean")
        Attempt.objects.filter(kernel=emptied.kernel).update(outcome="")
        with django_assert_max_num_queries(9):
            contenders.refresh_cases(cases)
        Contender.objects.filter(kernel=cases[1].kernel).delete()
        contenders.refresh_cases(cases)
        found = _state()
        assert not Contender.objects.filter(kernel=emptied.kernel).exists()
        assert Contender.objects.filter(standing=Standing.CLEAN).count() == 29
        assert Contender.objects.get(kernel=other.kernel).pk == kept.pk
        contenders.rebuild()
        assert _state() == found

    def test_one_run_is_built_anew_alone(self, alice: User, bob: User) -> None:
        first, second = kernel_rows.several(alice, 3), kernel_rows.several(bob, 3)
        kept = _state()
        Contender.objects.filter(run=first).delete()
        assert contenders.rebuild(first.pk) == 3
        assert _state() == kept
        assert Contender.objects.filter(run=second).count() == 3

    def test_what_is_deleted_is_gone(self, alice: User) -> None:
        run = kernel_rows.several(alice, 3)
        on = rows.trajectory(rows.run(alice), kernel_rows.problems(1)[0])
        kept = kernel_rows.tried(on, 1, 9.0, text=Attempt.objects.filter(trajectory__run=run)[0].kernel.source)
        run.delete()
        assert [one.best_id for one in Contender.objects.all()] == [kept.pk]

    def test_a_command_builds_them_anew(self, alice: User) -> None:
        from django.core.management import call_command

        kernel_rows.several(alice, 3)
        Contender.objects.all().delete()
        call_command("rebuild_kernels", verbosity=0)
        assert Contender.objects.count() == 3


class TestRights:
    @pytest.mark.parametrize(
        "address", ["", "kernels.csv", "best/", "best/leaderboard.csv", "record/own/1/", "k-123456/"]
    )
    def test_who_is_not_signed_in_is_asked_to(self, outsider: Client, db: None, address: str) -> None:
        response = outsider.get(f"/kernels/{address}")
        assert response.status_code == 302
        assert response.headers["Location"].startswith("/sign-in/")

    def test_every_member_sees_all_runs_kernels(self, as_bob: Client, alice: User) -> None:
        kernel_rows.several(alice, 2)
        assert "2 of 2" in text_of(as_bob.get("/kernels/"))


class TestList:
    def test_none_yet_says_when_there_will_be(self, as_alice: Client) -> None:
        assert "once an attempt with it has ended" in text_of(as_alice.get("/kernels/"))

    def test_it_is_in_the_navigation(self, as_alice: Client) -> None:
        assert "/kernels/" in links(html(as_alice.get("/runs/")))

    def test_nearest_sol_comes_first_and_what_has_no_time_last(self, as_alice: Client, alice: User) -> None:
        kernel_rows.several(alice, 6)
        text = text_of(as_alice.get("/kernels/"))
        assert (
            text.index("1.20×") < text.index("1.40×") < text.index("1.70×") < text.rindex("not measured: incorrect")
        )
        assert "– not measured: incorrect" in text

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("standing=open_severe", {"flagged"}),
            ("standing=no_flags", {"fast", "slow", "wrong", "card"}),
            ("outcome=incorrect", {"wrong"}),
            ("language=cpp", {"slow"}),
            ("device=H100+SXM", {"card"}),
            ("target=sm_90a", {"card"}),
            ("owner=bob", {"card"}),
            ("kind=gemm&outcome=passed", {"fast", "flagged", "card"}),
            ("kind=norm", {"slow"}),
            ("kind=conv", set()),
            ("problem=own/7", {"slow"}),
            ("problem=softmax", set()),
            ("q=Marker_Of_Fast", {"fast"}),
            ("q=no+such+text", set()),
            ("since=2099-01-01", set()),
            ("since=2000-01-01&language=cpp", {"slow"}),
            ("outcome=incorrect&outcome=passed&language=mu&owner=alice", {"fast", "wrong", "flagged"}),
        ],
    )
    def test_filters(self, as_alice: Client, alice: User, bob: User, query: str, found: set[str]) -> None:
        one, *_, seventh = kernel_rows.problems(7)
        on, other = rows.trajectory(rows.run(alice), one), rows.trajectory(rows.run(alice), seventh)
        named = {
            kernel_rows.tried(on, 1, 1.3, text="program fast() # marker_of_fast"): "fast",
            kernel_rows.tried(other, 1, 5.0, language="cpp"): "slow",
            kernel_rows.tried(on, 2, None, outcome=Outcome.INCORRECT): "wrong",
            kernel_rows.tried(kernel_rows.on_card(bob, one, "H100 SXM"), 1, 1.4): "card",
        }
        flagged = kernel_rows.tried(on, 3, 1.1)
        kernel_rows.case(flagged)
        named[flagged] = "flagged"
        shown = html(as_alice.get(f"/kernels/?{query}"))
        assert {name for attempt, name in named.items() if attempt.kernel.short in shown} == found
        if found:
            assert f"{len(found)} of 5" in text_of(as_alice.get(f"/kernels/?{query}"))
        else:
            assert "No kernel has " in text_of(as_alice.get(f"/kernels/?{query}"))

    def test_a_filter_by_run(self, as_alice: Client, alice: User) -> None:
        first, second = kernel_rows.several(alice, 2), kernel_rows.several(alice, 3)
        assert "3 of 5" in text_of(as_alice.get(f"/kernels/?run=r-{second.pk}"))
        assert f"run r-{first.pk}" in text_of(as_alice.get(f"/kernels/?run={first.pk}"))

    def test_figures_beside_filters_are_of_the_other_filters(self, as_alice: Client, alice: User) -> None:
        kernel_rows.several(alice, 10)
        text = text_of(as_alice.get("/kernels/?outcome=passed"))
        assert "passed 8" in text
        assert "incorrect 2" in text, "its own filter does not count"
        assert "μCUTLASS 8" in text, "the other filter counts"

    def test_two_letters_are_not_searched(self, as_alice: Client, alice: User) -> None:
        kernel_rows.several(alice, 2)
        text = text_of(as_alice.get("/kernels/?q=pr"))
        assert "“pr” is too short to be searched" in text
        assert "2 of 2" in text

    def test_each_filter_can_be_taken_away(self, as_alice: Client, alice: User) -> None:
        kernel_rows.several(alice, 2)
        found = links(html(as_alice.get("/kernels/?outcome=passed&language=mu&q=program")))
        assert "?q=program&language=mu" in [one.replace("&amp;", "&") for one in found]

    def test_what_the_address_says_wrong_filters_nothing(self, as_alice: Client, alice: User) -> None:
        kernel_rows.several(alice, 2)
        bad = "standing=x&outcome=y&language=z&run=abc&since=31-31-31&sort=zz&after=q~1&before=~x"
        assert "2 of 2" in text_of(as_alice.get(f"/kernels/?{bad}"))

    @pytest.mark.parametrize("sort", ["problem", "gap", "-when"])
    @pytest.mark.parametrize("value", ["inf", "-inf", "nan", "1e300", "-1e300"])
    def test_a_page_that_begins_nowhere_is_a_page(
        self, as_alice: Client, alice: User, sort: str, value: str
    ) -> None:
        kernel_rows.several(alice, 2)
        assert "2 of 2" in text_of(as_alice.get(f"/kernels/?sort={sort}&after={value}~1"))

    def test_nul_bytes_are_left_out(self, as_alice: Client, alice: User) -> None:
        kernel_rows.several(alice, 2)
        read = KernelFilters.of(QueryDict("q=pro%00gram&problem=own%00&device=%00cpu&owner=al%00ice"))
        assert (read.text, read.problem) == ("program", "own")
        assert read.facets == {"device": ("cpu",), "owner": ("alice",)}
        for page in ("/kernels/?q=%00&device=%00x", "/kernels/best/?device=%00x"):
            assert "\0" not in html(as_alice.get(page))

    def test_hostile_text_is_shown_as_text(self, as_alice: Client, alice: User) -> None:
        kernel_rows.several(alice, 1)
        shown = html(as_alice.get("/kernels/?q=%3Cscript%3Ealert(1)%3C/script%3E&problem=%22%3E%3Cb%3E"))
        assert "<script>alert" not in shown
        assert '"><b>' not in shown

    @pytest.mark.parametrize("query", ["", "?outcome=passed&sort=-when", "?q=program&problem=own"])
    def test_it_takes_a_fixed_number_of_queries(
        self, as_alice: Client, alice: User, django_assert_max_num_queries: Any, query: str
    ) -> None:
        for count in (3, 30):
            kernel_rows.several(alice, count)
            with django_assert_max_num_queries(12):
                as_alice.get(f"/kernels/{query}")


def _walk(client: Client, sort: str, limit: int = 20) -> list[str]:
    """The kernels of all pages in order, from the first on."""
    seen, address = [], f"/kernels/?sort={sort}"
    for _ in range(limit):
        shown = html(client.get(address))
        seen += re.findall(r'class="mono k"><a href="/kernels/(k-[0-9a-f]+)/"', shown)
        more = re.search(r'rel="next" href="([^"]+)"', shown)
        if more is None:
            return seen
        address = "/kernels/" + more[1].replace("&amp;", "&")
    return seen


class TestPaging:
    @pytest.mark.parametrize("sort", sorted(pages.SORTS))
    def test_every_kernel_comes_once_and_nulls_last(self, as_alice: Client, alice: User, sort: str) -> None:
        kernel_rows.several(alice, 120)
        seen = _walk(as_alice, sort)
        assert len(seen) == len(set(seen)) == 120
        wanted = pages.in_order(Contender.objects.all(), pages.SORTS[sort])
        assert seen == [f"k-{one.kernel.digest[:12]}" for one in wanted.select_related("kernel")]
        if sort.strip("-") in ("gap", "speedup", "time"):
            timed = {f"k-{one.kernel.digest[:12]}" for one in Contender.objects.filter(gap__isnull=False)}
            assert set(seen[:96]) == timed

    @pytest.mark.parametrize("sort", ["gap", "-gap", "-when", "problem"])
    def test_back_is_the_way_one_came(self, as_alice: Client, alice: User, sort: str) -> None:
        kernel_rows.several(alice, 130)
        rows_ = Contender.objects.all()
        way = pages.SORTS[sort]
        first = pages.window(rows_, way)
        second = pages.window(rows_, way, after=first.after)
        third = pages.window(rows_, way, after=second.after)
        assert [len(one.rows) for one in (first, second, third)] == [50, 50, 30]
        assert pages.window(rows_, way, before=third.before).rows == second.rows
        again = pages.window(rows_, way, before=second.before)
        assert again.rows == first.rows
        assert (first.before, third.after, again.before) == ("", "", "")

    def test_rows_that_come_in_shift_no_page(self, as_alice: Client, alice: User) -> None:
        kernel_rows.several(alice, 100)
        way = pages.SORTS["gap"]
        first = pages.window(Contender.objects.all(), way)
        wanted = pages.window(Contender.objects.all(), way, after=first.after).rows
        on = rows.trajectory(rows.run(alice), kernel_rows.problems(2)[1])
        for number in range(1, 8):
            kernel_rows.tried(on, number, 1.05 + number / 1000)
        assert pages.window(Contender.objects.all(), way, after=first.after).rows == wanted

    def test_beyond_the_end_leads_back(self, as_alice: Client, alice: User) -> None:
        kernel_rows.several(alice, 2)
        assert "Nothing lies beyond this place" in text_of(
            as_alice.get("/kernels/?after=99999999.0~9999&sort=problem")
        )


class TestFile:
    def test_it_has_what_the_list_has_in_its_order(self, as_alice: Client, alice: User) -> None:
        kernel_rows.several(alice, 6)
        response = as_alice.get("/kernels/kernels.csv?outcome=passed")
        lines = b"".join(response.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert lines[0].startswith("problem,name,kernel,language,target,card,outcome,standing,counts")
        gaps = [float(line.split(",")[-6]) for line in lines[1:]]
        assert len(gaps) == 5
        assert gaps == sorted(gaps)
