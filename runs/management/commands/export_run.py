"""``manage.py export_run PK``: a run as one file for another installation."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kernels.errors import UserError
from runs.archive.writing import write
from runs.models import Run


class Command(BaseCommand):
    """The archive has everything that concerns the run but keys, tokens, passwords and e-mail addresses."""

    help = "Write a run that has ended to one file that import_run reads on another installation."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which run, and where to."""
        parser.add_argument("run", type=int, help="the run's number: 12 for r-12")
        parser.add_argument("-o", "--output", type=Path, default=None, help="the file; without it, r-12.zip here")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write and say how large it became."""
        run = Run.objects.filter(pk=options["run"]).first()
        if run is None:
            raise CommandError(f"there is no run r-{options['run']}")
        path: Path = options["output"] or Path(f"{run}.zip")
        try:
            size = write(run, path)
        except (UserError, OSError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{path}: {run}, {size / 2**20:.2f} MiB")
