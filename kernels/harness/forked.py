"""A process that a fork server was asked for: the asking side, in the worker and in a judge.

It answers as a ``subprocess.Popen`` does, so that whoever watches a child need not know how it was started. Between
it and the process stands a keeper (``forkserver``), which ends the process and all below it when this side closes
its control socket or is gone.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MAXIMUM_FILES = 200
"""The kernel passes at most 253 descriptors in one message."""

_MESSAGE_BYTES = 65536
_END_S = 10.0


class Forked:
    """``returncode`` is None while it runs; an exit status, or minus the signal, as Popen has it.

    ``started`` tells whether it came to run at all: a server that died, or that may not make the sandbox, forks
    nothing, and then ``returncode`` says nothing. ``lost`` is whether server or keeper was ended from outside.
    """

    def __init__(self, server: socket.socket, message: Mapping[str, Any], descriptors: Sequence[int]) -> None:
        self.args = "a forked process"
        self.pid = -1
        self.started = False
        self.lost = False
        self.trouble = ""
        self.returncode: int | None = None
        self._keeper: int | None = None
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        out, theirs_out = os.pipe()
        err, theirs_err = os.pipe()
        self.stdout = io.FileIO(out, "rb")
        self.stderr = io.FileIO(err, "rb")
        try:
            passed = [theirs.fileno(), theirs_out, theirs_err, *descriptors]
            socket.send_fds(server, [json.dumps(message).encode()], passed)
        except OSError as error:
            self.trouble = str(error)
        finally:
            theirs.close()
            os.close(theirs_out)
            os.close(theirs_err)

    def fileno(self) -> int:
        """Readable whenever ``poll`` may have something new to say."""
        return self._control.fileno()

    def poll(self) -> int | None:
        """What became of it so far, without waiting."""
        while self.returncode is None:
            try:
                body, descriptors, _, _ = socket.recv_fds(self._control, _MESSAGE_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
            except BlockingIOError:
                return None
            except OSError:
                body, descriptors = b"", []
            self._take(json.loads(body) if body else None, descriptors)
        return self.returncode

    def _take(self, message: dict[str, Any] | None, descriptors: list[int]) -> None:
        if message is None:
            self.lost = self.started
            self.returncode = -signal.SIGKILL
        elif "started" in message:
            self.started = True
            self._keeper = descriptors[0]
            self.pid = _pid_of(self._keeper)
        elif "lost" in message:
            self.lost = True
        elif "status" in message:
            self.returncode = int(message["status"])
        else:
            self.trouble = str(message.get("error", ""))

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; raises subprocess.TimeoutExpired, as Popen does."""
        ready = select.poll()
        ready.register(self._control, select.POLLIN)
        while self.poll() is None:
            if not ready.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        assert self.returncode is not None
        return self.returncode

    def dismiss(self) -> None:
        """Have its keeper end it and all below it, without waiting for that."""
        if self._control.fileno() >= 0:
            self.poll()
            self._control.close()

    def end(self) -> None:
        """End it and all below it, and wait until the keeper has done so. Ending once more does nothing."""
        self.dismiss()
        if self._keeper is not None:
            gone = select.poll()
            gone.register(self._keeper, select.POLLIN)
            if not gone.poll(_END_S * 1000):
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(self._keeper, signal.SIGKILL)
            os.close(self._keeper)
            self._keeper = None
        if self.returncode is None:
            self.returncode = -signal.SIGKILL


def _pid_of(pidfd: int) -> int:
    """The process's number as this process sees it, whatever namespace the descriptor was made in; -1 if none."""
    for line in Path(f"/proc/self/fdinfo/{pidfd}").read_text("ascii").splitlines():
        if line.startswith("Pid:"):
            return int(line.split()[1])
    return -1
