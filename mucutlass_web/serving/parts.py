"""The processes that make up the application on one machine, kept alive until told to stop.

Each part has a session of its own, a log file, and a signal that reaches it should ``serve`` itself be killed. A
part that dies is started again; one that dies again and again ends everything with a named error.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernels.childprocess import ChildLimits, descendants, set_limits_in_child
from mucutlass_web.errors import PartDied

_TOO_OFTEN = 5
_WITHIN_S = 30.0
_LOG_BYTES = 5 * 2**20


@dataclass(slots=True)
class Part:
    """One process: what to run, and how to ask it to stop."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    stop_signal: signal.Signals = signal.SIGTERM
    process: subprocess.Popen[bytes] | None = None
    deaths: deque[float] = field(default_factory=lambda: deque(maxlen=_TOO_OFTEN))

    def start(self) -> None:
        """Start it; its output goes to its log, which starts afresh when it has grown long."""
        mode = "wb" if self.log.exists() and self.log.stat().st_size > _LOG_BYTES else "ab"
        with self.log.open(mode) as output:
            self.process = subprocess.Popen(
                list(self.command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.environment},
                start_new_session=True,
                preexec_fn=set_limits_in_child(ChildLimits(seconds=0)),
            )

    def keep_alive(self) -> bool:
        """Start it again where it died. True where it had to be; PartDied where that happens too often."""
        if self.process is None or self.process.poll() is None:
            return False
        code = self.process.returncode
        self.deaths.append(time.monotonic())
        if len(self.deaths) == _TOO_OFTEN and self.deaths[-1] - self.deaths[0] < _WITHIN_S:
            raise PartDied(part=self.name, times=_TOO_OFTEN, seconds=int(_WITHIN_S), code=code, log=self.log)
        self.start()
        return True

    def ask_to_stop(self) -> None:
        """Send its stop signal."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(self.stop_signal)

    def end(self, deadline: float) -> None:
        """Wait until ``deadline`` (monotonic seconds), then kill it and everything below it."""
        if self.process is None:
            return
        family = descendants(self.process.pid)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(max(deadline - time.monotonic(), 0.01))
        for member in family:
            with contextlib.suppress(Exception):
                member.kill()
        self.process.wait()


class Parts:
    """All of them, started in order and stopped in reverse."""

    def __init__(self) -> None:
        self.parts: list[Part] = []

    def start(self, part: Part) -> Part:
        """Start one more."""
        part.start()
        self.parts.append(part)
        return part

    def keep_alive(self) -> list[str]:
        """The names of parts that had died and run again."""
        return [part.name for part in self.parts if part.keep_alive()]

    def stop(self, patience_s: float = 6.0) -> None:
        """Stop everything; whatever does not stop in time is killed."""
        deadline = time.monotonic() + patience_s
        for part in reversed(self.parts):
            part.ask_to_stop()
        for part in reversed(self.parts):
            part.end(deadline)
        self.parts.clear()
