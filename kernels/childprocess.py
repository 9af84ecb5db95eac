"""Run other people's code: one process group, hard limits, capped output, and nothing left behind.

Compilers, problem files and candidates all go through here. A child gets a session of its own, a signal if the
thread that started it dies, limits set before its first instruction, and SIGKILL for the whole group when its time
is over, when it takes too much memory, or when whoever waits for it has changed their mind.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import psutil

_PR_SET_PDEATHSIG = 1
_POLL_S = 0.1
_CLEAN = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES")


class Ending(StrEnum):
    """How a child ended."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """Wall-clock seconds, resident bytes of the whole group, bytes kept of each output, bytes a file may have.

    ``address_space_bytes`` is a hard limit on mapped memory; leave it None for anything that touches a GPU, whose
    driver reserves about twice the card's memory.
    """

    seconds: float
    memory_bytes: int | None = None
    address_space_bytes: int | None = None
    output_bytes: int = 2**20
    file_bytes: int | None = None
    processes: int | None = None


@dataclass(frozen=True, slots=True)
class ChildResult:
    """``code`` is the exit status, or the signal's number where it was signalled."""

    ending: Ending
    code: int
    stdout: str
    stderr: str
    seconds: float
    truncated: bool


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment without keys or tokens: the few names a compiler or an interpreter needs, and ``extra``."""
    environment = {name: os.environ[name] for name in _CLEAN if name in os.environ}
    environment["HOME"] = "/nonexistent"
    environment.update(extra or {})
    return environment


def python_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """``clean_environment`` for a child that runs this interpreter and imports these packages."""
    root = str(Path(__file__).resolve().parent.parent)
    # A box without our packages installed finds them by PYTHONPATH; it holds no secret.
    places = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    return clean_environment({"PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1", **(extra or {})})


def set_limits_in_child(limits: ChildLimits, *, dies_with_thread: bool = True) -> Callable[[], None]:
    """What the child does between fork and exec. Must not allocate much: it runs in a forked process."""
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def prepare() -> None:
        if dies_with_thread:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(127)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if limits.address_space_bytes is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limits.address_space_bytes, limits.address_space_bytes))
        if limits.file_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
        if limits.processes is not None:
            resource.setrlimit(resource.RLIMIT_NPROC, (limits.processes, limits.processes))

    return prepare


def start(
    argv: Sequence[str],
    *,
    limits: ChildLimits,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    pass_fds: Sequence[int] = (),
    dies_with_thread: bool = True,
) -> subprocess.Popen[bytes]:
    """Start a child in its own session. The caller must end it with ``kill_group`` and ``wait``.

    It dies with the thread that starts it, unless told otherwise: then it must have its own way to see that the
    process which started it is gone.
    """
    return subprocess.Popen(
        list(argv),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=directory,
        env=dict(environment) if environment is not None else clean_environment(),
        start_new_session=True,
        pass_fds=tuple(pass_fds),
        preexec_fn=set_limits_in_child(limits, dies_with_thread=dies_with_thread),
    )


def descendants(pid: int) -> list[psutil.Process]:
    """The process and everything below it that still lives; nothing of one that was not forked yet (pid -1)."""
    if pid <= 0:
        return []
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def group_memory(pid: int) -> int:
    """Resident bytes of a process and everything below it (shared pages count once a process)."""
    total = 0
    for process in descendants(pid):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            total += process.memory_info().rss
    return total


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL the child's process group and every descendant that left the group; then reap the child."""
    family = descendants(process.pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for member in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    process.wait()


class Running(Protocol):
    """What is watched of a child: a Popen, or anything that answers as one does."""

    pid: int
    returncode: Any
    stdout: Any
    stderr: Any

    def poll(self) -> int | None: ...


class _Capture:
    """Reads both streams as they come, keeps the first ``limit`` bytes of each and drops the rest.

    Where the child has a descriptor that tells of its end, waiting for output ends with it too.
    """

    def __init__(self, process: Running, limit: int) -> None:
        self.limit = limit
        self.truncated = False
        self.kept = {"stdout": bytearray(), "stderr": bytearray()}
        self.selector = selectors.DefaultSelector()
        for name in self.kept:
            stream = getattr(process, name)
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self.selector.register(stream, selectors.EVENT_READ, name)
        if (fileno := getattr(process, "fileno", None)) is not None:
            self.selector.register(fileno(), selectors.EVENT_READ, "end")

    def pump(self, timeout: float) -> None:
        if not self.selector.get_map():
            time.sleep(timeout)
            return
        for key, _ in self.selector.select(timeout):
            if key.data == "end":
                continue
            chunk = os.read(key.fd, 65536)
            if not chunk:
                self.selector.unregister(key.fileobj)
                continue
            buffer = self.kept[key.data]
            room = self.limit - len(buffer)
            self.truncated = self.truncated or len(chunk) > room
            buffer += chunk[: max(room, 0)]

    def stop_waiting_for_the_end(self) -> None:
        for key in list(self.selector.get_map().values()):
            if key.data == "end":
                self.selector.unregister(key.fileobj)

    def drain(self) -> None:
        deadline = time.monotonic() + 0.5
        while self.selector.get_map() and time.monotonic() < deadline:
            self.pump(0.05)
        self.selector.close()

    def text(self, name: str) -> str:
        return self.kept[name].decode("utf-8", "replace")


def run(
    argv: Sequence[str],
    *,
    limits: ChildLimits,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    cancelled: Callable[[], bool] | None = None,
    pass_fds: Sequence[int] = (),
) -> ChildResult:
    """Run to the end, within ``limits``. ``cancelled`` is asked about ten times a second.

    Raises FileNotFoundError where the program does not exist. Whatever else happens is in the result.
    """
    process = start(argv, limits=limits, environment=environment, directory=directory, pass_fds=pass_fds)
    return watch(process, lambda: kill_group(process), limits=limits, cancelled=cancelled)


def watch(
    process: Running,
    end: Callable[[], None],
    *,
    limits: ChildLimits,
    cancelled: Callable[[], bool] | None = None,
) -> ChildResult:
    """See a child that was just started through to its end; ``end`` ends it and all below it."""
    began = time.monotonic()
    capture = _Capture(process, limits.output_bytes)
    ending: Ending | None = None
    try:
        while process.poll() is None:
            capture.pump(_POLL_S)
            ending = _reason_to_kill(process.pid, limits, began, cancelled)
            if ending is not None:
                break
    finally:
        capture.stop_waiting_for_the_end()
        end()
        capture.drain()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    code = process.returncode
    if ending is None:
        ending = Ending.SIGNALLED if code < 0 else Ending.EXITED
    return ChildResult(
        ending=ending,
        code=abs(code),
        stdout=capture.text("stdout"),
        stderr=capture.text("stderr"),
        seconds=time.monotonic() - began,
        truncated=capture.truncated,
    )


def _reason_to_kill(
    pid: int, limits: ChildLimits, began: float, cancelled: Callable[[], bool] | None
) -> Ending | None:
    if time.monotonic() - began > limits.seconds:
        return Ending.TIMEOUT
    if limits.memory_bytes is not None and group_memory(pid) > limits.memory_bytes:
        return Ending.OUT_OF_MEMORY
    if cancelled is not None and cancelled():
        return Ending.CANCELLED
    return None


def run_python(
    module: str,
    arguments: Sequence[str],
    *,
    limits: ChildLimits,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> ChildResult:
    """``run`` with this interpreter and ``-m module``, in an environment without keys."""
    return run(
        [sys.executable, "-m", module, *arguments],
        limits=limits,
        environment=python_environment(environment),
        directory=directory,
        cancelled=cancelled,
    )
