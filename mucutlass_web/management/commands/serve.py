"""``manage.py serve``: the whole application on one machine, until Ctrl-C."""

from __future__ import annotations

import fcntl
import getpass
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from kernels.errors import UserError
from kernels.locks import LOCKS_VARIABLE
from kernels.problems.files import own_directory
from mucutlass_web.errors import AlreadyServing, NotReady, PortTaken
from mucutlass_web.serving import assets, broker
from mucutlass_web.serving.parts import Part, Parts
from mucutlass_web.signin import make_link
from runs import recovery
from runs.archive.shipped import import_recorded
from runs.fleet import CPU, MODEL
from runs.importing import import_directory
from runs.models import Job, Worker
from runs.states import LIVING_JOBS, JobKind


class Command(BaseCommand):
    """Starts broker, scheduler, workers and web, prints a sign-in link, and stops all of it again."""

    help = "Start everything on this machine: broker, scheduler, workers and web."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to listen and how many build workers to run."""
        parser.add_argument("--host", default=os.environ.get("HOST", "127.0.0.1"))
        parser.add_argument("--port", type=int, default=int(os.environ.get("PORT", "8000")))
        parser.add_argument("--build-workers", type=int, default=max(2, (os.cpu_count() or 2) // 2))

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until a signal."""
        try:
            _Serving(self.stdout.write, options["host"], options["port"], options["build_workers"]).run()
        except UserError as error:
            raise CommandError(str(error)) from None


class _Stopped(Exception):
    """Somebody asked to stop."""


class _Serving:
    def __init__(self, say: Callable[[str], Any], host: str, port: int, build_workers: int) -> None:
        self.say, self.host, self.port, self.build_workers = say, host, port, build_workers
        self.state: Path = settings.STATE_DIR
        self.logs = self.state / "logs"
        self.parts = Parts()
        self.environment: dict[str, str] = {}
        self.runtime: Path | None = None

    def run(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._stop)
        self.logs.mkdir(parents=True, exist_ok=True)
        lock = self._lock()
        try:
            self._check_port()
            self._prepare()
            self._start()
            self._print_link()
            while True:
                for name in self.parts.keep_alive():
                    self.say(f"{name} had ended and runs again")
                time.sleep(0.5)
        except _Stopped:
            self.say("stopping")
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            self.parts.stop()
            recovery.release_in_order()
            Worker.objects.all().delete()
            lock.close()
            if self.runtime is not None:
                shutil.rmtree(self.runtime, ignore_errors=True)

    @staticmethod
    def _stop(*_: Any) -> None:
        raise _Stopped

    def _lock(self) -> IO[str]:
        lock = (self.state / "serve.lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyServing(folder=self.state) from None
        return lock

    def _check_port(self) -> None:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.host, self.port))
            except OSError:
                with socket.socket() as other:
                    other.bind((self.host, 0))
                    free = other.getsockname()[1]
                raise PortTaken(port=self.port, host=self.host, free=free) from None

    def _prepare(self) -> None:
        call_command("migrate", interactive=False, verbosity=0)
        assets.collect()
        import_directory(own_directory())
        import_recorded(self._admin())
        # Whoever held a claim is dead: this is the only serve on this state, and its workers are not up yet.
        recovery.release_in_order()
        Worker.objects.all().delete()
        if not Job.objects.filter(kind=JobKind.PEAKS, state__in=LIVING_JOBS).exists():
            # The broker is not up yet: the scheduler sends it, as any job whose message got lost.
            Job.objects.create(kind=JobKind.PEAKS, queue=CPU)

    def _part(self, name: str, *command: str, stop: signal.Signals = signal.SIGTERM) -> Part:
        log = self.logs / f"{name.replace(' ', '-')}.log"
        return self.parts.start(Part(name, command, self.environment, log, stop))

    def _start(self) -> None:
        self.environment[LOCKS_VARIABLE] = str(self.state / "locks")
        self._start_broker()
        manage = (sys.executable, str(settings.BASE_DIR / "manage.py"))
        self._part("scheduler", *manage, "scheduler")
        for index in range(self.build_workers):
            self._part(f"cpu worker {index}", *manage, "worker", "cpu", "--index", str(index), stop=signal.SIGQUIT)
        for index in range(settings.MODEL_WORKERS):
            name = f"model worker {index}"
            self._part(name, *manage, "worker", MODEL, "--index", str(index), stop=signal.SIGQUIT)
        self._part("host worker", *manage, "worker", "host", stop=signal.SIGQUIT)
        web = self._part(
            "web",
            sys.executable, "-m", "gunicorn", "mucutlass_web.wsgi:application",
            "--chdir", str(settings.BASE_DIR), "--bind", f"{self.host}:{self.port}",
            # A page polls every 2 s: a connection that were closed after 2 s would be closed under its next poll.
            "--workers", "1", "--threads", "8", "--keep-alive", "15", "--no-control-socket",
        )  # fmt: skip
        self._wait(web, self._web_answers, 30)

    def _start_broker(self) -> None:
        url = broker.given_url()
        if url is None:
            # A socket's path may have about 100 characters: the state folder's may be longer.
            self.runtime = Path(tempfile.mkdtemp(prefix="mucutlass-"))
            place = self.runtime / "broker.sock"
            url = broker.socket_url(place)
            part = self._part("broker", *broker.server_command(place, self.state))
            self._wait(part, lambda: broker.answers(place), 10)
        self.environment["REDIS_URL"] = url

    def _wait(self, part: Part, ready: Callable[[], bool], seconds: int) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            self.parts.keep_alive()
            if time.monotonic() > deadline:
                raise NotReady(part=part.name, seconds=seconds, log=part.log)
            time.sleep(0.1)

    def _web_answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self.port}/sign-in/", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    @staticmethod
    def _admin() -> User:
        """Whoever starts it on this machine."""
        name = getpass.getuser()
        user, made = User.objects.get_or_create(username=name, defaults={"is_staff": True, "is_superuser": True})
        if made:
            user.set_unusable_password()
            user.save(update_fields=["password"])
        return user

    def _print_link(self) -> None:
        user = self._admin()
        name = user.get_username()
        self.say(f"\nμCUTLASS is up. Sign in as {name} (the link works once, for an hour):")
        self.say(f"  http://{self.host}:{self.port}{make_link(user)}\n")
        self.say("Ctrl-C stops everything.")
