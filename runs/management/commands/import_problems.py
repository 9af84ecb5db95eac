"""``manage.py import_problems [DIR]``: store problem files; look at them in workers afterwards."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kernels.problems.files import own_directory
from runs.importing import import_directory


class Command(BaseCommand):
    """Imports are static: no problem file is executed here."""

    help = (
        "Import problem files from DIR (our own layout or a KernelBench checkout); without DIR, our own problems."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The folder."""
        parser.add_argument("directory", nargs="?", type=Path, default=None)

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and say what came in, one line a file that could not be read."""
        directory: Path = options["directory"] or own_directory()
        if not directory.is_dir():
            raise CommandError(
                f"{directory}: not a folder; a KernelBench checkout or a folder of .py files would be"
            )
        done = import_directory(directory)
        for error in done.errors:
            self.stderr.write(str(error))
        counts = f"{done.added} added, {done.changed} changed, {done.unchanged} unchanged"
        self.stdout.write(f"{counts}, {len(done.errors)} not readable")
        if done.errors:
            raise SystemExit(1)
