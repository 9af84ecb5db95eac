"""``manage.py scheduler``: the loop that brings stuck work back."""

from __future__ import annotations

import logging
import time
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError, connection

from runs import recovery

logger = logging.getLogger(__name__)

_EVERY_S = 1.0


class Command(BaseCommand):
    """Runs until it is killed; any number of them may run."""

    help = "Take back expired leases, send lost messages again, start work that waited."

    def handle(self, *args: Any, **options: Any) -> None:
        """Tick once a second."""
        while True:
            try:
                recovery.tick()
            except DatabaseError:
                logger.exception("a round of the scheduler failed; the next one follows")
                connection.close()
            time.sleep(_EVERY_S)
