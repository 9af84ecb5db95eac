"""The supervisor's end of one child: start it, ask it, watch its time, memory and processes, and end it.

Every way in which a child can fail becomes a SubjectFailed with its outcome. What a child prints is kept up to a
limit and thrown away beyond it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels import childprocess
from kernels.harness import arena, channel, isolation
from kernels.harness.evaluation import Limits, Outcome

_WATCH_S = 0.25
_MAXIMUM_PROCESSES = 64
_KEPT_OF_OUTPUT = 2000
_LAUNCH_ERRORS = frozenset(
    {
        "artifact-missing", "symbol-missing", "launch-failed", "torch-function-refused", "torch-call-failed",
        "result-mismatch", "plan-mismatch", "subject-raised",
    }
)  # fmt: skip


class SubjectFailed(Exception):
    """A child that gives no more answers, or said why it cannot; ``outcome`` is what its evaluation ends in."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Holding:
    """How children are held: the isolation method, the files they may and may not see, the device, the limits."""

    method: str
    readable: tuple[Path, ...]
    hidden: tuple[Path, ...]
    device: str
    limits: Limits


class Subject:
    """One child process and its arena."""

    def __init__(self, name: str, layout: arena.Layout, holding: Holding) -> None:
        self.name = name
        self.layout = layout
        self.limits = holding.limits
        self.arena_fd = arena.create(layout)
        self._mapped: arena.Arena | None = None
        self._remaining_s = holding.limits.seconds
        self._parser = channel.Parser()
        self._output = bytearray()
        self._watched = 0.0
        self._link, theirs = socket.socketpair()
        with theirs:
            self._process = self._start(holding, theirs)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._link, selectors.EVENT_READ, "link")
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream, selectors.EVENT_READ, "output")

    def _start(self, holding: Holding, theirs: socket.socket) -> subprocess.Popen[bytes]:
        descriptors = (theirs.fileno(), self.arena_fd)
        module = [sys.executable, "-m", "kernels.harness.child", *map(str, descriptors)]
        argv = isolation.wrap(
            module, method=holding.method, readable=holding.readable, hidden=holding.hidden, device=holding.device
        )
        cores = len(os.sched_getaffinity(0))
        return childprocess.start(
            argv,
            limits=childprocess.ChildLimits(seconds=holding.limits.seconds, file_bytes=holding.limits.output_bytes),
            environment=childprocess.python_environment({"OMP_NUM_THREADS": str(cores), "OMP_DYNAMIC": "false"}),
            pass_fds=descriptors,
        )

    @property
    def arena(self) -> arena.Arena:
        """The shared memory as tensors (mapped on first use, when torch is there)."""
        if self._mapped is None:
            self._mapped = arena.Arena(self.arena_fd, self.layout)
        return self._mapped

    def wait_ready(self) -> None:
        """Wait until the child has imported torch; that is not counted as the subject's time."""
        self._answer(time.monotonic() + self.limits.seconds)

    def ask(self, message: channel.Message) -> channel.Message:
        """Send a message and wait for its answer, within what is left of the subject's seconds.

        Raises SubjectFailed.
        """
        began = time.monotonic()
        try:
            channel.send(self._link, message)
        except channel.ChannelClosed as error:
            raise self._death() from error
        try:
            answer = self._answer(began + self._remaining_s)
        finally:
            self._remaining_s -= time.monotonic() - began
        if "error" in answer:
            raise _told(self.name, answer)
        return answer

    def processes(self) -> int:
        """How many processes live under the child, its own and its sandbox's included."""
        return len(_family(self._process.pid))

    def close(self) -> None:
        """End the child and everything that it started."""
        childprocess.kill_group(self._process)
        self._selector.close()
        self._link.close()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        with contextlib.suppress(OSError):
            os.close(self.arena_fd)

    def _answer(self, deadline: float) -> channel.Message:
        while True:
            try:
                message = self._parser.take()
            except channel.ChannelClosed as error:
                raise SubjectFailed(Outcome.CRASH, f"{self.name} broke the channel: {error}") from error
            if message is not None:
                return message
            if time.monotonic() > deadline:
                raise SubjectFailed(
                    Outcome.TIMEOUT, f"{self.name} took longer than {self.limits.seconds:g} s and was stopped"
                )
            self._pump(_WATCH_S)
            if time.monotonic() - self._watched > _WATCH_S:
                self._watch()
                self._watched = time.monotonic()

    def _pump(self, timeout: float) -> None:
        """Read what there is, or what comes within ``timeout`` seconds."""
        for key, _ in self._selector.select(timeout):
            try:
                chunk = os.read(key.fd, 65536)
            except BlockingIOError:
                continue
            except OSError:
                chunk = b""
            if key.data == "link":
                if not chunk:
                    raise self._death()
                self._parser.feed(chunk)
            elif chunk:
                self._output += chunk[: max(self.limits.output_bytes - len(self._output), 0)]
            else:
                self._selector.unregister(key.fileobj)

    def _watch(self) -> None:
        if self._process.poll() is not None:
            raise self._death()
        family = _family(self._process.pid)
        if len(family) > _MAXIMUM_PROCESSES:
            raise SubjectFailed(
                Outcome.CRASH,
                f"{self.name} started {len(family)} processes ({_MAXIMUM_PROCESSES} allowed); stopped",
            )
        allowed = self.limits.memory_bytes + self.layout.total_bytes
        if sum(map(_resident, family)) > allowed and (resident := sum(map(_proportional, family))) > allowed:
            raise SubjectFailed(
                Outcome.OUT_OF_MEMORY,
                f"{self.name} holds {resident} bytes; {self.limits.memory_bytes} are allowed; stopped",
            )

    def _death(self) -> SubjectFailed:
        """What the end of the process means."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        self._drain()
        said = self._said()
        code = self._process.returncode
        if code is None:
            return SubjectFailed(
                Outcome.CRASH, f"{self.name} closed its channel and went on running; stopped{said}"
            )
        number = -code if code < 0 else code - 128
        if number in set(signal.Signals):
            if "bad_alloc" in said or "allocate memory" in said:
                return SubjectFailed(Outcome.OUT_OF_MEMORY, f"{self.name} ran out of memory{said}")
            return SubjectFailed(Outcome.CRASH, f"{self.name} was ended by {signal.Signals(number).name}{said}")
        return SubjectFailed(Outcome.CRASH, f"{self.name} ended its own process with exit status {code}{said}")

    def _drain(self) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(self._link)
        deadline = time.monotonic() + 0.5
        with contextlib.suppress(SubjectFailed):
            while self._selector.get_map() and time.monotonic() < deadline:
                for key, _ in self._selector.select(0.05):
                    chunk = os.read(key.fd, 65536)
                    if not chunk:
                        self._selector.unregister(key.fileobj)
                    self._output += chunk[: max(self.limits.output_bytes - len(self._output), 0)]

    def _said(self) -> str:
        text = self._output.decode("utf-8", "replace").strip()
        return f"; its last output: {text[-_KEPT_OF_OUTPUT:]}" if text else ""


def _told(name: str, answer: dict[str, Any]) -> SubjectFailed:
    slug, detail = str(answer["error"]), str(answer.get("detail", ""))[:_KEPT_OF_OUTPUT]
    if slug == "out-of-memory":
        return SubjectFailed(Outcome.OUT_OF_MEMORY, detail)
    if slug in _LAUNCH_ERRORS:
        return SubjectFailed(Outcome.LAUNCH_ERROR, detail)
    return SubjectFailed(Outcome.CRASH, f"{name}: {detail}")


def _family(pid: int) -> list[int]:
    """A process and all below it, by /proc's own lists: a walk over all processes would disturb what is timed."""
    found = [pid]
    for member in found:
        for children in Path(f"/proc/{member}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += map(int, children.read_text("ascii").split())
    return found


def _resident(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/statm").read_text("ascii").split()
    except OSError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def _proportional(pid: int) -> int:
    """Resident bytes with each shared page divided by its sharers: exact for forked children, and slow to read."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    except OSError:
        return _resident(pid)
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
