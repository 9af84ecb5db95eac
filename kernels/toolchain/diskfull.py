"""Tells a full disk from other failures, in Python's errors and in what compilers print."""

from __future__ import annotations

import errno

_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_TEXTS = ("no space left on device", "disk quota exceeded", "file size limit exceeded", "file too large")


def is_disk_full(error: OSError) -> bool:
    """Whether the system refused to store more."""
    return error.errno in _ERRORS


def says_disk_full(log: str) -> bool:
    """Whether a compiler's output says that it could not store its result."""
    lowered = log.lower()
    return any(text in lowered for text in _TEXTS)
