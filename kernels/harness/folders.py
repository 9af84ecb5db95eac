"""The private folder of one evaluation, and an end to those whose owners were killed.

The owner holds a lock on its folder. The kernel lets go of it whatever way the owner ends, so a folder whose lock is
free has no owner; numbers of processes, which are given out again and differ between containers, are not asked.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "mucutlass-evaluation-"
_GRACE_S = 60.0
"""A folder this young may belong to someone who has made it and not locked it yet."""


@contextlib.contextmanager
def evaluation_folder() -> Iterator[Path]:
    """A fresh empty folder under the temp folder; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def sweep(now: float | None = None) -> int:
    """Remove this user's evaluation folders that nobody owns any more; gives how many there were."""
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            young = (now or time.time()) - status.st_mtime < _GRACE_S
            if status.st_uid != os.getuid() or young or not folder.is_dir() or folder.is_symlink():
                continue
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
            finally:
                os.close(descriptor)
    return removed
