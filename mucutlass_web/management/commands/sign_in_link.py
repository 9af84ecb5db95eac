"""``manage.py sign_in_link USER``: another one-time link."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from mucutlass_web.signin import make_link


class Command(BaseCommand):
    """Prints the link's path; whoever opens it first is that user."""

    help = "Print a link that signs USER in once, within an hour unless --hours says otherwise."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Who, and for how long the link opens."""
        parser.add_argument("user")
        parser.add_argument("--hours", type=float, default=1.0)

    def handle(self, *args: Any, **options: Any) -> None:
        """Make and print it."""
        try:
            user = User.objects.get(username=options["user"], is_active=True)
        except User.DoesNotExist:
            known = ", ".join(User.objects.filter(is_active=True).values_list("username", flat=True)[:20])
            raise CommandError(f"no active user {options['user']}; known are: {known or 'none'}") from None
        self.stdout.write(make_link(user, hours=options["hours"]))
