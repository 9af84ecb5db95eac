"""The whole application as real processes, for tests: ``serve`` in a state folder of its own, on a free port."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent.parent
_LINK = re.compile(r"http://\S+/enter/\S+/")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Stack:
    """``manage.py serve`` and what it started."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.port = free_port()
        self.process: subprocess.Popen[str] | None = None
        self.link = ""
        state.mkdir(parents=True, exist_ok=True)
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in ("REDIS_URL", "DATABASE_URL")},
            "MUCUTLASS_STATE": str(state),
            "MUCUTLASS_JOB_LEASE_S": "8",
            "MUCUTLASS_PROBLEM_TIME_LIMIT_S": "8",
            "PYTHONUNBUFFERED": "1",
        }

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, seconds: float = 90) -> float:
        """Start it and wait for the sign-in link; how many seconds that took."""
        began = time.monotonic()
        output = (self.state / "serve.out").open("w")
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "serve", "--port", str(self.port)],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=self.environment,
            text=True,
            start_new_session=True,
        )
        output.close()
        while True:
            said = (self.state / "serve.out").read_text()
            found = _LINK.search(said)
            if found:
                self.link = found[0]
                return time.monotonic() - began
            if self.process.poll() is not None or time.monotonic() - began > seconds:
                raise AssertionError(f"serve did not come up:\n{said}")
            time.sleep(0.1)

    def interrupt(self) -> list[psutil.Process]:
        """Ctrl-C; the processes of the application that are still alive afterwards."""
        assert self.process is not None
        family = self.family()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        return self._alive(family)

    def kill(self) -> list[psutil.Process]:
        """SIGKILL to ``serve`` itself; what is still alive two seconds later."""
        assert self.process is not None
        family = self.family()
        self.process.kill()
        self.process.wait(10)
        return self._alive(family)

    @staticmethod
    def _alive(family: list[psutil.Process]) -> list[psutil.Process]:
        _, alive = psutil.wait_procs(family, timeout=5)
        return alive

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()

    def family(self) -> list[psutil.Process]:
        assert self.process is not None
        return psutil.Process(self.process.pid).children(recursive=True)

    def kill_part(self, *words: str) -> int:
        """SIGKILL the parts whose command line holds all ``words``; how many there were."""
        killed = 0
        for process in self.family():
            with contextlib.suppress(psutil.NoSuchProcess):
                line = " ".join(process.cmdline())
                if all(word in line for word in words):
                    process.kill()
                    killed += 1
        return killed

    def ask(self, code: str) -> Any:
        """Run Python against the application's rows in a process of its own; what it assigned to ``answer``."""
        done = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), "shell", "--no-imports", "-c", _ASK.format(code=code)],
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def value(self, sql: str) -> Any:
        """The first value of a query, read from the database file: asking often must not slow what is watched."""
        with contextlib.closing(sqlite3.connect(f"file:{self.state / 'db.sqlite3'}?mode=ro", uri=True)) as database:
            row = database.execute(sql).fetchone()
        return row[0] if row else None

    def wait_for(self, sql: str, seconds: float, every: float = 0.2) -> Any:
        """Ask until the value is true (not empty, not zero)."""
        deadline = time.monotonic() + seconds
        while True:
            value = self.value(sql)
            if value:
                return value
            assert time.monotonic() < deadline, f"{sql}\nwas not true within {seconds} s\n{self.tail()}"
            time.sleep(every)

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a management command beside the application."""
        return subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=120,
            check=False,
        )

    def tail(self) -> str:
        """The last lines of every log, for a failed assertion."""
        logs = sorted((self.state / "logs").glob("*.log"))
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in logs)


_ASK = """
import json
from django.contrib.auth.models import User
from kernels.models import Problem
from kernels.targets import Policy, Target
from runs.launching import LaunchOrder, launch
from runs.models import Attempt, Event, Job, Run, Trajectory, Worker
{code}
print(json.dumps(answer))
"""

LAUNCH = """
order = LaunchOrder(
    title="drill", problems=tuple(Problem.objects.filter(slug__in={slugs}).values_list("pk", flat=True)),
    target=Target.HOST, policy=Policy.STRICT, controller="tree", proposer="search", attempts={attempts},
    epsilon=None, patience=None, steering=True, seed=1, tolerance="strict",
)
answer = launch(User.objects.get(is_superuser=True), order).pk
"""
