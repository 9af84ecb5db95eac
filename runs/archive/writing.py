"""Writing an archive: a zip as a stream of bytes, a few rows in memory at a time.

The same run gives the same bytes but for the time of writing: rows in the order of their keys, members with one date,
and nothing of this machine but what it measured.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.conf import settings
from django.utils import timezone

from kernels.models import Profile
from runs.archive.columns import to_form
from runs.archive.errors import RunNotEnded
from runs.archive.form import FORMAT, MANIFEST, Manifest, Member, line_of, product_version, text_of
from runs.archive.kinds import KINDS, Kind, user_names
from runs.models import Run, Trajectory
from runs.profiles import report_file
from runs.states import FINAL

_TOGETHER = 100
_CHUNK = 256 * 1024
_DATE = (1980, 1, 1, 0, 0, 0)
_READABLE_BY_ALL = 0o644 << 16


def archive(run: Run) -> Iterator[bytes]:
    """The archive of a run, in pieces. Raises RunNotEnded before the first one."""
    if run.state not in FINAL:
        raise RunNotEnded(run=run, state=run.state)
    return _pieces(run)


def write(run: Run, path: Path) -> int:
    """Write a run's archive to a file, whole or not at all; its bytes. Raises RunNotEnded."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            size = sum(file.write(piece) for piece in archive(run))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return size


def _pieces(run: Run) -> Iterator[bytes]:
    sink = _Sink()
    with ZipFile(sink, "w", ZIP_DEFLATED, compresslevel=6) as file:  # type: ignore[call-overload]
        for _ in _Writer(file, run).everything():
            if sink.waiting >= _CHUNK:
                yield sink.take()
    yield sink.take()


class _Sink:
    """What zipfile writes to; it can only go on, as a download does."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self.waiting = 0

    def write(self, data: bytes) -> int:
        """Keep it until it is taken."""
        self._kept.append(bytes(data))
        self.waiting += len(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def take(self) -> bytes:
        """All that waits."""
        taken, self._kept, self.waiting = b"".join(self._kept), [], 0
        return taken


class _Writer:
    def __init__(self, file: ZipFile, run: Run) -> None:
        self.file, self.run = file, run
        self.names = user_names()
        self.keys = {kind.name: _keys(kind, run) for kind in KINDS}
        self.members: list[Member] = []

    def everything(self) -> Iterator[None]:
        """Write all members; a step for each bit written."""
        for kind in KINDS:
            yield from self._member(kind.member, map(line_of, self._records(kind)))
            if kind.text:
                yield from self._texts(kind)
        yield from self._reports()
        manifest = text_of(self._manifest().sealed())
        yield from self._member(MANIFEST, [manifest.encode()])

    def _member(self, name: str, pieces: Iterable[bytes]) -> Iterator[None]:
        info = ZipInfo(name, _DATE)
        info.compress_type, info.external_attr, info.create_system = ZIP_DEFLATED, _READABLE_BY_ALL, 3
        digest, size = hashlib.sha256(), 0
        with self.file.open(info, "w", force_zip64=True) as member:
            for piece in pieces:
                member.write(piece)
                digest.update(piece)
                size += len(piece)
                yield
        self.members.append(Member(name, size, digest.hexdigest()))

    def _rows(self, kind: Kind, *columns: str) -> Iterator[Any]:
        """Rows in the order of their keys; the column with the text only where it is asked for."""
        order = iter(self.keys[kind.name])
        while together := list(islice(order, _TOGETHER)):
            rows = kind.model._default_manager.filter(pk__in=together)
            found = (rows.only(*columns) if columns else rows.defer(*filter(None, [kind.text]))).in_bulk()
            yield from (found[key] for key in together if key in found)

    def _records(self, kind: Kind) -> Iterator[dict[str, Any]]:
        for row in self._rows(kind):
            record: dict[str, Any] = {"id": self.keys[kind.name][row.pk]} if kind.key == "id" else {}
            record |= {field.name: to_form(getattr(row, field.attname)) for field in kind.columns}
            record |= {name: self._key_of(kind, row, name) for name in kind.refs}
            record |= {field.name: self.names.get(getattr(row, field.attname)) for field in kind.people}
            if kind.text:
                record["file"] = _file_of(kind, row)
            if isinstance(row, Profile):
                record["report"] = self._report_of(row)
            yield record

    def _key_of(self, kind: Kind, row: Any, name: str) -> Any:
        pk = getattr(row, kind.model._meta.get_field(name).attname)  # type: ignore[union-attr]
        return self.keys[kind.refs[name]].get(pk)

    def _texts(self, kind: Kind) -> Iterator[None]:
        for row in self._rows(kind, kind.text, kind.key, *_NAMED_BY[kind.name]):
            yield from self._member(_file_of(kind, row), [getattr(row, kind.text).encode("utf-8", "surrogatepass")])

    def _report_of(self, row: Profile) -> str:
        return f"reports/{self.keys['profiles'][row.pk]}.ncu-rep" if report_file(row) is not None else ""

    def _reports(self) -> Iterator[None]:
        for row in Profile.objects.filter(pk__in=self.keys["profiles"]).exclude(report="").order_by("pk"):
            path = report_file(row)
            if path is not None:
                with path.open("rb") as file:
                    yield from self._member(self._report_of(row), iter(lambda: file.read(_CHUNK), b""))

    def _manifest(self) -> Manifest:
        run, origin = self.run, self.run.imported
        devices = Trajectory.objects.filter(run=run).exclude(device="").values_list("device", flat=True)
        cancelled = run.cancelled_by.get_username() if run.cancelled_by is not None else ""
        return Manifest(
            format=FORMAT,
            product=product_version(),
            created=to_form(timezone.now()),
            origin=origin.place if origin else settings.INSTALLATION,
            run=origin.number if origin else run.pk,
            title=run.title,
            owner=origin.owner if origin else run.owner.get_username(),
            cancelled_by=origin.cancelled_by if origin else cancelled,
            hardware=tuple(sorted(set(devices))),
            started=to_form(run.started),
            finished=to_form(run.finished),
            counts={kind.name: len(self.keys[kind.name]) for kind in KINDS},
            members=tuple(self.members),
        )


_NAMED_BY = {"problems": ("digest",), "kernels": ("language",)}


def _keys(kind: Kind, run: Run) -> dict[int, Any]:
    """The keys of a kind's rows by their primary keys, in the order in which they are written."""
    rows = kind.rows(run).order_by()
    if kind.key == "id":
        return {pk: number for number, pk in enumerate(sorted(set(rows.values_list("pk", flat=True))), 1)}
    named = sorted({(str(key), int(pk)) for pk, key in rows.values_list("pk", kind.key)})
    return {pk: key for key, pk in named}


def _file_of(kind: Kind, row: Any) -> str:
    if kind.name == "kernels":
        return f"{kind.folder}/{row.digest}.{row.language}"
    return f"{kind.folder}/{re.sub(r'[^A-Za-z0-9._-]', '_', row.slug)}-{row.digest[:8]}.py"
