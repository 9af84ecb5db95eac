"""The worker's fork servers: started when first needed, kept between evaluations, replaced when they are out of date.

A server ends by itself when every socket to it is closed, so it cannot outlive the worker, whatever ends that. What
has no server is started cold by whoever asked; nothing here raises for a server that is not to be had. No torch here.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from kernels import childprocess
from kernels.childprocess import ChildLimits
from kernels.harness import isolation
from kernels.harness.forkserver import IMPOSSIBLE, JUDGES, SUBJECTS

WARM_VARIABLE = "MUCUTLASS_WARM"
"""Set to 0, every process of an evaluation is started from nothing, as where no server is to be had."""

_MOST_USES = 500
_END_S = 3.0
_PACKAGES = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class _Key:
    """All that a server was started with; one that was started with anything else is out of date."""

    role: str
    device: str
    method: str
    cores: tuple[int, ...]
    environment: tuple[tuple[str, str], ...]
    code: tuple[int, int]


class WarmServer:
    """One server process and the socket on which it is asked."""

    def __init__(self, key: _Key) -> None:
        self.key = key
        self.uses = 0
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._errors: int | None = os.memfd_create("errors", os.MFD_CLOEXEC)
        serving = key.role == SUBJECTS
        sandbox = json.dumps(isolation.sandbox(key.method) if serving else None)
        server = "kernels.harness.forkserver"
        argv = [sys.executable, "-m", server, key.role, str(theirs.fileno()), sandbox, key.device]
        if serving:
            argv = isolation.wrap(argv, method=key.method, readable=(), hidden=(), device=key.device, serving=True)
        try:
            self.process = childprocess.start(
                argv,
                limits=ChildLimits(seconds=0),
                environment=dict(key.environment),
                directory=Path("/"),
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=(theirs.fileno(),),
                dies_with_thread=False,
            )
        except OSError:
            self.release()
            raise
        finally:
            theirs.close()

    def alive(self) -> bool:
        return self.process.poll() is None

    def refused(self) -> bool:
        """Whether it ended because there can be none here."""
        return self.process.poll() == IMPOSSIBLE

    def last_words(self) -> str:
        """The end of what it wrote to standard error."""
        if self._errors is None:
            return ""
        size = os.fstat(self._errors).st_size
        return os.pread(self._errors, 2000, max(size - 2000, 0)).decode("utf-8", "replace").strip()

    def release(self) -> None:
        """Let it go: it ends when the last process that it forked has."""
        self.socket.close()
        if self._errors is not None:
            os.close(self._errors)
            self._errors = None


@dataclass(frozen=True, slots=True)
class Pair:
    """The two servers of one evaluation; None for one that is not to be had."""

    judges: WarmServer | None
    subjects: WarmServer | None


_guard = threading.Lock()
_servers: dict[tuple[str, str], WarmServer] = {}
_released: list[WarmServer] = []
_inherited: list[WarmServer] = []


def servers(method: str, device: str) -> Pair:
    """Servers for an evaluation now. They may still be importing; what is asked of them meanwhile waits for that."""
    if os.environ.get(WARM_VARIABLE) == "0":
        return Pair(None, None)
    with _guard:
        _released[:] = [server for server in _released if server.alive()]
        code = _code()
        return Pair(_server(JUDGES, method, device, code), _server(SUBJECTS, method, device, code))


def _server(role: str, method: str, device: str, code: tuple[int, int]) -> WarmServer | None:
    key = _Key(role, device, method, tuple(sorted(os.sched_getaffinity(0))), _environment(role), code)
    known = _servers.get((role, device))
    if known is not None and known.key == key and known.refused():
        return None
    if known is None or known.key != key or known.uses >= _MOST_USES or not known.alive():
        if known is not None:
            del _servers[role, device]
            known.release()
            _released.append(known)
        try:
            known = _servers[role, device] = WarmServer(key)
        except OSError:
            return None
    known.uses += 1
    return known


def _environment(role: str) -> tuple[tuple[str, str], ...]:
    """Clean, with thread counts set before any library reads them. numpy's own threads would come with its import."""
    extra = {"OPENBLAS_NUM_THREADS": "1"}
    if role == SUBJECTS:
        extra |= isolation.thread_settings()
    return tuple(sorted(childprocess.python_environment(extra).items()))


def _code() -> tuple[int, int]:
    """How many files our packages have and when the last of them changed, in nanoseconds."""
    stamps = [path.stat().st_mtime_ns for path in _PACKAGES.rglob("*.py")]
    return len(stamps), max(stamps)


def close() -> None:
    """End all servers of this process and wait for them."""
    with _guard:
        ending = [*_servers.values(), *_released]
        for server in _servers.values():
            server.release()
        _servers.clear()
        _released.clear()
    for server in ending:
        try:
            server.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            childprocess.kill_group(server.process)


def _forget() -> None:
    """In a forked copy of the worker: the servers are the original's, and it must be able to close the last socket."""
    global _guard
    _guard = threading.Lock()
    for server in _servers.values():
        server.release()
        # Not forgotten, so that nothing complains here of a child that is not this process's own.
        _inherited.append(server)
    _servers.clear()


atexit.register(close)
os.register_at_fork(after_in_child=_forget)
