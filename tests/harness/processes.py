"""Which processes of an evaluation run below this one: found by their command lines, named by their place."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from typing import TypeVar

import psutil

JUDGES, SUBJECTS = "judges", "subjects"

T = TypeVar("T")


def _below(pid: int | None) -> list[tuple[psutil.Process, list[str]]]:
    found = []
    for process in psutil.Process(pid or os.getpid()).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append((process, process.cmdline()))
    return found


def _is_server(role: str, line: list[str]) -> bool:
    """Whether a Python process runs the server's code; the sandbox's own program around it names it too."""
    return line[1:4] == ["-m", "kernels.harness.forkserver", role]


def server(role: str, pid: int | None = None) -> psutil.Process | None:
    """The server itself: the topmost of its kind."""
    return next((process for process, line in _below(pid) if _is_server(role, line)), None)


def forked(role: str, pid: int | None = None) -> list[psutil.Process]:
    """The judges, or subjects, that a server has forked: the last of each chain of keepers."""
    kin = {process.pid: process for process, line in _below(pid) if _is_server(role, line)}
    root = server(role, pid)
    least = 3 if role == SUBJECTS and root is not None and _sandboxed(root) else 2
    return [process for process in kin.values() if root is not None and _depth(process, root.pid, kin) >= least]


def _sandboxed(root: psutil.Process) -> bool:
    return root.cmdline()[-1] != "null"


def _depth(process: psutil.Process, root: int, kin: dict[int, psutil.Process]) -> int:
    depth = 0
    with contextlib.suppress(psutil.Error):
        while process.pid != root and process.pid in kin:
            depth, process = depth + 1, psutil.Process(process.ppid())
    return depth


def cold(pid: int | None = None) -> list[psutil.Process]:
    """Supervisors and children that were started from nothing."""
    wanted = ("kernels.harness.child", "kernels.harness.supervisor")
    return [process for process, line in _below(pid) if line[2:3] and line[2] in wanted]


def left_running() -> list[psutil.Process]:
    """What is left below this process after an evaluation, the two servers apart; within five seconds it must end."""
    deadline = time.monotonic() + 5
    while (left := _left()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def _left() -> list[psutil.Process]:
    servers = {found.pid for role in (JUDGES, SUBJECTS) if (found := server(role)) is not None}
    return [
        process
        for process, line in _below(None)
        if process.pid not in servers
        and (line[:1] in ([], [""]) or any("kernels.harness." in part for part in line))
        and not any(child.pid in servers for child in _children(process))
    ]


def _children(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        children: list[psutil.Process] = process.children(recursive=True)
        return children
    return []


def wait_for(look: Callable[[], T], seconds: float = 20.0) -> T:
    """What ``look`` gives as soon as it is something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.01)
    raise AssertionError(f"nothing came up within {seconds:g} s")
