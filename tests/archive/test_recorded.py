"""The recorded run that ships: it imports, once, says what it is, and stays deleted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.problems.files import own_directory
from runs.archive.form import FORMAT, MANIFEST
from runs.archive.shipped import FOLDER, import_recorded
from runs.deleting import delete_run
from runs.importing import import_directory
from runs.models import Run
from tests.archive.worlds import members
from tests.web.reading import text_of

ROOT = Path(__file__).resolve().parents[2]

SHIPPED = sorted(FOLDER.glob("*.zip"))
_MOST = 2**20


def test_one_archive_ships_and_is_small() -> None:
    assert len(SHIPPED) == 1
    assert SHIPPED[0].stat().st_size < _MOST
    told = json.loads(members(SHIPPED[0])[MANIFEST])
    assert told["format"] == FORMAT, "the format changed: record it again (docs/archive.md)"
    assert told["hardware"]
    assert told["finished"]


def test_what_ships_names_no_machine_and_no_account_of_whoever_recorded_it() -> None:
    held = members(SHIPPED[0])
    told = json.loads(held[MANIFEST])
    assert (told["owner"], told["origin"]) == ("recorded", "")
    whole = b"\n".join(held.values())
    for word in (str(ROOT).encode(), b"/home/", b"/root"):
        assert word not in whole
    assert re.search(rb"[\w.]+@\w+\.\w+", whole) is None


def test_it_is_imported_at_the_first_start_and_never_twice(as_maya: Client, maya: User) -> None:
    import_directory(own_directory())
    (run,) = import_recorded(maya)
    assert import_recorded(maya) == []
    assert Run.objects.count() == 1
    page = text_of(as_maya.get(f"/runs/{run.pk}/"))
    assert "Recorded. A real run that ships with the product: what was measured until" in page
    assert "own/2" in page
    assert "recorded" in text_of(as_maya.get("/runs/"))
    for row in run.trajectories.select_related("problem", "best"):
        assert row.problem.collection == "own"
        assert row.best is not None
        assert "measured elsewhere" in text_of(as_maya.get(f"/runs/{run.pk}/{row.problem.slug}/{row.best.number}/"))


def test_its_problems_are_those_that_ship(maya: User) -> None:
    """A problem that changed since would be a second one of its name: record the run again then."""
    import_directory(own_directory())
    (run,) = import_recorded(maya)
    assert all("-" not in row.problem.slug for row in run.trajectories.select_related("problem"))


def test_once_deleted_it_stays_deleted(maya: User) -> None:
    (run,) = import_recorded(maya)
    delete_run(run)
    assert import_recorded(maya) == []
    assert Run.objects.count() == 0


def test_one_that_cannot_be_read_costs_no_start(
    maya: User, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.zip").write_bytes(b"rubbish")
    (tmp_path / "b.zip").write_bytes(SHIPPED[0].read_bytes())
    assert len(import_recorded(maya, tmp_path)) == 1
    assert "the recorded run a.zip was not imported" in caplog.text
