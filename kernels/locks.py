"""One lock a machine, so that nothing is compiled while something is being timed.

Builds, imports and correctness checks hold it shared; a timing phase holds it alone. It is an ``flock`` on a file,
so the lock of a holder that was killed is free at once and a stale file means nothing. A second file, the
turnstile, lets a waiting timing phase in before builds that come later. It keeps order between our own processes
on one machine; it does not stop other people's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kernels.errors import UserError

LOCKS_VARIABLE = "MUCUTLASS_LOCKS"
_POLL_S = 0.02


class LockCancelled(UserError):
    template = "stopped waiting for the {name} lock after {seconds:.0f} s: {reason}"


def locks_folder() -> Path:
    """Where the lock files lie: ``$MUCUTLASS_LOCKS``, else a folder of this user's own under the temp folder."""
    named = os.environ.get(LOCKS_VARIABLE)
    folder = Path(named) if named else Path(tempfile.gettempdir()) / f"mucutlass-locks-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def locks_environment() -> dict[str, str]:
    """What a child with a clean environment must be given to take the same locks as this process."""
    return {LOCKS_VARIABLE: str(locks_folder())}


@contextlib.contextmanager
def machine_lock(
    exclusive: bool,
    *,
    cancelled: Callable[[], bool] | None = None,
    patience_s: float | None = None,
    name: str = "machine",
) -> Iterator[float]:
    """Hold the lock ``name``, alone or with other sharers; gives the seconds that were spent waiting.

    Raises LockCancelled when ``cancelled`` says so or after ``patience_s`` seconds of waiting.
    """
    began = time.monotonic()

    def check() -> None:
        waited = time.monotonic() - began
        if cancelled is not None and cancelled():
            raise LockCancelled(name=name, seconds=waited, reason="cancelled")
        if patience_s is not None and waited > patience_s:
            raise LockCancelled(name=name, seconds=waited, reason="still held by others")

    folder = locks_folder()
    with contextlib.ExitStack() as held:
        with contextlib.ExitStack() as turnstile:
            _acquire(turnstile, folder / f"{name}.turnstile", fcntl.LOCK_EX, check)
            _acquire(held, folder / f"{name}.lock", fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH, check)
        yield time.monotonic() - began


def _acquire(stack: contextlib.ExitStack, path: Path, mode: int, check: Callable[[], None]) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    stack.callback(os.close, descriptor)
    while True:
        try:
            fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            check()
            time.sleep(_POLL_S)
        else:
            return
