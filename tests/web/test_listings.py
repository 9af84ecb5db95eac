"""PTX and SASS on the candidate page: who may have them made, what is said meanwhile, and what is shown of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.test import Client

from kernels.errors import UserError
from kernels.targets import Target
from kernels.toolchain import Cache
from kernels.toolchain.errors import CardCompilerMissing, DisassemblyToolMissing
from kernels.toolchain.listings import Listing
from runs.fleet import LATER
from runs.listings import SHOWN_BYTES, unit_of
from runs.models import Attempt, Job
from runs.states import JobKind, JobState
from tests.web import gallery
from tests.web.reading import html, links, part, words

SASS = "\tFunction : <script>alert(1)</script>\n        /*0000*/                   EXIT ;\n"


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> dict[Listing, UserError]:
    """Which tools are missing on this machine; none unless a test says so."""
    absent: dict[Listing, UserError] = {}
    monkeypatch.setattr("runs.listings.missing_tool", lambda kind, target: absent.get(kind))
    return absent


@pytest.fixture
def best(alice: User, settings: Any, tmp_path: Path, missing: object) -> Attempt:
    """An attempt of a host run that was also compiled for sm_90a: its unit ``x0``."""
    settings.BUILD_CACHE_DIR = tmp_path / "builds"
    found = gallery.near_sol(alice).trajectories.get().best
    assert found is not None
    return found


def address(attempt: Attempt, more: str = "") -> str:
    t = attempt.trajectory
    return f"/runs/{t.run_id}/{t.problem.slug}/{attempt.number}/{more}"


def store(attempt: Attempt, kind: Listing, text: str, unit: str = "x0") -> Path:
    built = unit_of(attempt, unit)
    assert built is not None
    return Cache(django_settings.BUILD_CACHE_DIR).put_listing(built.key, kind, text)


def shown(client: Client, attempt: Attempt, kind: str, unit: str = "x0") -> str:
    """The pane of generated code as the whole page has it."""
    response = client.get(address(attempt, f"?unit={unit}&view={kind}"))
    assert response.status_code == 200
    return part(html(response), "code", "div")


def ask(client: Client, attempt: Attempt, kind: str = "ptx", unit: str = "x0") -> Any:
    return client.post(address(attempt, f"listing/{unit}/{kind}/make/"))


def download(client: Client, link: str) -> tuple[Any, str]:
    """The answer and the whole file that came with it."""
    response: Any = client.get(link)
    assert response.status_code == 200
    whole = b"".join(response.streaming_content).decode()
    response.close()
    return response, whole


def test_a_unit_built_for_a_card_has_three_views(as_alice: Client, best: Attempt) -> None:
    pane = shown(as_alice, best, "")
    at = address(best, "?unit=x0")
    assert [link for link in links(pane) if "unit=x0" in link] == [
        f"{at}#code",
        f"{at}&view=ptx#code",
        f"{at}&view=sass#code",
    ]
    assert 'id="as-cpp"' in pane
    assert "Generated CUDA C++" in words(pane)


def test_a_unit_for_the_host_has_none(as_alice: Client, best: Attempt) -> None:
    pane = shown(as_alice, best, "ptx", unit="0")
    assert 'id="as-ptx"' not in pane
    assert "Generated C++" in words(pane)


def test_a_run_for_an_ampere_card_has_them_of_its_own_build(as_alice: Client, best: Attempt) -> None:
    best.build = gallery.build(best, target=Target.SM80)
    best.save()
    store(best, Listing.SASS, SASS, unit="0")
    assert "EXIT ;" in shown(as_alice, best, "sass", unit="0")


def test_the_build_report_leads_to_them(as_alice: Client, best: Attempt) -> None:
    found = links(part(html(as_alice.get(address(best))), "sm_90a", "section"))
    assert {"?unit=x0&view=ptx#code", "?unit=x0&view=sass#code"} <= set(found)
    assert not [
        link for link in links(part(html(as_alice.get(address(best))), "build", "section")) if "view=" in link
    ]


def test_the_owner_has_one_made_and_the_page_follows(as_alice: Client, best: Attempt) -> None:
    assert "Make PTX" in words(shown(as_alice, best, "ptx"))
    response = ask(as_alice, best)
    assert response.headers["Location"] == address(best, "?unit=x0&view=ptx#code")
    job = Job.objects.get()
    assert (job.kind, job.queue, job.payload) == (JobKind.DISASSEMBLE, LATER, {"unit": "x0", "listing": "ptx"})
    pane = shown(as_alice, best, "ptx")
    assert "Queued. It is made when nothing else is to do; this page follows it." in words(pane)
    assert 'hx-trigger="every 2s"' in pane
    assert "was=queued" in pane
    Job.objects.update(state=JobState.CLAIMED)
    assert "Making PTX." in words(shown(as_alice, best, "ptx"))
    assert "Make SASS" in words(shown(as_alice, best, "sass"))


def test_asking_twice_makes_one_job(as_alice: Client, best: Attempt) -> None:
    ask(as_alice, best)
    ask(as_alice, best)
    assert Job.objects.count() == 1
    ask(as_alice, best, "sass")
    assert Job.objects.count() == 2


def test_a_page_that_waits_gets_nothing_until_something_changed(as_alice: Client, best: Attempt) -> None:
    ask(as_alice, best)
    poll = address(best, "code/?unit=x0&view=ptx&was=queued")
    assert as_alice.get(poll).status_code == 204
    store(best, Listing.PTX, ".target sm_90a\n")
    Job.objects.update(state=JobState.DONE)
    fragment = html(as_alice.get(poll))
    assert fragment.startswith('<div class="cols cand" id="code">')
    assert ".target sm_90a" in fragment
    assert "every 2s" not in fragment


def test_it_is_shown_as_text_with_a_link_to_the_whole(as_alice: Client, best: Attempt) -> None:
    store(best, Listing.SASS, SASS)
    pane = shown(as_alice, best, "sass")
    assert "Function : &lt;script&gt;alert(1)&lt;/script&gt;" in pane
    assert "<script>alert" not in pane
    assert 'tabindex="0" id="listing" aria-label="SASS of mu_' in pane
    assert "The first" not in words(pane)
    assert 'data-to="L' not in pane


def test_a_long_one_is_cut_at_a_line_and_downloaded_whole(as_alice: Client, best: Attempt) -> None:
    line = "        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;\n"
    text = line * (2 * SHOWN_BYTES // len(line))
    store(best, Listing.SASS, text)
    pane = shown(as_alice, best, "sass")
    body = part(pane, "listing", "pre")
    assert SHOWN_BYTES - len(line) < body.count("IMAD") * len(line) <= SHOWN_BYTES
    assert body.endswith(" ;\n</code></pre")
    assert "The first 200 KiB of 400 KiB. Download the whole" in words(pane)
    (link,) = [link for link in links(pane) if "/listing/" in link]
    response, whole = download(as_alice, link)
    assert whole == text
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    symbol = unit_of(best, "x0").unit.symbol  # type: ignore[union-attr]
    assert response.headers["Content-Disposition"] == f'attachment; filename="{symbol}.sm_90a.sass"'


def test_what_went_wrong_is_said_and_can_be_tried_again(as_alice: Client, best: Attempt) -> None:
    ask(as_alice, best)
    Job.objects.update(state=JobState.DONE, error="no PTX of mu_x: nvcc said: <b>out of memory</b>")
    pane = shown(as_alice, best, "ptx")
    assert "nvcc said: &lt;b&gt;out of memory&lt;/b&gt;" in pane
    assert "Try again" in words(pane)
    ask(as_alice, best)
    assert Job.objects.filter(state=JobState.QUEUED).count() == 1


def test_a_lost_job_and_a_cleared_cache_are_told_apart(as_alice: Client, best: Attempt) -> None:
    ask(as_alice, best)
    Job.objects.update(state=JobState.LOST, tries=3, error="Traceback\nRuntimeError: the disk went away")
    assert "lost after 3 tries: RuntimeError: the disk went away" in words(shown(as_alice, best, "ptx"))
    Job.objects.update(state=JobState.DONE, error="")
    assert "the listing is no longer in the build cache" in words(shown(as_alice, best, "ptx"))


def test_a_missing_cuobjdump_is_named_and_ptx_offered_alone(
    as_alice: Client, best: Attempt, missing: dict[Listing, UserError]
) -> None:
    missing[Listing.SASS] = DisassemblyToolMissing(tool="cuobjdump", place="cuda")
    pane = shown(as_alice, best, "sass")
    assert "cuobjdump is not in the CUDA tool kit (cuda) and not on PATH" in words(pane)
    assert "PTX can be made: show PTX alone" in words(pane)
    assert "<form method" not in pane
    assert "Make PTX" in words(shown(as_alice, best, "ptx"))


def test_a_missing_nvcc_is_named_and_nothing_offered(
    as_alice: Client, best: Attempt, missing: dict[Listing, UserError]
) -> None:
    missing.update(dict.fromkeys(Listing, CardCompilerMissing()))
    for kind in Listing:
        pane = words(shown(as_alice, best, kind))
        assert "nvcc is not on this machine" in pane
        assert "show PTX alone" not in pane


def test_a_stored_one_is_shown_where_no_tool_is(
    as_alice: Client, best: Attempt, missing: dict[Listing, UserError]
) -> None:
    missing[Listing.SASS] = DisassemblyToolMissing(tool="cuobjdump", place="cuda")
    store(best, Listing.SASS, SASS)
    assert "EXIT ;" in shown(as_alice, best, "sass")


def test_a_member_may_read_but_not_have_it_made(as_bob: Client, best: Attempt) -> None:
    assert "Not made. alice, who owns the run, may have it made." in words(shown(as_bob, best, "ptx"))
    assert ask(as_bob, best).status_code == 403
    assert not Job.objects.exists()
    store(best, Listing.PTX, ".target sm_90a\n")
    assert ".target sm_90a" in shown(as_bob, best, "ptx")
    assert download(as_bob, address(best, "listing/x0/ptx/"))[1] == ".target sm_90a\n"


def test_an_outsider_reaches_neither(outsider: Client, best: Attempt) -> None:
    store(best, Listing.PTX, ".target sm_90a\n")
    assert outsider.get(address(best, "listing/x0/ptx/")).status_code == 302
    assert ask(outsider, best).status_code == 302
    assert not Job.objects.exists()


@pytest.mark.parametrize("more", ["x0/ptx", "0/ptx", "x9/sass", "x0/so", "x0/json", "xx/ptx", "-1/ptx"])
def test_what_was_not_made_or_is_no_listing_is_not_found(as_alice: Client, best: Attempt, more: str) -> None:
    assert as_alice.get(address(best, f"listing/{more}/")).status_code == 404


@pytest.mark.parametrize("more", ["0/ptx", "x9/sass", "x0/so", "xx/ptx"])
def test_nothing_is_queued_for_what_was_not_built_for_a_card(as_alice: Client, best: Attempt, more: str) -> None:
    assert as_alice.post(address(best, f"listing/{more}/make/")).status_code == 404
    assert as_alice.get(address(best, f"listing/{more}/make/")).status_code == 405
    assert not Job.objects.exists()


def test_the_view_of_a_listing_takes_a_fixed_number_of_queries(
    as_alice: Client, best: Attempt, django_assert_max_num_queries: Any
) -> None:
    ask(as_alice, best)
    with django_assert_max_num_queries(13):
        as_alice.get(address(best, "?unit=x0&view=ptx"))
