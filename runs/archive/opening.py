"""Opening an archive: whatever is wrong with the file is said here, before a row is written.

Sizes that a zip states are not believed: what is read is counted.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, LargeZipFile, ZipFile, ZipInfo

from django.conf import settings

from kernels.records import from_json
from runs.archive import errors, form
from runs.archive.form import MANIFEST, Manifest
from runs.archive.kinds import KINDS, OPTIONAL, Kind

_BROKEN = (BadZipFile, LargeZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)
_CHUNK = 256 * 1024


class Archive:
    """An archive whose every member is what its manifest says."""

    def __init__(self, file: ZipFile) -> None:
        self._file = file
        _check_members(file.infolist(), Path(str(file.filename)).stat().st_size)
        self.manifest = _manifest(file)
        self._check_list()
        for member in self.manifest.members:
            self._check_digest(member)

    def lines(self, kind: Kind) -> Iterator[tuple[int, bytes]]:
        """The lines of a kind's member with their numbers."""
        if kind.member not in self._listed:
            return
        with self._open(kind.member) as member:
            for number in range(1, 2**31):
                line = member.readline(form.MOST_LINE + 1)
                if not line:
                    return
                if len(line) > form.MOST_LINE:
                    raise errors.RecordUnreadable(member=kind.member, line=number, why="the line is too long")
                yield number, line

    def text(self, name: str) -> str:
        """A member that is a source. Raises ValueError where it is none."""
        if self._listed.get(name, form.MOST_SOURCE + 1) > form.MOST_SOURCE:
            raise ValueError(f"{name} is missing or over {form.MOST_SOURCE} bytes")
        with self._open(name) as member:
            try:
                text = member.read().decode()
            except UnicodeDecodeError as error:
                raise ValueError(f"{name} is no UTF-8 ({error.reason})") from None
        if "\0" in text:
            raise ValueError(f"{name} holds NUL bytes")
        return text

    def pieces(self, name: str) -> Iterator[bytes]:
        """A member's bytes."""
        with self._open(name) as member:
            while piece := member.read(_CHUNK):
                yield piece

    def holds(self, name: str) -> bool:
        """Whether there is such a member."""
        return name in self._listed

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        try:
            with self._file.open(name) as member:
                yield member
        except _BROKEN as error:
            raise errors.ArchiveTruncated(why=f"{name}: {error}") from error

    def _check_list(self) -> None:
        manifest = self.manifest
        self._listed = {member.name: member.bytes for member in manifest.members}
        held = {info.filename for info in self._file.infolist()} - {MANIFEST}
        for name in [*self._listed, *(kind.member for kind in KINDS if kind.name not in OPTIONAL)]:
            if name not in held:
                raise errors.MemberMissing(name=name)
        for name in sorted(held - self._listed.keys()):
            raise errors.MemberUnlisted(name=name)
        right = manifest.sealed()
        if manifest.digest != right.digest or manifest.seal != right.seal:
            raise errors.ArchiveAltered(name=MANIFEST, found=right.seal[:12], wanted=manifest.seal[:12])

    def _check_digest(self, member: form.Member) -> None:
        digest, size = hashlib.sha256(), 0
        for piece in self.pieces(member.name):
            digest.update(piece)
            size += len(piece)
            if size > member.bytes:
                break
        if size != member.bytes or digest.hexdigest() != member.sha256:
            found = digest.hexdigest()[:12]
            raise errors.ArchiveAltered(name=member.name, found=found, wanted=member.sha256[:12])


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """An archive, checked. Raises an ArchiveError that says what is wrong with it."""
    size = path.stat().st_size
    if size > settings.ARCHIVE_BYTES:
        raise errors.ArchiveTooLarge(size=_mib(size), limit=_mib(settings.ARCHIVE_BYTES))
    try:
        file = ZipFile(path)
    except _BROKEN as error:
        with path.open("rb") as start:
            is_zip = start.read(4) == b"PK\x03\x04"
        if is_zip:
            raise errors.ArchiveTruncated(why="its list of members is missing") from error
        raise errors.NoArchive(why="it is no zip") from error
    with file:
        yield Archive(file)


def _check_members(members: list[ZipInfo], size: int) -> None:
    if len(members) > form.MOST_MEMBERS:
        raise errors.MemberUnsafe(name=f"{len(members):,} members", why=f"{form.MOST_MEMBERS:,} are the most")
    seen: set[str] = set()
    for info in members:
        why = _why_unsafe(info, seen)
        if why:
            raise errors.MemberUnsafe(name=info.filename[:80], why=why)
        seen.add(info.filename)
    if MANIFEST not in seen:
        raise errors.NoArchive(why="it has no manifest.json")
    unpacked = sum(info.file_size for info in members)
    ratio = unpacked / max(size, 1)
    if unpacked > form.MOST_UNPACKED or (ratio > form.MOST_RATIO and unpacked > form.FREE_RATIO_BYTES):
        limit = _mib(form.MOST_UNPACKED)
        raise errors.ArchiveUnpacksTooLarge(
            size=_mib(unpacked), ratio=f"{ratio:,.0f}", limit=limit, most=form.MOST_RATIO
        )


def _why_unsafe(info: ZipInfo, seen: set[str]) -> str:
    if not form.is_member(info.orig_filename) or info.orig_filename != info.filename:
        return "no archive has a member of that name"
    if info.filename in seen:
        return "it is there twice"
    if info.flag_bits & 0x1:
        return "it is encrypted"
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        return "its compression is not deflate"
    return ""


def _manifest(file: ZipFile) -> Manifest:
    try:
        with file.open(MANIFEST) as member:
            text = member.read(form.MOST_MANIFEST + 1)
    except _BROKEN as error:
        raise errors.ArchiveTruncated(why=f"{MANIFEST}: {error}") from error
    try:
        raw: Any = json.loads(text[: form.MOST_MANIFEST])
        if not isinstance(raw, dict) or type(raw.get("format")) is not int or raw["format"] < 1:
            raise ValueError("it names no format")
    except (ValueError, RecursionError) as error:
        raise errors.ManifestUnreadable(why=str(error)[:160]) from error
    if raw["format"] > form.FORMAT:
        product = str(raw.get("product", "?"))[:40]
        raise errors.ArchiveNewer(found=raw["format"], product=product, known=form.FORMAT)
    try:
        return from_json(raw, Manifest)
    except Exception as error:  # whatever the structuring of a hostile manifest raises
        raise errors.ManifestUnreadable(
            why=f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
        ) from error


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"
