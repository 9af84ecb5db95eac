"""How a child is held: bubblewrap where it works, ``unshare`` else, and plainly said where neither does.

It makes the command line and tells what it holds back. It does not limit time or memory; the supervisor and the
child's own limits do. Nothing here is a defence against a kernel exploit.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kernels.harness.evaluation import Isolation

BUBBLEWRAP = "bubblewrap"
UNSHARE = "unshare"
PROCESS = "process"

_PROBE_S = 10.0
_NOTES = {
    BUBBLEWRAP: "no network, read-only file system without home folder and checkout, a private empty /tmp, "
    "own process numbers, no capabilities, no keys in the environment",
    UNSHARE: "no network, own process numbers, no keys in the environment; the file system is as the worker sees it "
    "(bubblewrap does not work here)",
    PROCESS: "a process group of its own, no keys in the environment; network and file system are NOT held back "
    "(neither bubblewrap nor unshare works here)",
}
_WARM_UNSHARE = (
    "no network, read-only file system without home folder and checkout, a private empty /tmp, own process numbers, "
    "no capabilities, no keys in the environment (made by system calls; bubblewrap does not work here)"
)


@functools.cache
def probe() -> str:
    """The best method that works here; tried once a process by running ``true`` under it."""
    for method in (BUBBLEWRAP, UNSHARE):
        if shutil.which("bwrap" if method == BUBBLEWRAP else "unshare") and _works(method):
            return method
    return PROCESS


def _works(method: str) -> bool:
    argv = wrap(["true"], method=method, readable=(), hidden=(), device="host")
    try:
        return subprocess.run(argv, capture_output=True, timeout=_PROBE_S, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def wrap(
    argv: Sequence[str],
    *,
    method: str,
    readable: Sequence[Path],
    hidden: Sequence[Path],
    device: str,
    workshop: Path | None = None,
    serving: bool = False,
) -> list[str]:
    """The command that runs ``argv`` held back by ``method``.

    ``readable`` are files the child must see although they may lie in a folder that is hidden from it; ``hidden``
    are files that it must not see although it could (both for bubblewrap alone). ``device`` "cuda" keeps the card.
    ``workshop`` is a folder that it may write to and starts in. ``serving`` is for a fork server: it outlives the
    thread that starts it, and leaves /proc such that the processes it forks can mount their own.
    """
    if method == BUBBLEWRAP:
        return [*_bubblewrap(readable, hidden, device, workshop, serving=serving), "--", *argv]
    if method == UNSHARE:
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        return ["unshare", *user, "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--", *argv]
    return list(argv)


def describe(method: str, memory_limit_bytes: int | None, warm: bool | None = None) -> Isolation:
    """The record of how a child was held; ``warm`` where it was forked from a server, which holds it tighter."""
    return Isolation(
        method=method,
        network=method == PROCESS,
        memory_limit_bytes=memory_limit_bytes,
        note=_WARM_UNSHARE if warm and method == UNSHARE else _NOTES[method],
        warm=warm,
    )


def thread_settings() -> dict[str, str]:
    """As many OpenMP threads as this process may use cores, for every subject alike; numpy's own stay away."""
    return {
        "OMP_NUM_THREADS": str(len(os.sched_getaffinity(0))),
        "OMP_DYNAMIC": "false",
        "OPENBLAS_NUM_THREADS": "1",
    }


def sandbox(method: str) -> dict[str, list[str]] | None:
    """What each process of a fork server masks and keeps of what the server sees; None where it has no sandbox."""
    if method == PROCESS:
        return None
    masked = [] if method == BUBBLEWRAP else [str(folder) for folder in _masked()]
    return {"masked": masked, "kept": [str(path) for path in _interpreter()]}


def _bubblewrap(
    readable: Sequence[Path], hidden: Sequence[Path], device: str, workshop: Path | None, *, serving: bool
) -> list[str]:
    argv = ["bwrap", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL"]
    argv += ["--ro-bind", "/", "/", "--dev", "/dev"]
    # bubblewrap covers parts of a /proc that it mounts for root, and then nobody below may mount another.
    argv += ["--bind", "/proc", "/proc"] if serving else ["--die-with-parent", "--proc", "/proc"]
    if serving and os.geteuid() == 0:
        # Linux asks this of whoever maps root into a user namespace; what is forked gives it up with all others.
        argv += ["--cap-add", "CAP_SETFCAP"]
    masked = _masked()
    for folder in masked:
        argv += ["--tmpfs", str(folder)]
    for path in sorted({*_interpreter(), *(path.absolute() for path in readable)}):
        if any(path.is_relative_to(folder) for folder in masked):
            argv += ["--ro-bind", str(path), str(path)]
    for path in hidden:
        argv += ["--ro-bind", "/dev/null", str(path.absolute())]
    if device == "cuda":
        for node in sorted(Path("/dev").glob("nvidia*")):
            argv += ["--dev-bind", str(node), str(node)]
    if workshop is None:
        return [*argv, "--chdir", "/tmp"]
    return [
        *argv,
        "--bind",
        str(workshop.absolute()),
        str(workshop.absolute()),
        "--chdir",
        str(workshop.absolute()),
    ]


_ROOT = Path(__file__).resolve().parent.parent.parent
"""The folder that holds ``kernels``: a checkout, with its database beside it, or site-packages."""


def _masked() -> list[Path]:
    """Folders that a child sees empty but for what it needs: /tmp, the home folder, the checkout."""
    folders = [Path("/tmp"), Path.home()]
    if (_ROOT / "pyproject.toml").exists():
        folders.append(_ROOT)
    return [folder for folder in folders if folder.is_dir() and folder != Path("/")]


def _interpreter() -> list[Path]:
    """Every folder that Python and our own packages are loaded from."""
    entries = {sys.prefix, sys.base_prefix, *(entry for entry in sys.path if entry)}
    paths = {Path(entry).absolute() for entry in entries} - {_ROOT, Path.cwd()}
    return [path for path in (*paths, _ROOT / "kernels") if path.exists()]
