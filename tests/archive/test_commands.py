"""``manage.py export_run`` and ``manage.py import_run``."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from runs.models import Run
from tests.archive.worlds import elsewhere, plain_run
from tests.web import gallery


def said(*arguments: str) -> str:
    output = StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


def test_a_run_goes_out_and_comes_in(alice: User, bob: User, tmp_path: Path) -> None:
    run = plain_run(alice)
    path = tmp_path / "a.zip"
    assert f"{path}: {run}, 0." in said("export_run", str(run.pk), "-o", str(path))
    elsewhere()
    told = said("import_run", str(path), "--owner", "bob")
    assert told.strip().endswith(f"Ran to its budget: r-{run.pk} of lab-3")
    assert Run.objects.get().owner == bob
    with pytest.raises(CommandError, match="already-here"):
        said("import_run", str(path), "--owner", "bob")


def test_without_a_name_it_goes_here_and_to_an_admin(
    alice: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = plain_run(alice)
    said("export_run", str(run.pk))
    elsewhere()
    with pytest.raises(CommandError, match="no admin yet"):
        said("import_run", f"{run}.zip")
    root = User.objects.create_superuser("root")
    said("import_run", f"{run}.zip")
    assert Run.objects.get().owner == root


def test_what_is_wrong_is_one_line(alice: User, bob: User, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="there is no run r-77"):
        said("export_run", "77")
    run = gallery.mid_flight(alice)
    with pytest.raises(CommandError, match="is running; a run that has ended can be exported"):
        said("export_run", str(run.pk), "-o", str(tmp_path / "a.zip"))
    with pytest.raises(CommandError, match="no such file"):
        said("import_run", str(tmp_path / "none.zip"))
    (tmp_path / "b.zip").write_bytes(b"x")
    with pytest.raises(CommandError, match="no-archive"):
        said("import_run", str(tmp_path / "b.zip"), "--owner", "bob")
    with pytest.raises(CommandError, match="no account 'carol'"):
        said("import_run", str(tmp_path / "b.zip"), "--owner", "carol")
    assert not (tmp_path / "a.zip").exists()
