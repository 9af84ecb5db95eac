"""Processes below one, and the memory they hold, by /proc. Linux only; what is gone by then counts as nothing."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def family(pid: int) -> list[int]:
    """A process and all below it, by /proc's own lists: a walk over all processes would disturb what is timed."""
    found = [pid]
    for member in found:
        for children in Path(f"/proc/{member}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += map(int, children.read_text("ascii").split())
    return found


def resident(pid: int) -> int:
    """Bytes of memory that a process has mapped and that are there; shared pages count whole."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text("ascii").split()
    except OSError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def proportional(pid: int) -> int:
    """Resident bytes with each shared page divided by its sharers: exact for forked children, and slow to read."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    except OSError:
        return resident(pid)
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
