"""``manage.py rebuild_kernels``: build what the kernel browser lists anew from attempts and cases."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from runs import contenders


class Command(BaseCommand):
    """It changes nothing else, and may run while work goes on."""

    help = "Build the kernel browser's rows anew from attempts and cases, or those that one run touches."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One run alone."""
        parser.add_argument("--run", type=int, default=None, help="a run's number")

    def handle(self, *args: Any, **options: Any) -> None:
        """Build, and say how many there are."""
        made = contenders.rebuild(options["run"])
        if options["verbosity"]:
            self.stdout.write(f"{made} kernels, each once a problem and card")
