"""What is no archive, or not what it says: refused with the reason, and nothing of it is kept."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Model

from kernels.models import Evaluation, Kernel, Problem
from runs.archive import errors, form
from runs.archive.form import FORMAT, MANIFEST
from runs.archive.restoring import import_archive
from runs.models import Attempt, Import, Run
from sol.models import Case, Device
from tests.archive.worlds import changed, elsewhere, forged, full_run, members, written, zipped

TABLES: tuple[type[Model], ...] = (Run, Attempt, Import, Kernel, Problem, Evaluation, Case, Device)
Members = dict[str, bytes]
KEPT: list[bytes] = []


@pytest.fixture
def path(alice: User, bob: User, tmp_path: Path) -> Path:
    """An archive, on an installation that is empty. It is written once for all tests."""
    found = tmp_path / "a.zip"
    if not KEPT:
        KEPT.append(written(full_run(alice, bob), found).read_bytes())
        elsewhere()
    found.write_bytes(KEPT[0])
    return found


def refused(path: Path, owner: User, kind: type[errors.ArchiveError], *words: str) -> None:
    """Whether the archive is refused so, and nothing was kept."""
    with pytest.raises(kind) as raised:
        import_archive(path, owner)
    for word in words:
        assert word in str(raised.value)
    assert [model._default_manager.count() for model in TABLES] == [0] * len(TABLES)


def test_a_file_that_is_no_zip(bob: User, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"not a zip at all")
    refused(path, bob, errors.NoArchive, "it is no zip")


def test_a_zip_of_something_else(bob: User, tmp_path: Path) -> None:
    refused(zipped(tmp_path / "a.zip", {"readme.txt": b"hello"}), bob, errors.MemberUnsafe, "readme.txt")
    refused(zipped(tmp_path / "b.zip", {"run.jsonl": b""}), bob, errors.NoArchive, "manifest.json")


@pytest.mark.parametrize("share", [0.02, 0.5, 0.99])
def test_one_that_is_cut_off(path: Path, bob: User, share: float) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    refused(path, bob, errors.ArchiveTruncated, "cut off or damaged")


def test_one_with_a_byte_of_a_member_turned(path: Path, bob: User) -> None:
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as file:
        place = file.getinfo("evaluations.jsonl").header_offset + 200
    data[place] ^= 0xFF
    path.write_bytes(bytes(data))
    refused(path, bob, errors.ArchiveTruncated, "evaluations.jsonl")


def test_one_whose_member_was_rewritten(path: Path, bob: User) -> None:
    held = members(path)
    held["attempts.jsonl"] = held["attempts.jsonl"].replace(b'"time_s":0.00', b'"time_s":0.000', 1)
    refused(zipped(path, held), bob, errors.ArchiveAltered, "attempts.jsonl", "SHA-256")


@pytest.mark.parametrize("name", ["owner", "origin", "created", "title"])
def test_one_whose_manifest_was_rewritten(path: Path, bob: User, name: str) -> None:
    held = members(path)
    told = json.loads(held[MANIFEST])
    held[MANIFEST] = json.dumps({**told, name: f"{told[name]}x"}).encode()
    refused(zipped(path, held), bob, errors.ArchiveAltered, "manifest.json")


def test_one_of_a_later_version(path: Path, bob: User) -> None:
    held = members(path)
    told = json.loads(held[MANIFEST])
    held[MANIFEST] = json.dumps({**told, "format": FORMAT + 1, "product": "9.1", "unheard": 1}).encode()
    refused(zipped(path, held), bob, errors.ArchiveNewer, str(FORMAT + 1), "9.1", "update it")


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b'{"format": "1"}', b'{"format": 1}', b"[" * 100_000])
def test_one_whose_manifest_says_nothing(path: Path, bob: User, text: bytes) -> None:
    refused(zipped(path, {**members(path), MANIFEST: text}), bob, errors.ManifestUnreadable)


@pytest.mark.parametrize(
    "name", ["../evil.py", "/etc/passwd", "kernels/../../x.mu", "problems/..\\x.py", "kernels/", "C:x.jsonl"]
)
def test_one_with_a_name_that_leads_out(path: Path, bob: User, name: str) -> None:
    refused(zipped(path, {**members(path), name: b"x"}), bob, errors.MemberUnsafe, "not unpacked")


def test_one_that_lacks_a_member(path: Path, bob: User) -> None:
    held = members(path)
    del held["jobs.jsonl"]
    refused(zipped(path, held), bob, errors.MemberMissing, "jobs.jsonl")


def test_one_that_holds_a_member_more(path: Path, bob: User) -> None:
    refused(zipped(path, {**members(path), "more.jsonl": b""}), bob, errors.MemberUnlisted, "more.jsonl")


def test_one_that_holds_a_member_twice(path: Path, bob: User) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as file:
        file.writestr("jobs.jsonl", b"")
    refused(path, bob, errors.MemberUnsafe, "there twice")


def test_one_that_is_over_the_limit(path: Path, bob: User, settings: Any) -> None:
    settings.ARCHIVE_BYTES = 1000
    refused(path, bob, errors.ArchiveTooLarge, "MUCUTLASS_ARCHIVE_MB")


def test_one_that_unpacks_to_much_more_than_it_is(path: Path, bob: User) -> None:
    bomb = zipped(path, {MANIFEST: b"", "more.jsonl": b"\n" * (form.FREE_RATIO_BYTES * 2)})
    refused(bomb, bob, errors.ArchiveUnpacksTooLarge, "times what it takes")


def test_one_that_unpacks_to_more_than_is_read(path: Path, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "MOST_UNPACKED", 5000)
    refused(path, bob, errors.ArchiveUnpacksTooLarge)


def test_sizes_that_the_zip_states_are_not_believed(path: Path, bob: User) -> None:
    """A member that is longer than its entry says fails its checksum; nothing reads on beyond what is listed."""
    held = members(path)
    told = json.loads(held[MANIFEST])
    held["jobs.jsonl"] += b"x" * 2**20
    refused(zipped(path, {**held, MANIFEST: json.dumps(told).encode()}), bob, errors.ArchiveAltered, "jobs.jsonl")


WRONG: dict[str, tuple[Callable[[Members], None], str]] = {
    "no json": (lambda held: held.__setitem__("run.jsonl", b"{\n"), "it is no JSON"),
    "no object": (lambda held: held.__setitem__("run.jsonl", b"[]\n"), "no JSON object"),
    "deep": (lambda held: held.__setitem__("run.jsonl", b'{"a":' * 100_000 + b"\n"), "run.jsonl"),
    "two runs": (lambda held: held.__setitem__("run.jsonl", held["run.jsonl"] * 2), "numbered from 1"),
    "no run": (lambda held: held.__setitem__("run.jsonl", b""), "is no record"),
    "a field more": (changed("run.jsonl", 1, colour="red"), "colour, which this version does not know"),
    "a field less": (changed("run.jsonl", 1, title=...), "it lacks title"),
    "no number": (changed("run.jsonl", 1, attempts="many"), "no whole number"),
    "a number too large": (changed("run.jsonl", 1, attempts=2**70), "out of range"),
    "a negative number": (changed("run.jsonl", 1, attempts=-1), "out of range"),
    "a word unknown": (changed("run.jsonl", 1, target="sm_200"), "sm_200"),
    "a text too long": (changed("run.jsonl", 1, title="x" * 201), "200 are the most"),
    "a NUL": (changed("run.jsonl", 1, title="a\0b"), "characters that no text has"),
    "half a character": (changed("run.jsonl", 1, title="\ud800"), "characters that no text has"),
    "under way": (changed("run.jsonl", 1, state="running"), "archives hold what has ended"),
    "no shape": (changed("run.jsonl", 1, shape="5x"), "run.jsonl, line 1"),
    "no baseline": (changed("run.jsonl", 1, baselines="psychic"), "psychic"),
    "no time of day": (changed("run.jsonl", 1, created="yesterday"), "no time of day"),
    "no zone": (changed("run.jsonl", 1, created="2026-01-01T00:00:00"), "names no zone"),
    "no time": (changed("attempts.jsonl", 1, time_s=0), "no time"),
    "an endless time": (changed("attempts.jsonl", 1, time_s="Infinity"), "no time"),
    "a job that waits": (changed("jobs.jsonl", 1, state="queued"), "archives hold what has ended"),
    "a parent that is none": (changed("attempts.jsonl", 2, parent=999), "parent 999 is no record"),
    "a kernel that is none": (changed("attempts.jsonl", 1, kernel="0" * 64), "is no record"),
    "a reference of a wrong kind": (changed("attempts.jsonl", 1, kernel=[1]), "kernel is no key"),
    "a reference that must be": (changed("attempts.jsonl", 1, kernel=None), "kernel is missing"),
    "an attempt twice": (changed("attempts.jsonl", 2, number=1), "the database does not take it"),
    "an evaluation": (changed("evaluations.jsonl", 1, record={"outcome": "passed"}), "record does not parse"),
    "an event unknown": (changed("events.jsonl", 2, kind="dreamt", record={"kind": "dreamt"}), "record does not parse"),
    "an event of another kind": (changed("events.jsonl", 2, kind="asked"), "its record's"),
    "an event out of order": (changed("events.jsonl", 2, sequence=1), "out of order"),
    "an event before the start": (changed("events.jsonl", 1, trajectory=2), "out of order"),
    "a flag": (changed("flags.jsonl", 1, evidence={"words": "", "places": 3}), "evidence does not parse"),
    "a flag too sure": (changed("flags.jsonl", 1, confidence=7.0), "a confidence of 7.0"),
    "a flag of no number": (changed("flags.jsonl", 1, confidence="NaN"), "a confidence of nan"),
    "a flag without words": (changed("flags.jsonl", 1, evidence={"words": ""}), "no evidence"),
    "a case too sure": (changed("cases.jsonl", 1, confidence=1.5), "confidence is 1.5, no share from 0 to 1"),
    "a case of no number": (changed("cases.jsonl", 1, confidence="NaN"), "confidence is nan, no share from 0 to 1"),
    "a kernel's digest": (changed("kernels.jsonl", 1, language="py"), "its digest is not its text's"),
    "a problem's digest": (changed("problems.jsonl", 1, digest="0" * 64), "its digest is not its text's"),
    "a problem's name": (changed("problems.jsonl", 1, slug="../up"), "no name of a problem"),
    "a problem's sizes": (changed("problems.jsonl", 1, sizes=[]), "sizes"),
    "an object of another folder": (
        lambda held: held.__setitem__(
            "builds.jsonl", re.sub(rb'"artifact":"[^"]*"', b'"artifact":"../../key"', held["builds.jsonl"], count=1)
        ),
        "no key of the build cache",
    ),
    "a file that is none": (changed("kernels.jsonl", 1, file="kernels/none.mu"), "missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_record_that_is_none(path: Path, bob: User, name: str) -> None:
    change, words = WRONG[name]
    refused(forged(path, change), bob, errors.RecordUnreadable, words)


@pytest.mark.parametrize(
    ("name", "value"), [("created", "soon"), ("owner", "x" * 200), ("origin", "a\0"), ("run", -1), ("run", 2**80)]
)
def test_a_manifest_that_holds_nonsense(path: Path, bob: User, name: str, value: Any) -> None:
    refused(forged(path, lambda held: None, manifest={name: value}), bob, errors.ManifestUnreadable)


def test_a_forged_archive_that_is_right_is_taken(path: Path, bob: User) -> None:
    """The forgeries above are refused for what is wrong with them and for nothing else."""
    assert import_archive(forged(path, lambda held: None), bob).title


def test_a_failure_half_way_leaves_nothing(path: Path, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    from runs.archive import judgements

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(judgements, "take_over", broken)
    with pytest.raises(ZeroDivisionError):
        import_archive(path, bob)
    assert [model._default_manager.count() for model in TABLES] == [0] * len(TABLES)
