"""A content-addressed store of shared objects that many processes share, and that no crash can spoil.

An entry is two files, ``<key>.so`` and ``<key>.json`` (the report of the build that made it, with size and SHA-256 of
the object). Both are written elsewhere on the same disk, flushed and renamed, the report last: an object without a
report is no entry, and one that does not match its report is dropped. Builders of one key take turns by ``flock``,
which the system releases when a process dies. Texts made of an object later, its PTX and SASS, lie beside it under the
same key. It knows nothing of compilers and never removes a sound entry.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from kernels import records
from kernels.toolchain.compiler import Compilation

_POLL_S = 0.02
_ABANDONED_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Entry:
    """What is stored beside an object."""

    bytes: int
    sha256: str
    compiler: str
    compilation: Compilation


class Cache:
    """The store under ``root``, made on first use. All methods may raise OSError, as for a full disk."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, key: str) -> Path:
        """Where the shared object of ``key`` lies, or would."""
        return self.root / key[:2] / f"{key}.so"

    def get(self, key: str) -> Entry | None:
        """The entry of ``key``, its object verified; None where there is none that is sound."""
        report = self._report(key)
        try:
            entry = _read(report.read_bytes())
        except FileNotFoundError:
            return None
        if entry is None or _measure(self.path(key)) != (entry.bytes, entry.sha256):
            report.unlink(missing_ok=True)
            return None
        return entry

    def put(self, key: str, object_file: Path, compiler: str, compilation: Compilation) -> Entry:
        """Store ``object_file``, which must lie in a folder of ``workshop``, and what was said about it."""
        measured = _measure(object_file)
        if measured is None:
            raise FileNotFoundError(f"no object for {key}")
        entry = Entry(bytes=measured[0], sha256=measured[1], compiler=compiler, compilation=compilation)
        report = object_file.with_suffix(".json")
        report.write_text(json.dumps(records.to_json(entry), ensure_ascii=False), encoding="utf-8")
        for file in (object_file, report):
            _flush(file)
        target = self.path(key)
        target.parent.mkdir(parents=True, exist_ok=True)
        object_file.replace(target)
        report.replace(self._report(key))
        return entry

    def listing(self, key: str, kind: str) -> Path:
        """Where a text made of the object of ``key`` lies, or would: its PTX or SASS, by the file's extension."""
        return self.path(key).with_suffix(f".{kind}")

    def put_listing(self, key: str, kind: str, text: str) -> Path:
        """Store a text made of the object of ``key`` beside it, whole or not at all."""
        target = self.listing(key, kind)
        with self.workshop(key) as folder:
            made = folder / target.name
            made.write_text(text, encoding="utf-8")
            _flush(made)
            target.parent.mkdir(parents=True, exist_ok=True)
            made.replace(target)
        return target

    @contextlib.contextmanager
    def turn(self, key: str, wait_s: float, cancelled: Callable[[], bool] | None = None) -> Iterator[bool]:
        """Hold the right to build ``key``; gives False where ``wait_s`` passed or ``cancelled`` turned true.

        Without the right a caller may still build: it only does work twice. So a builder that hangs stalls nobody.
        """
        lock = self.root / "locks" / key
        lock.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("ab") as handle:
            held = _lock(handle.fileno(), wait_s, cancelled)
            try:
                yield held
            finally:
                if held:
                    fcntl.flock(handle, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def workshop(self, key: str) -> Iterator[Path]:
        """A folder of one's own on the cache's disk, removed afterwards; those of dead builders go first."""
        folder = self.root / "work"
        folder.mkdir(parents=True, exist_ok=True)
        self._clear_away(folder, key)
        own = Path(tempfile.mkdtemp(prefix=f"{key}.{socket.gethostname()}.{os.getpid()}.", dir=folder))
        try:
            yield own
        finally:
            shutil.rmtree(own, ignore_errors=True)

    def _report(self, key: str) -> Path:
        return self.path(key).with_suffix(".json")

    def _clear_away(self, folder: Path, key: str) -> None:
        for left in folder.glob(f"{key}.*"):
            host, pid = left.name.removeprefix(f"{key}.").rsplit(".", 2)[:2]
            with contextlib.suppress(FileNotFoundError):
                here = host == socket.gethostname()
                old = time.time() - left.stat().st_mtime > _ABANDONED_S
                if (here and not psutil.pid_exists(int(pid))) or old:
                    shutil.rmtree(left, ignore_errors=True)


def _read(text: bytes) -> Entry | None:
    """The record, or None where it is not JSON, cut off, or of another version."""
    try:
        form = json.loads(text)
        return records.from_json(form, Entry) if isinstance(form, dict) else None
    except (ValueError, ExceptionGroup):
        return None


def _measure(file: Path) -> tuple[int, str] | None:
    try:
        with file.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
            return os.fstat(handle.fileno()).st_size, digest
    except FileNotFoundError:
        return None


def _flush(file: Path) -> None:
    with file.open("rb") as handle:
        os.fsync(handle.fileno())


def _lock(descriptor: int, wait_s: float, cancelled: Callable[[], bool] | None) -> bool:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline or (cancelled is not None and cancelled()):
                return False
            time.sleep(_POLL_S)
        else:
            return True
