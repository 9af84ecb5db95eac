"""An imported run's pages: its origin's figures, where it comes from, and nothing to run it by."""

from __future__ import annotations

import difflib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from runs.archive.restoring import import_archive
from runs.models import Attempt, Import, LlmCall, Run
from runs.people_models import Person
from tests.archive.worlds import elsewhere, full_run, members, plain_run, written
from tests.web import gallery
from tests.web.reading import html, links, text_of, words

_MAIN = re.compile(r"<main\b.*</main>", re.S)
_ASIDE = re.compile(r'<section class="note origin".*?</section>|<div class="acts".*?</div>|<form\b.*?</form>', re.S)
_IN_PLACE = re.compile(r"Not \w+\. The run was measured elsewhere, and nothing of it runs here\.")
"""What stands where the origin offers a button."""

SAID_HERE = {"measured", "elsewhere", "elsewhere;", "elsewhere,", "imported", "by", "you", "bob", "alice", "on"}
"""Words that an imported run's page has more or fewer: where it was measured, and who ran it."""


def said(client: Client, run: Run, address: str) -> list[str]:
    """A page's words without what acts on it and without the numbers by which this installation calls things."""
    page = client.get(f"/runs/{run.pk}/{address}")
    assert page.status_code == 200, address
    source = html(page)
    found = _MAIN.search(source)
    text = words(_ASIDE.sub(" ", found.group() if found is not None else source))
    text = _IN_PLACE.sub("", text)
    return re.sub(r"\br-\d+\b", "r-N", text).split()


def pages(run: Run) -> list[str]:
    """Addresses of all that shows the run, below its own."""
    row = run.trajectories.select_related("problem").order_by("pk")[0]
    slug = row.problem.slug
    candidates = [f"{slug}/{number}/" for number in row.attempts.values_list("number", flat=True)[:4]]
    return ["", "attempts/", "numbers/", "gap/", "replay/", "audit/", f"{slug}/transcript/", *candidates]


def test_every_page_shows_what_it_showed_at_its_origin(
    as_alice: Client, as_bob: Client, alice: User, bob: User, tmp_path: Path
) -> None:
    run = plain_run(alice)
    before = {address: said(as_alice, run, address) for address in pages(run)}
    written(run, tmp_path / "a.zip")
    elsewhere()
    again = import_archive(tmp_path / "a.zip", bob)
    for address, told in before.items():
        now = said(as_bob, again, address)
        changes = [one for one in difflib.ndiff(told, now) if one[0] in "+-"]
        assert not [one for one in changes if one[2:] not in SAID_HERE], address
        assert any(any(c.isdigit() for c in word) for word in told), address


def test_charts_hold_the_same_numbers(
    as_alice: Client, as_bob: Client, alice: User, bob: User, tmp_path: Path
) -> None:
    run = plain_run(alice)
    addresses = ("chart.csv", "replay/replay.csv", "audit.csv", "gap/fast-p.csv")
    before = [as_alice.get(f"/runs/{run.pk}/{one}").content for one in addresses]
    written(run, tmp_path / "a.zip")
    elsewhere()
    again = import_archive(tmp_path / "a.zip", bob)
    assert [as_bob.get(f"/runs/{again.pk}/{one}").content for one in addresses] == before
    assert before[0].count(b"\n") > 3


def test_flags_remarks_and_lessons_come_along(as_bob: Client, alice: User, bob: User, tmp_path: Path) -> None:
    written(full_run(alice, bob), tmp_path / "a.zip")
    elsewhere()
    run = import_archive(tmp_path / "a.zip", bob)
    row = run.trajectories.order_by("pk")[0]
    text = text_of(as_bob.get(f"/runs/{run.pk}/{row.problem.slug}/2/"))
    assert "casts to f16" in text
    assert "answers are kept by y" in text
    talk = text_of(as_bob.get(f"/runs/{run.pk}/{row.problem.slug}/1/"))
    assert "bob at r-" in talk
    assert "why this tile?" in talk
    call = LlmCall.objects.get()
    assert "make it faster" in text_of(as_bob.get(f"/runs/{run.pk}/{row.problem.slug}/transcript/{call.pk}/"))


def test_it_says_where_it_comes_from(
    as_bob: Client, as_alice: Client, alice: User, bob: User, tmp_path: Path
) -> None:
    old = plain_run(alice)
    written(old, tmp_path / "a.zip")
    elsewhere()
    run = import_archive(tmp_path / "a.zip", bob)
    text = text_of(as_alice.get(f"/runs/{run.pk}/"))
    assert "Imported by bob on" in text
    assert f"run by alice as r-{old.pk} of lab-3" in text
    assert "Measured on Xeon Platinum 8481C, 2 cores. Nothing of it runs here" in text
    assert "by alice elsewhere" in text
    assert "measured elsewhere" in text
    assert "imported" in text_of(as_alice.get("/runs/"))
    row = run.trajectories.order_by("pk")[0]
    candidate = text_of(as_alice.get(f"/runs/{run.pk}/{row.problem.slug}/1/"))
    assert "measured elsewhere" in candidate


