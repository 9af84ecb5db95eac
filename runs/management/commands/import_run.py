"""``manage.py import_run FILE``: a run of another installation, shown here as it was there."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from kernels.errors import UserError
from runs.archive.restoring import import_archive


class Command(BaseCommand):
    """All of the archive is taken, or nothing."""

    help = "Read a run that export_run wrote on another installation."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which file, and whose the run is to be."""
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--owner", default=None, help="the account that owns the run here; without it, an admin"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and say which run it is."""
        path: Path = options["file"]
        if not path.is_file():
            raise CommandError(f"{path}: no such file")
        try:
            run = import_archive(path, _owner(options["owner"]))
        except UserError as error:
            raise CommandError(f"{path}: {error.slug()}: {error}") from None
        origin = run.imported
        self.stdout.write(f"{run} {run.title}: {origin.where if origin else ''}")


def _owner(name: str | None) -> User:
    if name is not None:
        found = User.objects.filter(username=name).first()
        if found is None:
            raise CommandError(f"there is no account {name!r}")
        return found
    admin = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if admin is None:
        raise CommandError(
            "there is no admin yet; --owner NAME with an account of this installation would be right"
        )
    return admin
