"""``manage.py worker QUEUE``: one worker process for one queue."""

from __future__ import annotations

import os
import socket
from argparse import ArgumentParser
from typing import Any

from celery import current_app
from django.core.management.base import BaseCommand

from runs.fleet import CPU, LATER
from runs.registration import NAME_VARIABLE, QUEUE_VARIABLE


class Command(BaseCommand):
    """Runs until it is told to stop. One process does one job at a time."""

    help = (
        "Run one worker: 'cpu' prepares, searches and builds; 'model' waits for language models; 'host' measures on "
        "this CPU; 'cuda.sm_90a' on a Hopper card, 'cuda.sm_80' on an Ampere card or a newer one."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The queue, and which of several workers of it on this machine this is."""
        parser.add_argument("queue")
        parser.add_argument("--index", type=int, default=0)

    def handle(self, *args: Any, **options: Any) -> None:
        """Become a Celery worker."""
        queue, index = options["queue"], options["index"]
        os.environ[QUEUE_VARIABLE] = queue
        os.environ[NAME_VARIABLE] = f"{queue} {index} on {socket.gethostname()}"
        queues = f"{queue},{LATER}" if queue == CPU else queue
        current_app.worker_main(
            [
                "worker",
                "--pool=solo",
                "--concurrency=1",
                f"--queues={queues}",
                f"--hostname={queue}.{index}@%h",
                "--without-gossip",
                "--without-mingle",
                "--without-heartbeat",
                "--loglevel=WARNING",
            ]
        )