def test_nothing_of_it_can_be_run(as_bob: Client, as_maya: Client, alice: User, bob: User, tmp_path: Path) -> None:
    written(plain_run(alice), tmp_path / "a.zip")
    elsewhere()
    run = import_archive(tmp_path / "a.zip", bob)
    row = run.trajectories.order_by("pk")[0]
    page = html(as_bob.get(f"/runs/{run.pk}/"))
    for word in ("Pause", "Resume", "Cancel run", "Budget", "Retry failed"):
        assert word not in words(page)
    assert f"/runs/{run.pk}/export.zip" in links(page)
    for client in (as_bob, as_maya):
        for address in ("cancel/", f"{row.problem.slug}/1/sm_90a/", f"{row.problem.slug}/1/profile/make/"):
            refused = client.post(f"/runs/{run.pk}/{address}")
            assert refused.status_code == 403, address
            assert "was measured elsewhere and imported" in text_of(refused)
    candidate = text_of(as_bob.get(f"/runs/{run.pk}/{row.problem.slug}/1/"))
    assert "Compile for sm_90a" not in candidate
    assert "nothing of it runs here" in candidate


def test_an_archive_is_downloaded_while_it_is_written(as_bob: Client, alice: User, tmp_path: Path) -> None:
    run = plain_run(alice)
    answer: Any = as_bob.get(f"/runs/{run.pk}/export.zip")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{run}.zip"'
    assert answer.streaming
    path = tmp_path / "b.zip"
    path.write_bytes(b"".join(answer.streaming_content))
    again, same = members(path), members(written(run, tmp_path / "a.zip"))
    assert {name for name in same if again.get(name) != same[name]} == {"manifest.json"}


def test_a_run_under_way_is_not_downloaded(as_alice: Client, alice: User) -> None:
    run = gallery.mid_flight(alice)
    assert f"/runs/{run.pk}/export.zip" not in links(html(as_alice.get(f"/runs/{run.pk}/")))
    page = as_alice.get(f"/runs/{run.pk}/export.zip", follow=True)
    assert "is running; a run that has ended can be exported" in text_of(page)


def upload(client: Client, data: bytes, name: str = "r-1.zip") -> tuple[int, str]:
    """The status and words of the answer to an upload."""
    file = SimpleUploadedFile(name, data, "application/zip")
    answer = client.post("/runs/import/", {"archive": file}, follow=True)
    return answer.status_code, text_of(answer)


def test_an_archive_is_uploaded_and_shown(as_bob: Client, alice: User, tmp_path: Path) -> None:
    data = written(plain_run(alice), tmp_path / "a.zip").read_bytes()
    elsewhere()
    assert "at most 512 MiB, format 1 or older" in text_of(as_bob.get("/runs/import/"))
    status, text = upload(as_bob, data)
    assert status == 200
    assert "it is shown as it was measured elsewhere" in text
    status, text = upload(as_bob, data)
    assert "This archive is here already, as r-" in text
    assert Run.objects.count() == 1
    assert "Ran to its budget" in text_of(as_bob.get("/runs/import/"))


@pytest.mark.parametrize(
    ("data", "told"),
    [(b"", "no file was chosen"), (b"hello", "no-archive: the file is no archive of a run"),
     (b"PK\x03\x04rest", "archive-truncated: the archive is cut off")],
)  # fmt: skip
def test_what_is_no_archive_is_refused_in_words(as_bob: Client, data: bytes, told: str) -> None:
    if data:
        status, text = upload(as_bob, data)
    else:
        answer = as_bob.post("/runs/import/", {})
        status, text = answer.status_code, text_of(answer)
    assert status == 422
    assert "Nothing was imported." in text
    assert told.lower() in text.lower()
    assert Run.objects.count() == Import.objects.count() == 0


def test_an_upload_over_the_limit_is_not_kept(as_bob: Client, settings: object) -> None:
    settings.ARCHIVE_BYTES = 100_000  # type: ignore[attr-defined]
    status, text = upload(as_bob, b"PK\x03\x04" + b"x" * 400_000)
    assert status == 422
    assert "at most 0 MiB are read" in text


def test_importing_needs_the_right_to_launch(as_bob: Client, bob: User, outsider: Client) -> None:
    Person.objects.update_or_create(user=bob, defaults={"role": "viewer"})
    assert as_bob.get("/runs/import/").status_code == 403
    assert as_bob.post("/runs/import/", {"archive": io.BytesIO(b"x")}).status_code == 403
    assert "/runs/import/" not in links(html(as_bob.get("/runs/")))
    assert outsider.get("/runs/import/").status_code == 302


def test_an_upload_needs_the_form_s_token(bob: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(bob)
    file = SimpleUploadedFile("a.zip", b"PK", "application/zip")
    assert client.post("/runs/import/", {"archive": file}).status_code == 403


def test_a_run_of_this_place_says_nothing_of_it(as_alice: Client, alice: User) -> None:
    run = plain_run(alice)
    text = text_of(as_alice.get(f"/runs/{run.pk}/"))
    assert "elsewhere" not in text
    assert "Imported" not in text
    assert Attempt.objects.filter(trajectory__run=run).exists()
